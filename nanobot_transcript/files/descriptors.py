"""Descriptors of files and folders, opened without ever following a link."""

import os
import stat
from typing import Final

from nanobot_transcript.errors import UnsafePathError
from nanobot_transcript.files.failures import store_error

__all__ = ["open_append", "open_folder", "open_read"]

_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_APPEND: Final = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def _plain_file(descriptor: int, path: str) -> int:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UnsafePathError(f"{path} is not a plain file.", hint="Move it away and try again.")
    return descriptor


def open_append(path: str) -> int:
    """A descriptor for reading and appending; the file is created with mode 0600."""
    try:
        return _plain_file(os.open(path, _APPEND, 0o600), path)
    except OSError as error:
        store_error(error, path)


def open_folder(path: str) -> int:
    """A descriptor of a folder."""
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        store_error(error, path)


def open_read(path: str) -> int | None:
    """A descriptor for reading, None when there is no such file."""
    try:
        return _plain_file(os.open(path, _READ), path)
    except FileNotFoundError:
        return None
    except OSError as error:
        store_error(error, path)
