"""The command ``run`` as real processes against the simulated platform.

Events come by webhook, encrypted and signed, because importing the SDK of the long connection takes seconds for each
process; with ``long=True`` they come over the real long connection.
"""

import asyncio
import itertools
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.forking import Streamed, preload
from support.ports import free_port
from support.waiting import PATIENCE, until

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.entry import Entry
from transcript_channels.simulator import App, FeishuSimulator

preload(
    "lark_oapi",
    "nanobot_transcript.runner",
    "transcript_channels.feishu.channel",
    "typer.main",
    "rich.console",
)

KEY = "an encrypt key"


@dataclass
class Running:
    """One process of ``run``; what it says on stdout comes as events, its log is in a file."""

    process: Streamed
    log_path: Path
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def log(self) -> str:
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    async def event(self, name: str) -> dict[str, Any]:
        """The next event of this name. Raises RuntimeError with the log when the process ends before."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while line := await self.process.stdout.readline():
                self.events.append(json.loads(line))
                if self.events[-1].get("event") == name:
                    return self.events[-1]
        raise RuntimeError(f"no {name}; ended with {await self.process.wait()}:\n{self.log[-4000:]}")

    async def stop(self, number: int = signal.SIGTERM) -> int:
        """End it with a signal and return the exit code."""
        if self.process.returncode is None:
            self.process.send_signal(number)
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()


@dataclass
class Site:
    """A group, a folder for the record and the configurations, and processes that work in it."""

    feishu: FeishuSimulator
    folder: Path
    processes: list[Running] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    """What each process is told besides."""

    def __post_init__(self) -> None:
        self.ada = self.feishu.add_person("Ada")
        self.bo = self.feishu.add_person("Bo")
        self.group = self.feishu.add_group("Team", [self.ada, self.bo])
        self.key = f"feishu:{self.group.chat_id}"
        self.store = GroupTranscriptStore(self.folder / "transcripts")
        self._numbers = itertools.count()

    def app(self, name: str) -> App:
        app = self.feishu.add_app(name)
        self.feishu.join(self.group, app)
        return app

    def new_group(self, *apps: App) -> None:
        """From now on it is about another group, with these bots."""
        self.group = self.feishu.add_group("Team", [self.ada, self.bo, *apps])
        self.key = f"feishu:{self.group.chat_id}"

    def record(self) -> list[Entry]:
        return self.store.recent(self.key, 1000).entries

    def config(self, minds: dict[App, dict[str, Any]], name: str = "config", **sections: Any) -> Path:
        """A configuration with one agent for each app; secrets come from the environment, as they should."""
        agents = {
            app.app_id: {
                "name": app.name,
                "app_secret": f"${{SECRET_{app.name}}}",
                "encrypt_key": KEY,
                "responder": responder,
            }
            for app, responder in minds.items()
        }
        document = {
            "store": {"dir": str(self.folder / "transcripts")},
            "feishu": {"base_url": self.feishu.base_url},
            "agents": agents,
            **sections,
        }
        path = self.folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(document, allow_unicode=True), encoding="utf-8")
        return path

    async def run(
        self, config: Path, *names: str, long: bool = False, wait: bool = True, arguments: Sequence[str] = ()
    ) -> Running:
        """Start the command for all agents or those that are named, and wait until they are connected."""
        address = f"127.0.0.1:{free_port()}"
        listen = None if long or not wait else address
        running = await self._start(config, [*arguments, *(f"--agent={name}" for name in names)], listen)
        if wait:
            ready = await running.event("ready")
            for app in self.feishu.apps if not long else ():
                if app.name in ready["agents"]:
                    url = f"http://{address}/feishu/{app.app_id}"
                    await self.feishu.subscribe(app, url, encrypt_key=KEY)
        return running

    async def _start(self, config: Path, arguments: Sequence[str], listen: str | None) -> Running:
        secrets = {f"SECRET_{app.name}": app.app_secret for app in self.feishu.apps}
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TMPDIR") if name in os.environ}
        env = {**kept, **secrets, **self.variables, "HOME": str(self.folder), "NO_PROXY": "*"}
        if listen is not None:
            env["NANOBOT_TRANSCRIPT_FEISHU__WEBHOOK__LISTEN"] = listen
        log_path = self.folder / f"run-{next(self._numbers)}.log"
        with log_path.open("wb") as log:
            process = await Streamed.start(
                *("nanobot_transcript", "run", "-c", str(config), "--jsonl", *arguments),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=env,
                cwd=self.folder,
            )
        running = Running(process, log_path)
        self.processes.append(running)
        return running

    async def ask(self, text: str, app: App, containing: str = "", **options: Any) -> str:
        after = len(self.group.messages)
        await self.feishu.say(self.group, self.ada, text, **options)
        message = await self.feishu.wait_for_message(self.group, app, containing, after=after)
        return message.text

    async def until(self, true: Callable[[], object]) -> None:
        await until(true)


@asynccontextmanager
async def a_site(folder: Path) -> AsyncIterator[Site]:
    """A group, and processes that work in it until the end."""
    async with FeishuSimulator() as feishu:
        one = Site(feishu, folder)
        try:
            yield one
        finally:
            for running in one.processes:
                if running.process.returncode is None:
                    running.process.kill()
                await running.process.communicate()
            one.store.close()


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """See ``a_site``."""
    async with a_site(tmp_path) as one:
        yield one
