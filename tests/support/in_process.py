"""Both of our hosts in the process of a test, each at its real edge, with the simulated platform and a scripted model.

Events reach the runner over a webhook, and nanobot over the long connection of the real SDK. One bot for each host;
``settled()`` returns when everything that was pushed so far is dealt with, answers included.
"""

import asyncio
import json
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Final

import yaml
from support.gateways import gateway_config
from support.loop_clock import later
from support.ports import free_port
from support.waiting import PATIENCE, until

from nanobot_transcript.cli.commands.run.agents import Composed, chosen, compose
from nanobot_transcript.conversation.background import Background
from nanobot_transcript.record import Record
from nanobot_transcript.settings import LoadedSettings, load_settings
from transcript_channels.simulator import App, FeishuSimulator, ScriptedModel

__all__ = ["ENCRYPT_KEY", "HostInProcess", "PluginInProcess", "RunnerInProcess"]

ENCRYPT_KEY: Final = "an encrypt key"
_LASTING: Final = (
    *("Relay.", "_Ear.wait", "Event.wait", "FileSignals.", "follow", "ChannelTasks.", "_kept_up", "_awaited"),
    *("RequestHandler.start", "_Consumer.", "GapFiller._record_later"),
    "Play._ask_history_without_rest",
)
"""How the tasks are called that go on for as long as a host runs, wherever they begin."""
_LOOK: Final = 1.1
"""Seconds after which the relay has noticed a chat that is new to it."""
_ASKING: Final = "group-transcript-asking"
"""How the plugin's thread is called that asks the platform again who its bot is."""


class HostInProcess(ABC):
    """A host with one bot. ``sections`` are settings of ours; its record lies in ``folder``."""

    _lasting: ClassVar[set[asyncio.Task[Any]]] = set()
    """The tasks of hosts that had started and had nothing to do."""
    background: Background
    """What learns from messages, in a thread of its own; once it has started, and where it is in this process."""

    def __init__(
        self, folder: Path, feishu: FeishuSimulator, model: ScriptedModel, app: App, sections: Mapping[str, Any]
    ) -> None:
        self.folder: Path = folder
        self.feishu: FeishuSimulator = feishu
        self.model: ScriptedModel = model
        self.app: App = app
        self.sections: Mapping[str, Any] = sections

    @property
    @abstractmethod
    def record(self) -> Record:
        """The record it writes."""

    @abstractmethod
    async def start(self) -> None:
        """Connect to the platform, and return when events are heard."""

    @abstractmethod
    async def stop(self) -> None:
        """End in an orderly way; ``start`` begins again with the same record and memory."""

    @abstractmethod
    def waits(self) -> bool:
        """True while something that came in has no task of its own yet."""

    def hurry(self) -> None:
        """Nothing is under way: let the next look for something new, which comes each second, be now."""
        later(_LOOK)

    async def settled(self) -> None:
        """Wait until everything is dealt with. What the background thread learns from a message belongs to it."""
        await self._at_rest()
        assert await asyncio.to_thread(self.background.drain, PATIENCE)
        await self._at_rest()

    async def _at_rest(self) -> None:
        await self.feishu.settled()
        calm = 0

        def is_calm() -> bool:
            nonlocal calm
            calm = calm + 1 if not self.waits() and not self._busy() else 0
            return calm > 2

        await until(is_calm)

    def settings(self) -> LoadedSettings:
        """Ours, as a file would give them."""
        path = self.folder / "transcript.yaml"
        base = {"store": {"dir": str(self.folder / "transcripts")}, "feishu": {"base_url": self.feishu.base_url}}
        path.write_text(yaml.safe_dump({**base, **self.sections}, allow_unicode=True), encoding="utf-8")
        return load_settings(path, look_in_cwd=False)

    def _begin(self) -> None:
        """From now on every new task is somebody's work."""
        self._lasting.update(asyncio.all_tasks())

    def _busy(self) -> list[asyncio.Task[Any]]:
        new = asyncio.all_tasks() - self._lasting - {asyncio.current_task()}
        return [task for task in new if not any(name in _called(task) for name in _LASTING)]


