"""Real nanobot gateways as processes of a test.

    async with running_gateway(tmp_path, alpha, feishu, model, env={...}) as gateway:
        await feishu.say(group, ada, "hello @Alpha")

Each gateway has its own home folder below the test's, its own config file and log. With ``redirect=True`` the Feishu
client is pointed at the simulator by a launcher (``redirected_nanobot.py``); with ``redirect=False`` the plugin has to
do it, told by ``NANOBOT_TRANSCRIPT_FEISHU__BASE_URL``.
"""

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from support.forking import Streamed, preload
from support.ports import free_port
from support.waiting import PATIENCE

from transcript_channels.simulator import App, FeishuSimulator, ScriptedModel

__all__ = ["Gateway", "gateway_config", "running_gateway", "start_gateway"]

_STOP_SECONDS = 30.0  # then it is killed: one whose model hangs does not end by itself
preload(
    "lark_oapi",
    "openai",
    "aiohttp",
    "nanobot.cli.gateway_runtime",
    "nanobot.channels.websocket.runtime",
    "nanobot.channels.feishu.runtime",
    "nanobot.providers.openai_compat_provider",
    "nanobot_transcript.runner",
    "nanobot_transcript.settings",
    "transcript_channels.feishu.channel",
    "dulwich.porcelain",
    "setproctitle",
)


@dataclass
class Gateway:
    """A nanobot process and where its things lie. ``start()`` again after ``kill()`` or ``stop()`` restarts it."""

    app: App
    feishu: FeishuSimulator
    home: Path
    config_path: Path
    command: list[str]
    env: dict[str, str]
    process: Streamed | None = None
    starts: int = field(default=0)

    @property
    def log_path(self) -> Path:
        """Standard output and standard error of all starts."""
        return self.home / "gateway.log"

    @property
    def log(self) -> str:
        """What it has written so far."""
        return self.log_path.read_text(encoding="utf-8", errors="replace") if self.log_path.exists() else ""

    @property
    def pid(self) -> int:
        """The process id. Raises RuntimeError when it is not running."""
        if self.process is None or self.process.returncode is not None:
            raise RuntimeError("the gateway is not running")
        return self.process.pid

    async def start(self) -> None:
        """Start it and wait until its long connection is open and it knows its own name.

        Raises RuntimeError with the log when it ends early, TimeoutError with the log when it takes too long.
        """
        known = len(self._identity_calls())
        connections = len(self.app.connections)
        with self.log_path.open("ab") as log:
            self.process = await Streamed.start(
                *self.command, env=self.env, cwd=self.home, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.starts += 1
        process = self.process

        def ready() -> bool:
            if process.returncode is not None:
                raise RuntimeError(f"the gateway ended with {process.returncode}:\n{self.log[-4000:]}")
            return len(self.app.connections) > connections and len(self._identity_calls()) > known

        try:
            await self.feishu.wait_for(ready, PATIENCE, "the gateway")
        except TimeoutError as error:
            raise TimeoutError(f"the gateway was not ready in {PATIENCE:g} s:\n{self.log[-4000:]}") from error

    def _identity_calls(self) -> list[object]:
        return [call for call in self.feishu.calls_to("GET /open-apis/bot/v3/info", self.app) if call.status]

    async def stop(self) -> int:
        """End it with SIGTERM (SIGKILL if that is not enough) and return the exit code."""
        process = self.process
        if process is None:
            return 0
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(_STOP_SECONDS):
                    await process.wait()
            except TimeoutError:
                process.kill()
        return await process.wait()

    async def kill(self) -> None:
        """End it with SIGKILL, as a power cut would, and wait until the platform has noticed."""
        os.kill(self.pid, signal.SIGKILL)
        assert self.process is not None
        await self.process.wait()
        await self.feishu.wait_for(lambda: not self.app.connections, PATIENCE, "the connection to end")


def gateway_config(
    home: Path, app: App, model: ScriptedModel, *, feishu: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """nanobot's config for one bot: this app, this model, everything else off. ``feishu`` adds channel settings.

    The key of the model is the bot's name, as a header can carry it.
    """
    return {
        "agents": {"defaults": {"workspace": str(home / "workspace"), "model": "scripted", "provider": "custom"}},
        "providers": {"custom": {"apiKey": quote(app.name), "apiBase": model.base_url}},
        "channels": {
            "feishu": {
                "enabled": True,
                "appId": app.app_id,
                "appSecret": app.app_secret,
                "allowFrom": ["*"],
                **(feishu or {}),
            },
            "websocket": {"enabled": False},
        },
        "gateway": {"host": "127.0.0.1", "port": free_port(), "heartbeat": {"enabled": False}},
    }


async def start_gateway(
    folder: Path,
    app: App,
    feishu: FeishuSimulator,
    model: ScriptedModel,
    *,
    env: Mapping[str, str] | None = None,
    redirect: bool = False,
    channel: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
) -> Gateway:
    """Start a gateway for ``app`` with its home at ``folder/<app id>``. The caller stops it.

    ``env`` is added to a small clean environment; ``redirect`` uses the launcher instead of the plugin; ``channel``
    adds settings of the Feishu channel (``{"groupPolicy": "open"}``); ``config`` replaces top-level keys.
    """
    home = folder / app.app_id
    home.mkdir(parents=True, exist_ok=True)
    config_path = home / "config.json"
    settings = {**gateway_config(home, app, model, feishu=channel), **(config or {})}
    config_path.write_text(json.dumps(settings, indent=2), encoding="utf-8")
    program = "support.redirected_nanobot" if redirect else "nanobot"
    gateway = Gateway(
        app=app,
        feishu=feishu,
        home=home,
        config_path=config_path,
        command=[program, "gateway", "--foreground", "--config", str(config_path)],
        env={**_clean_environment(home, feishu), **(env or {})},
    )
    try:
        await gateway.start()
    except BaseException:
        await gateway.stop()
        raise
    return gateway


def _clean_environment(home: Path, feishu: FeishuSimulator) -> dict[str, str]:
    """What a gateway needs of the test's environment: no keys, no proxies, another home."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TMPDIR") if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "PYTHONUNBUFFERED": "1",
        "PYTHONUTF8": "1",
        "FEISHU_BASE_URL": feishu.base_url,
        "NANOBOT_TRANSCRIPT_FEISHU__BASE_URL": feishu.base_url,
        "NO_PROXY": "*",
    }


@asynccontextmanager
async def running_gateway(
    folder: Path,
    app: App,
    feishu: FeishuSimulator,
    model: ScriptedModel,
    *,
    env: Mapping[str, str] | None = None,
    redirect: bool = False,
    channel: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
) -> AsyncIterator[Gateway]:
    """``start_gateway`` for the length of a block."""
    gateway = await start_gateway(
        folder, app, feishu, model, env=env, redirect=redirect, channel=channel, config=config
    )
    try:
        yield gateway
    finally:
        await gateway.stop()
