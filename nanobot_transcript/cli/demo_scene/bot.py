"""One real process of one bot: its home inside the demo's folder, its environment, its start and its end."""

import asyncio
import contextlib
import os
import signal
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from nanobot_transcript.cli.demo_scene.failure import DemoError
from transcript_channels.simulator import App

__all__ = ["Bot", "Places"]

_START_SECONDS: Final = 150.0  # after an installation Python first has to compile 11,000 modules
_END_SECONDS: Final = 5.0
_LOG_LINES: Final = 12
_PASSED_ON: Final = ("PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH")
_NOWHERE: Final = "http://127.0.0.1:9"


@dataclass(frozen=True, slots=True)
class Places:
    """What a bot needs to know: the addresses of ``platform`` and ``model`` on loopback, the folder of the record."""

    platform: str
    model: str
    record: Path


class Bot(ABC):
    """A process for one bot. ``stop`` may be called at any time and never leaves it running."""

    noun: ClassVar[str]
    """What to call the process."""
    keeper: ClassVar[str]
    """What in it keeps the record."""

    def __init__(self, app: App, home: Path) -> None:
        self.app: App = app
        self.home: Path = home
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
        """Everything the process prints."""
        return self.home / f"{self.noun}.log"

    def log_tail(self) -> str:
        """The last lines it printed."""
        if not self.log_path.exists():
            return ""
        lines = self.log_path.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-_LOG_LINES:])

    async def start(self, places: Places) -> None:
        """Start it and wait for its long connection. Raises DemoError when it ends early or takes too long."""
        began = time.monotonic()
        self.home.mkdir(mode=0o700)
        command = self._prepare(places)
        with self.log_path.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                env=self._environment() | self._variables(places),
                cwd=self.home,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C at the terminal is for the demo, which then ends its bots
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

    @abstractmethod
    def _prepare(self, places: Places) -> list[str]:
        """Write what the process reads into ``home``; returns its command."""

    @abstractmethod
    def _variables(self, places: Places) -> dict[str, str]:
        """Environment variables of this kind of process."""

    async def _connected(self, began: float) -> None:
        while not self.app.connected:
            if self.ended:
                raise DemoError(f"{self.app.name}'s {self.noun} ended while it started.")
            if time.monotonic() - began > _START_SECONDS:
                raise DemoError(f"{self.app.name}'s {self.noun} did not connect within {_START_SECONDS:g} seconds.")
            await asyncio.sleep(0.05)

    def _environment(self) -> dict[str, str]:
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
        }


def _signal_group(pid: int, number: signal.Signals, returncode: int | None) -> None:
    """Signal a process that leads its own session, and what it started."""
    if returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, number)
