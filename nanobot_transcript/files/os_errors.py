"""Errors of the operating system: about a file as typed errors, about an address in words."""

import errno
import os
import socket
from typing import Final, NoReturn

from nanobot_transcript.errors import StoreFullError, StoreUnavailableError, UnsafePathError

__all__ = ["FULL", "LINK", "reason", "store_error"]

FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""There is no space left."""

LINK: Final = frozenset({errno.ELOOP, errno.ENOTDIR})
"""There is a link, or something that is not a folder, where a folder or file was expected."""

_FOREIGN: Final = LINK | {errno.ENXIO, errno.EISDIR}


def store_error(error: OSError, path: str) -> NoReturn:
    """Raise the typed error for an error of the operating system."""
    if error.errno in FULL:
        raise StoreFullError(
            f"No space left to write {path}.", hint="Free space or raise the quota, then send again."
        ) from error
    if error.errno in _FOREIGN:
        raise UnsafePathError(
            f"{path} is not a plain file or folder of this store.",
            hint="The store never follows links. Move it away and try again.",
        ) from error
    raise StoreUnavailableError(
        f"{path}: {error.strerror or error}.",
        hint="Check that the folder exists and that you may write there.",
    ) from error


def reason(error: OSError) -> str:
    """What the system calls an error; asyncio puts words of its own before that. Numbers of name errors are others."""
    if isinstance(error, socket.gaierror) or not error.errno:
        return error.strerror or str(error)
    return os.strerror(error.errno)
