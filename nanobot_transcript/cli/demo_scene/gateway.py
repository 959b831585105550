"""One real nanobot gateway: its home inside the demo's folder, its configuration, its start and its end."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import time
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any, Final

from nanobot_transcript.cli.demo_scene.failure import DemoError
from nanobot_transcript.errors import HostError
from transcript_channels.simulator import App

__all__ = ["Gateway", "free_ports", "require_nanobot"]

_START_SECONDS: Final = 150.0  # after an installation Python first has to compile 11,000 modules
_END_SECONDS: Final = 5.0
_LOG_LINES: Final = 12
_PASSED_ON: Final = ("PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH")
_NOWHERE: Final = "http://127.0.0.1:9"


def require_nanobot() -> str:
    """The version of the installed nanobot. Raises HostError when the demo cannot run here."""
    fix = 'pip install "nanobot-transcript[nanobot]" or, from a clone, pip install ".[nanobot]" (or make demo).'
    try:
        found = version("nanobot-ai")
        version("lark-oapi")
    except PackageNotFoundError as error:
        raise HostError(f"The demo runs the real nanobot, and {error.name} is not installed here.", hint=fix) from None
    if not any(point.name == "group_transcript" for point in entry_points(group="nanobot.tools")):
        raise HostError("nanobot would not find the plugin: its entry point is missing.", hint=fix)
    return found


def free_ports(count: int) -> list[int]:
    """Different ports of 127.0.0.1 that nobody listens on now."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


class Gateway:
    """A nanobot process for one bot. ``stop`` may be called at any time and never leaves it running."""

    def __init__(self, app: App, home: Path, port: int) -> None:
        self.app: App = app
        self.home: Path = home
        self.port: int = port
        self.started_in: float = 0.0
        """Seconds from the start to the open connection."""
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        """The process id, None before the start."""
        return self._process.pid if self._process else None

    @property
    def ended(self) -> bool:
        """True when the process ended by itself or was ended."""
        return self._process is not None and self._process.returncode is not None

    @property
    def log_path(self) -> Path:
        """Everything nanobot prints."""
        return self.home / "gateway.log"

    def log_tail(self) -> str:
        """The last lines it printed."""
        if not self.log_path.exists():
            return ""
        lines = self.log_path.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-_LOG_LINES:])

    async def start(self, *, platform: str, model: str, record: Path) -> None:
        """Start it and wait for its long connection. ``platform`` and ``model`` are addresses on loopback.

        Raises DemoError when it ends early or takes too long.
        """
        began = time.monotonic()
        self.home.mkdir(mode=0o700)
        config_path = self.home / "config.json"
        config_path.write_text(json.dumps(self._config(model), indent=2), encoding="utf-8")
        command = [sys.executable, "-m", "nanobot", "gateway", "--foreground", "--config", str(config_path)]
        with self.log_path.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                env=self._environment(platform, record),
                cwd=self.home,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C at the terminal is for the demo, which then ends its gateways
            )
        await self._connected(began)
        self.started_in = time.monotonic() - began

    async def stop(self) -> None:
        """End it, politely first; when the wait is cancelled or too long, at once."""
        process = self._process
        if process is None:
            return
        try:
            _signal_group(process.pid, signal.SIGTERM, process.returncode)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    await process.wait()
        finally:
            if process.returncode is None:
                _signal_group(process.pid, signal.SIGKILL, None)
                await process.wait()

    async def _connected(self, began: float) -> None:
        while not self.app.connected:
            if self.ended:
                raise DemoError(f"{self.app.name}'s gateway ended while it started.")
            if time.monotonic() - began > _START_SECONDS:
                raise DemoError(f"{self.app.name}'s gateway did not connect within {_START_SECONDS:g} seconds.")
            await asyncio.sleep(0.05)

    def _environment(self, platform: str, record: Path) -> dict[str, str]:
        """What the process may know: nothing of the person's own keys, proxies, settings and folders.

        A proxy that is not there keeps every HTTP library from leaving this machine.
        """
        proxies = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
        folders = {"XDG_CONFIG_HOME": ".config", "XDG_CACHE_HOME": ".cache", "XDG_DATA_HOME": ".local/share"}
        folders["XDG_STATE_HOME"] = ".local/state"
        scratch = self.home / "tmp"
        scratch.mkdir(mode=0o700)
        return {
            **{name: os.environ[name] for name in _PASSED_ON if name in os.environ},
            **dict.fromkeys(proxies, _NOWHERE),
            **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
            **{name: str(self.home / folder) for name, folder in folders.items()},
            "HOME": str(self.home),
            "TMPDIR": str(scratch),
            "PYTHONUNBUFFERED": "1",
            "PYTHONUTF8": "1",
            "NO_COLOR": "1",
            "NANOBOT_TRANSCRIPT_FEISHU__BASE_URL": platform,
            "NANOBOT_TRANSCRIPT_STORE__DIR": str(record),
        }

    def _config(self, model: str) -> dict[str, Any]:
        """nanobot's own configuration: this app, this model, nothing that reaches beyond the folder."""
        feishu = {"enabled": True, "appId": self.app.app_id, "appSecret": self.app.app_secret, "allowFrom": ["*"]}
        off = {"enable": False}
        return {
            "agents": {
                "defaults": {
                    "workspace": str(self.home / "workspace"),
                    "model": "demo",
                    "provider": "custom",
                    "dream": {"enabled": False},
                }
            },
            "providers": {"custom": {"apiKey": self.app.name, "apiBase": model}},
            "channels": {
                "sendProgress": False,
                "sendToolHints": False,
                "feishu": feishu,
                "websocket": {"enabled": False},
            },
            "tools": {"exec": off, "web": off, "cliApps": off, "restrictToWorkspace": True},
            "gateway": {"host": "127.0.0.1", "port": self.port, "heartbeat": {"enabled": False}},
        }


def _signal_group(pid: int, number: signal.Signals, returncode: int | None) -> None:
    """Signal a process that leads its own session, and what it started."""
    if returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, number)