class RunnerInProcess(HostInProcess):
    """``run`` with one agent whose mind is the scripted model."""

    composed: Composed

    @property
    def record(self) -> Record:
        return self.composed.record

    async def start(self) -> None:
        address = f"127.0.0.1:{free_port()}"
        os.environ["NANOBOT_TRANSCRIPT_FEISHU__WEBHOOK__LISTEN"] = address
        try:
            settings = self.settings()
        finally:
            del os.environ["NANOBOT_TRANSCRIPT_FEISHU__WEBHOOK__LISTEN"]
        self.composed = compose(settings, chosen(settings))
        self.background = self.composed.conversations[0].background
        runner = self.composed.runner
        self._running = asyncio.create_task(runner.run())
        ready = asyncio.create_task(runner.ready.wait())
        await asyncio.wait({ready, self._running}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        if self._running.done():
            self._running.result()
        await self.feishu.subscribe(self.app, f"http://{address}/feishu/{self.app.app_id}", encrypt_key=ENCRYPT_KEY)
        self._begin()

    async def stop(self) -> None:
        self.composed.runner.stop()
        await self._running
        await self.composed.close()
        self.app.webhook = None

    def settings(self) -> LoadedSettings:
        """With the agent."""
        mind = {"kind": "openai", "model": "scripted", "base_url": self.model.base_url, "api_key": "none"}
        agents = dict(self.sections.get("agents", {}))
        agents[self.app.app_id] = {
            **agents.get(self.app.app_id, {"name": self.app.name}),
            "app_secret": self.app.app_secret,
            "encrypt_key": ENCRYPT_KEY,
            "responder": mind,
        }
        self.sections = {**self.sections, "agents": agents}
        return super().settings()

    def waits(self) -> bool:
        return False


class PluginInProcess(HostInProcess):
    """nanobot with the plugin: its agent loop, its channel manager, its Feishu channel with the parts of ours.

    ``channel`` are settings of nanobot's channel.
    """

    def __init__(self, *args: Any, channel: Mapping[str, Any] | None = None) -> None:
        super().__init__(*args)
        self._channel: Mapping[str, Any] = channel or {}

    @property
    def record(self) -> Record:
        return self.host.record

    async def start(self) -> None:
        from nanobot.bus.queue import MessageBus
        from nanobot.config.loader import set_config_path
        from nanobot.config.schema import Config

        from transcript_channels.nanobot_host.host import Host

        home = self.folder / "nanobot"
        home.mkdir(exist_ok=True)
        document = gateway_config(home, self.app, self.model, feishu={"groupPolicy": "mention", **self._channel})
        path = home / "config.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        config = Config.model_validate(document)
        self.bus: Any = MessageBus()
        self.bus.consume_inbound = self._taken_in = _Consumer(self.bus.consume_inbound)
        self.bus.consume_outbound = self._sent = _Consumer(self.bus.consume_outbound)
        settings = self.settings()
        self.host = Host(settings, settings.open_record())
        self.background = self.host.conversation.background
        self.background.start()
        set_config_path(path)  # else nanobot would read and write that of whoever runs the tests
        with _environment(HOME=str(home)):
            await self._assemble(config)
        connections = len(self.app.connections)
        self._tasks = [asyncio.create_task(self.loop.run()), asyncio.create_task(self.manager.start_all())]
        bot = next(iter(self.host.bots.values()))
        await until(lambda: len(self.app.connections) > connections and bot.known.is_set())
        self._begin()

    async def _assemble(self, config: Any) -> None:
        from nanobot.agent.loop import AgentLoop
        from nanobot.agent.tools.registry import ToolRegistry
        from nanobot.channels.feishu import runtime
        from nanobot.channels.manager import ChannelManager
        from nanobot.providers.factory import build_provider_snapshot
        from nanobot.session.manager import SessionManager

        from transcript_channels.nanobot_host.install import PARTS, channel_class
        from transcript_channels.nanobot_host.plugin import GroupTranscriptTool, attend

        sessions = SessionManager(config.workspace_path)
        snapshot = build_provider_snapshot(config)
        tools = ToolRegistry()
        with _environment(NANOBOT_TRANSCRIPT_GROUPS__MODE="off"):  # the entry point finds nothing to do: see below
            self.loop = AgentLoop.from_config(
                config,
                self.bus,
                provider=snapshot.provider,
                model=snapshot.model,
                context_window_tokens=snapshot.context_window_tokens,
                session_manager=sessions,
                provider_signature=snapshot.signature,
                tool_registry=tools,
            )
        context = SimpleNamespace(timezone="UTC", sessions=sessions, provider_snapshot_loader=lambda: snapshot)
        attend(self.host, context, {"judge", "forgetting"})
        tools.register(GroupTranscriptTool(self.host, context, {"tool", "context"}))
        with _replaced(runtime, "FeishuChannel", channel_class(runtime.FeishuChannel, self.host, PARTS)):
            self.manager = ChannelManager(config, self.bus, session_manager=sessions)
        for channel in self.manager.channels.values():
            channel._ws_runner = _OwnLine(channel._ws_runner, self.app.app_id)
        load = runtime._load_lark_runtime
        base_url = self.feishu.base_url
        runtime._load_lark_runtime = lambda: (load()[0], base_url, base_url)
        self._undo: Callable[[], None] = lambda: setattr(runtime, "_load_lark_runtime", load)

    async def stop(self) -> None:
        self._undo()
        await self.manager.stop_all()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.loop.aclose()
        await self.host.conversation.aclose()
        await self.host.conversation.store.close()
        assert await asyncio.to_thread(self.background.close, PATIENCE)
        self.host.record.close()

    def waits(self) -> bool:
        asking = any(thread.name == _ASKING for thread in threading.enumerate())
        return asking or not (self._taken_in.waiting and self._sent.waiting)


class _Consumer:
    """What takes messages off one of nanobot's queues.

    While nanobot looks at one of them before it makes a task of it, the queue is empty and no task is new: it is idle
    only when it waits for the next.
    """

    def __init__(self, consume: Callable[[], Awaitable[Any]]) -> None:
        self._consume = consume
        self.waiting = 0

    async def __call__(self) -> Any:
        self.waiting += 1
        try:
            return await self._consume()
        finally:
            self.waiting -= 1


class _OwnLine:
    """nanobot keeps one connection for each name of a channel in a process; here several bots have the same one."""

    def __init__(self, runner: Any, name: str) -> None:
        self._runner, self._name = runner, name

    async def start_client(self, key: str, client: Any) -> None:
        await self._runner.start_client(f"{key} {self._name}", client)

    async def stop_client(self, key: str) -> None:
        await self._runner.stop_client(f"{key} {self._name}")


def _called(task: asyncio.Task[Any]) -> str:
    return getattr(task.get_coro(), "__qualname__", "")


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _replaced(holder: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(holder, name)
    setattr(holder, name, value)
    try:
        yield
    finally:
        setattr(holder, name, before)
