"""Replaces the file of another program as a whole: by one process at a time, and never seen half written."""

import contextlib
import errno
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.files.descriptors import root_folder
from nanobot_transcript.files.lock import acquire
from nanobot_transcript.files.replace import write_whole

__all__ = ["Change", "change", "content"]

Change: TypeAlias = Callable[[bytes | None], bytes | None]
"""Makes a file's new content from the old one, None for no file. It may be called twice."""

_PATIENCE: Final = 10.0
"""Seconds to wait for another process of ours that changes files of the same folder."""

_LARGEST: Final = 16 * 1024 * 1024
_NEW_MODE: Final = 0o644
_NO_LOCKS: Final = frozenset({errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})


def content(path: Path) -> bytes | None:
    """What is in the file, None where there is none. Raises ConfigError for what is no plain file or far too large."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise ConfigError(f"{path} is not a plain file.", hint="Name another one, or move it away.")
        if found.st_size > _LARGEST:
            raise ConfigError(f"{path} is too large for a file of settings.", hint="Check what is in it.")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _failure(path, error) from error


def change(path: Path, to: Change) -> bool:
    """Make of the file what ``to`` says; False when that changes nothing.

    The file keeps its mode, and a link to a file that is kept elsewhere stays a link. Raises ConfigError, and what
    ``to`` raises; then the file is as it was.
    """
    try:
        path = path.resolve()
    except (OSError, RuntimeError) as error:
        raise _broken(path) from error
    try:
        if not path.parent.is_dir():
            if to(content(path)) is None:
                return False
            path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path):
            known = content(path)
            wanted = to(known)
            if wanted == known:
                return False
            _put(path, wanted)
            return True
    except OSError as error:
        raise _failure(path, error) from error


def _put(path: Path, wanted: bytes | None) -> None:
    if path.exists() and not path.stat().st_mode & stat.S_IWUSR:
        raise ConfigError(f"{path} is read-only.", hint="Allow it to be written with `chmod u+w`, then try again.")
    left = re.compile(re.escape(path.name) + r"\.\d+-\d+\.new")
    for beside in path.parent.iterdir():
        if left.fullmatch(beside.name):
            beside.unlink(missing_ok=True)  # left by a process that was killed: a living one would hold the lock
    if wanted is None:
        path.unlink()
        return
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else _NEW_MODE
    write_whole(str(path), wanted, sync=True, mode=mode)


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep our other processes out, by a lock on the folder: the file itself, and a lock on it, is replaced."""
    folder = root_folder(path.parent)
    try:
        if not _locked(folder):
            raise ConfigError(f"Another process is changing {path}.", hint="Try again in a moment.")
        yield
    finally:
        os.close(folder)


def _locked(folder: int) -> bool:
    try:
        return acquire(folder, _PATIENCE)
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return True  # a network drive without locks; there, one process at a time is the rule anyway
        raise


def _failure(path: Path, error: OSError) -> ConfigError:
    if error.errno == errno.ELOOP:
        return _broken(path)
    return ConfigError(f"{path} cannot be changed: {error.strerror}.", hint="Check who may write there.")


def _broken(path: Path) -> ConfigError:
    return ConfigError(f"{path} is a broken link.", hint="Correct the link.")
