"""A process of the demo, with a home inside the demo's folder, an environment and a log of its own."""

import asyncio
import contextlib
import os
import signal
from pathlib import Path
from typing import ClassVar, Final

__all__ = ["Process"]

_END_SECONDS: Final = 5.0
_LOG_LINES: Final = 12
_PASSED_ON: Final = ("PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH")
_NOWHERE: Final = "http://127.0.0.1:9"


class Process:
    """A process with a ``home`` of its own. ``stop`` may be called at any time and never leaves it running."""

    noun: ClassVar[str]
    """What to call it."""

    def __init__(self, home: Path) -> None:
        self.home: Path = home
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

    async def stop(self) -> None:
        """End it with SIGTERM; if that takes too long, or waiting is cancelled, with SIGKILL."""
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

    async def _begin(self, command: list[str], variables: dict[str, str]) -> None:
        """Start it in its home, which is there already."""
        with self.log_path.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                env=self._environment() | variables,
                cwd=self.home,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C at the terminal is for the demo, which then ends its processes
            )

    def _environment(self) -> dict[str, str]:
        """The process's environment: nothing of the person's own keys, proxies, settings and folders.

        Proxies that do not exist keep every HTTP library from leaving this machine.
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
