"""Whether a folder that somebody named can be read, and written."""

import os
import stat
import tempfile
from pathlib import Path

from nanobot_transcript.errors import StoreUnavailableError

__all__ = ["require_folder"]


def require_folder(base: Path, hint: str, *, exists: bool = False, written: bool = False) -> None:
    """Raise StoreUnavailableError, with this hint, when a folder cannot be read; when it is missing and has to be
    there already (``exists``); when it is to be ``written`` and cannot be, or cannot be made. Leaves nothing behind.
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
