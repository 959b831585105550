"""The files of our services below a person's configurations: units where systemd looks, and variables beside them."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from nanobot_transcript.cli.problems import UsageError
from nanobot_transcript.cli.service_unit import MARK, PREFIX, description_of
from nanobot_transcript.errors import ConfigError
from nanobot_transcript.files.replace import write_whole

if TYPE_CHECKING:
    from nanobot_transcript.cli.service_unit import Unit

__all__ = ["about", "installed", "remove", "unit_file", "variables_file", "write"]


def installed() -> list[str]:
    """The names of the services whose unit files are ours."""
    files = _units().glob(f"{PREFIX}*.service")
    return sorted(path.stem.removeprefix(PREFIX) for path in files if _text(path).startswith(MARK))


def unit_file(name: str) -> Path:
    """Where the unit of a service lies."""
    return _units() / f"{PREFIX}{name}.service"


def variables_file(name: str) -> Path:
    """Where the variables of a service lie."""
    return _configurations() / "nanobot-transcript" / f"{name}.env"


def about(name: str) -> str:
    """What a service does; empty where there is none of this name."""
    return description_of(_text(unit_file(name)))


def write(unit: "Unit", *, update: bool) -> bool:
    """Have the unit's file; true when it was another one or none before.

    Without ``update`` only for the command that it is for already. Raises UsageError for another one's file and
    ConfigError when it cannot be written.
    """
    path, text = unit_file(unit.name), unit.text()
    known = _text(path)
    if known and not known.startswith(MARK):
        raise UsageError(f"{path} was not written by this command.", hint="Take another --name, or remove it yourself.")
    if known and not update and description_of(known) != unit.description:
        raise UsageError(
            f"There is a service {unit.name} already: {description_of(known)}.",
            hint=f"Take another --name, or first `nanobot-transcript service uninstall {unit.name}`.",
        )
    if known == text:
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(str(path), text.encode())
        path.chmod(0o644)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}.", hint="Look at its permissions.") from error
    return True


def remove(name: str) -> list[Path]:
    """Remove all that there is of a service, and folders that are empty then. Returns what is gone.

    Raises UsageError for another one's file and ConfigError when something cannot be removed.
    """
    known = _text(unit_file(name))
    if known and not known.startswith(MARK):
        raise UsageError(f"{unit_file(name)} was not written by this command.", hint="Remove it yourself.")
    gone: list[Path] = []
    for path in _belongings(name):
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.is_symlink() or path.exists():
                path.unlink()
            else:
                continue
        except OSError as error:
            raise ConfigError(f"{path} cannot be removed: {error.strerror}.", hint="Remove it yourself.") from error
        gone.append(path)
        for folder in path.parents:
            if folder == _configurations():
                break
            with suppress(OSError):  # something else is in it
                folder.rmdir()
    return gone


def _belongings(name: str) -> Iterator[Path]:
    unit = unit_file(name)
    yield unit
    yield unit.parent / "default.target.wants" / unit.name  # what systemd leaves where it could not be asked
    yield unit.with_name(f"{unit.name}.d")  # what `systemctl --user edit` writes
    yield variables_file(name)


def _units() -> Path:
    return _configurations() / "systemd" / "user"


def _configurations() -> Path:
    named = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(named) if named.startswith("/") else Path.home() / ".config"


def _text(path: Path) -> str:
    """Empty where there is no file; what cannot be read as text is none of ours."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.", hint="Look at its permissions.") from error
