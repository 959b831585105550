"""Checks whether a folder that somebody named can be read and written."""

import os
import re
import stat
import tempfile
from pathlib import Path
from typing import Final

from nanobot_transcript.errors import ConfigError, StoreUnavailableError

__all__ = ["refuse_address", "require_folder"]


def require_folder(base: Path, hint: str, *, exists: bool = False, written: bool = False) -> None:
    """Raise StoreUnavailableError, with this hint, when a folder cannot be read, when it is missing but must exist
    (``exists``), or when it must be ``written`` and cannot be written or created. Leaves nothing behind.
    """
    try:
        found = base.stat()
    except FileNotFoundError as error:
        if exists:
            raise StoreUnavailableError(f"There is no directory {base}.", hint=hint) from error
        if written:
            parent = next(folder for folder in base.parents if folder.exists())
            _try_to_write(parent, f"{base} does not exist and cannot be created in {parent}", hint)
        return
    except OSError as error:
        raise StoreUnavailableError(f"{base} cannot be read: {error.strerror}.", hint=hint) from error
    if not stat.S_ISDIR(found.st_mode):
        raise StoreUnavailableError(f"{base} is not a directory.", hint=hint)
    if not os.access(base, os.R_OK | os.X_OK):
        raise StoreUnavailableError(f"{base} cannot be read: Permission denied.", hint=hint)
    if written:
        _try_to_write(base, f"{base} cannot be written", hint)


def _try_to_write(folder: Path, sentence: str, hint: str) -> None:
    try:
        tempfile.TemporaryDirectory(dir=folder, prefix=".probe-").cleanup()
    except OSError as error:
        raise StoreUnavailableError(f"{sentence}: {error.strerror}.", hint=hint) from error


_DATABASE: Final = re.compile(r"postgres(ql)?:", re.IGNORECASE)


_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
"""How an address begins. A ``Path`` has lost the second slash; a text must have both."""


def refuse_address(place: str | Path) -> None:
    """Raise ConfigError for a database address where a folder is meant. It would become a folder with the password in
    its name, so the error does not repeat it.
    """
    told = str(place)
    if _DATABASE.match(told):
        raise ConfigError(
            "The address of a database is no folder.",
            hint="`Record.open(address).store` is the store in a database, `.outbox` its posts.",
        )
    found = _ADDRESS.match(told)
    if found and (isinstance(place, Path) or told.startswith("/", found.end())):
        raise ConfigError(
            "The address of a database must begin with postgresql://.",
            hint="Name a PostgreSQL database, as in postgresql://user:password@host:5432/name, or a folder.",
        )
