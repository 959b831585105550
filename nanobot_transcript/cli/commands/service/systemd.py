"""Controls this person's systemd: starts and stops services, and asks for their state."""

import getpass
import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nanobot_transcript.errors import ConfigError

__all__ = ["ServiceStatus", "Systemd", "lingers", "user"]

_PROPERTIES: Final = (
    "ActiveState",
    "ExecMainCode",
    "ExecMainStatus",
    "NRestarts",
    "UnitFileState",
    "ActiveEnterTimestamp",
)
_EXITED: Final = "1"
"""What ``ExecMainCode`` is for a process that ended with an exit code; others were killed."""

_GOES_ON: Final = frozenset({"active", "activating", "deactivating", "reloading"})
_LAST_LINES: Final = 5

_IN_A_CONTAINER: Final = (
    "In a container let the container start the command again: docker run --restart unless-stopped."
)
_WITHOUT: Final = {
    "Darwin": "Let launchd run it: put the file of docs/en/service.md into ~/Library/LaunchAgents, and load it with "
    "`launchctl load -w`.",
    "Windows": "Use WSL 2 with `systemd=true` in /etc/wsl.conf, or the Task Scheduler: "
    'schtasks /Create /SC ONLOGON /TN nanobot-transcript /TR "wsl nanobot-transcript serve".',
    "Linux": f"{_IN_A_CONTAINER} In WSL set `systemd=true` in /etc/wsl.conf. Elsewhere give the command to the init "
    "system that there is.",
}
"""What to do instead, by kind of system."""


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """How a service is. ``state`` is ``active``, ``activating`` (it starts, or waits until it is started again),
    ``inactive`` or ``failed``; ``exit_code`` that of the process that ended last, None while there is none.
    """

    state: str
    since: str
    enabled: bool
    exit_code: int | None
    restarts: int

    @property
    def is_up(self) -> bool:
        """Whether it does its work."""
        return self.state == "active"


class Systemd:
    """The services of this user. Raises ConfigError, with what to do instead, where there is no systemd for them."""

    def __init__(self) -> None:
        self._program: str = _program()
        self._env: dict[str, str] = _environment()
        answer = self._ask("show-environment")
        if answer.returncode:
            raise ConfigError(
                f"systemd does not answer for this user: {_last_line(answer.stderr)}",
                hint=f"{_IN_A_CONTAINER} Elsewhere log in as this user itself instead of by su or sudo, or begin with "
                f"`sudo loginctl enable-linger {user()}`.",
            )

    def reload(self) -> None:
        """Let systemd read the unit files again."""
        self._tell("daemon-reload")

    def start(self, unit: str) -> None:
        """Start a service now and whenever systemd starts; returns once it is ready. A running one is restarted.

        Raises ConfigError with the last lines of its log when it does not become ready.
        """
        self._tell("enable", unit)
        answer = self._ask("restart", unit)
        if answer.returncode:
            log = self._last_lines(unit)
            raise ConfigError(
                f"The service {unit} does not come up{': ' + log if log else '.'}",
                hint=f"Its log: journalctl --user -u {unit}. It stays installed; call this again when it is mended.",
            )

    def forget(self, unit: str) -> None:
        """Stop and disable a service; one that systemd does not know is fine.

        Raises ConfigError when it keeps running.
        """
        self._ask("stop", unit)
        if self.look_at(unit).state in _GOES_ON:
            raise ConfigError(
                f"The service {unit} could not be stopped.",
                hint=f"See why with `systemctl --user status {unit}`, then try again. Nothing was removed.",
            )
        for words in (("disable", unit), ("reset-failed", unit)):
            self._ask(*words)

    def look_at(self, unit: str) -> ServiceStatus:
        """The state of a service."""
        answer = self._tell("show", unit, f"--property={','.join(_PROPERTIES)}")
        found = dict(line.split("=", 1) for line in answer.splitlines() if "=" in line)
        exited = found.get("ExecMainCode") == _EXITED
        return ServiceStatus(
            found.get("ActiveState", ""),
            found.get("ActiveEnterTimestamp", ""),
            found.get("UnitFileState", "").startswith("enabled"),
            int(found.get("ExecMainStatus") or 0) if exited else None,
            int(found.get("NRestarts") or 0),
        )

    def _tell(self, *words: str) -> str:
        answer = self._ask(*words)
        if answer.returncode:
            raise ConfigError(
                f"`systemctl --user {' '.join(words)}` failed: {_last_line(answer.stderr)}",
                hint="Run that command to see more.",
            )
        return answer.stdout

    def _ask(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return _run(self._program, "--user", *words, env=self._env)

    def _last_lines(self, unit: str) -> str:
        journal = shutil.which("journalctl")
        if journal is None:
            return ""
        answer = _run(journal, "--user", "-u", unit, "-n", str(_LAST_LINES), "-o", "cat", "--no-pager", env=self._env)
        return answer.stdout.strip() if answer.returncode == 0 else ""


def lingers() -> bool | None:
    """Whether this user's services keep running after the last logout; None if that is unknown."""
    program = shutil.which("loginctl")
    if program is None:
        return None
    answer = _run(program, "show-user", user(), "--property=Linger", "--value", env=_environment())
    return {"yes": True, "no": False}.get(answer.stdout.strip())


def user() -> str:
    """This user's name, or number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # in a container a user may have no name
        return str(os.getuid())


def _program() -> str:
    found = shutil.which("systemctl")
    if found is None:
        kind = platform.system()
        where = {"Darwin": "macOS", "Windows": "Windows"}.get(kind, "this machine")
        raise ConfigError(f"There is no systemd on {where}.", hint=_WITHOUT.get(kind, _WITHOUT["Linux"]))
    return found


def _run(*words: str, env: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, env=env, capture_output=True, text=True, errors="replace", check=False)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it says nothing."])[-1]


def _environment() -> dict[str, str]:
    """Our environment, with the address of this user's systemd added: a shell of ``su``, for example, lacks it."""
    known = Path(f"/run/user/{os.getuid()}")
    if "XDG_RUNTIME_DIR" in os.environ or not known.is_dir():
        return dict(os.environ)
    return os.environ | {"XDG_RUNTIME_DIR": str(known)}
