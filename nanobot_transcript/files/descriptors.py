"""Opening files and folders without ever following a link.

A name is looked up in the folder ``parent`` (a descriptor); without one it is a path, of which only the last step is
protected. Going down folder by folder also detects links that are put there meanwhile.
"""

import errno
import os
import stat
from contextlib import suppress
from typing import Final

from nanobot_transcript.files.os_errors import store_error

__all__ = [
    "NOT_PLAIN",
    "enter",
    "enter_made",
    "open_append",
    "open_folder",
    "open_read",
    "root_folder",
    "to_append",
    "to_create",
    "to_read",
    "to_write_anew",
]

NOT_PLAIN: Final = frozenset({errno.ELOOP, errno.ENXIO})
"""The error codes for a link, folder, pipe or device where a plain file was expected."""

_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_APPEND: Final = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


# -- raising OSError


def root_folder(path: str | os.PathLike[str]) -> int:
    """A folder that a person has named, to start from; it may be a link."""
    return os.open(path, _FOLDER)


def enter(parent: int, name: str) -> int:
    """The folder of this name in another one. Raises OSError; for a link or a non-folder with a code of
    ``os_errors.LINK``.
    """
    return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=parent)


def enter_made(parent: int, name: str, mode: int = 0o700) -> int:
    """The same, created if it is missing."""
    try:
        return enter(parent, name)
    except FileNotFoundError:
        with suppress(FileExistsError):
            os.mkdir(name, mode, dir_fd=parent)
        return enter(parent, name)


def to_read(name: str, parent: int | None = None) -> int:
    """A plain file. Raises OSError; for anything else with a code of ``NOT_PLAIN``."""
    return _plain(os.open(name, _READ, dir_fd=parent), name)


def to_append(name: str, parent: int | None = None) -> int:
    """A plain file for appending, reading or locking; created with mode 0600. Raises OSError as ``to_read`` does."""
    return _plain(os.open(name, _APPEND, 0o600, dir_fd=parent), name)


def to_create(name: str | os.PathLike[str], parent: int | None = None) -> int:
    """A new file with mode 0600, for writing. Raises FileExistsError, also for a dangling link."""
    return os.open(name, _CREATE | os.O_EXCL, 0o600, dir_fd=parent)


def to_write_anew(name: str | os.PathLike[str], parent: int | None = None) -> int:
    """A plain file for writing, truncated or created with mode 0600. Raises OSError as ``to_read`` does."""
    return _plain(os.open(name, _CREATE | os.O_TRUNC | os.O_NONBLOCK, 0o600, dir_fd=parent), name)


def _plain(descriptor: int, name: str | os.PathLike[str]) -> int:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.ENXIO, "it is not a plain file", os.fspath(name))
    return descriptor


# -- raising StoreError kinds


def open_append(path: str) -> int:
    """A descriptor for reading and appending; the file is created with mode 0600."""
    try:
        return to_append(path)
    except OSError as error:
        store_error(error, path)


def open_folder(path: str) -> int:
    """A descriptor of a folder."""
    try:
        return root_folder(path)
    except OSError as error:
        store_error(error, path)


def open_read(path: str) -> int | None:
    """A descriptor for reading, None when there is no such file."""
    try:
        return to_read(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        store_error(error, path)
