"""The files of our services in a person's configuration folder: units where systemd looks, and their variables."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from nanobot_transcript.cli.commands.service.unit import MARK, PREFIX, description_of
from nanobot_transcript.cli.terminal.exit_codes import UsageError
from nanobot_transcript.errors import ConfigError
from nanobot_transcript.files.replace import write_whole

if TYPE_CHECKING:
    from nanobot_transcript.cli.commands.service.unit import Unit

__all__ = ["about", "installed", "remove", "unit_file", "variables_file", "write"]


def installed() -> list[str]:
    """The names of the services whose unit files are ours."""
    files = _units().glob(f"{PREFIX}*.service")
    return sorted(path.stem.removeprefix(PREFIX) for path in files if _is_ours(path))


def unit_file(name: str) -> Path:
    """The path of a service's unit."""
    return _units() / f"{PREFIX}{name}.service"


def variables_file(name: str) -> Path:
    """The path of a service's file of variables."""
    return _configurations() / "nanobot-transcript" / f"{name}.env"


def about(name: str) -> str:
    """The description of a service; empty if there is none of this name."""
    return description_of(_text(unit_file(name)))


def write(unit: "Unit", *, update: bool) -> bool:
    """Have the unit's file; true when it was another one or none before.

    Without ``update`` only for the command that it is for already; a link stays one. Raises UsageError for another
    one's file and ConfigError when it cannot be written or is masked.
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
    target = Path(os.path.realpath(path))
    if target == Path(os.devnull):
        raise ConfigError(
            f"{path.name} cannot be installed: it is masked.",
            hint=f"Unmask it with `systemctl --user unmask {path.name}`.",
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(str(target), text.encode())
        target.chmod(0o644)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}.", hint="Look at its permissions.") from error
    return True


def remove(name: str) -> list[Path]:
    """Remove all that there is of a service, and folders that are empty then. Returns what is gone.

    Without a unit of ours that is no more than its variables and what systemd left of it.
    Raises UsageError for another one's file and ConfigError when something cannot be removed.
    """
    known = _text(unit_file(name))
    if known and not known.startswith(MARK):
        raise UsageError(f"{unit_file(name)} was not written by this command.", hint="Remove it yourself.")
    gone: list[Path] = []
    for path in _belongings(name, ours=bool(known)):
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


def _belongings(name: str, *, ours: bool) -> Iterator[Path]:
    unit = unit_file(name)
    if ours:
        # What `systemctl --user edit` writes goes before the unit, which says that it is ours.
        yield unit.with_name(f"{unit.name}.d")
        yield unit
    yield unit.parent / "default.target.wants" / unit.name  # `systemctl disable` removes it, where systemd runs
    yield variables_file(name)


def _units() -> Path:
    return _configurations() / "systemd" / "user"


def _configurations() -> Path:
    named = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(named) if named.startswith("/") else Path.home() / ".config"


def _is_ours(path: Path) -> bool:
    try:
        return path.is_file() and _text(path).startswith(MARK)
    except (OSError, ConfigError):  # not ours; the others are listed all the same
        return False


def _text(path: Path) -> str:
    """Empty where there is no file; what cannot be read as text is none of ours."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.", hint="Look at its permissions.") from error
