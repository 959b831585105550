"""Is the folder of a record there, private, writable, lockable, and does its clock agree?"""

import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from nanobot_transcript.coordination.clock import CLOCK_TOLERANCE
from nanobot_transcript.files.layout import STATE_FOLDER
from nanobot_transcript.findings import Finding

__all__ = ["check"]

_REMOTE: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs", "ceph"})
_EARLIEST: Final = 1_735_689_600  # 2025: a clock before that has not been set
_LISTED: Final = 3


def check(base: Path) -> list[Finding]:
    """Findings about the directory ``base``. Leaves nothing behind."""
    try:
        return _findings(base)
    except OSError as error:
        fix = "Give this user access, or set store.dir to another place."
        return [Finding("store", "error", f"{base} cannot be accessed: {error.strerror}.", fix)]


def _findings(base: Path) -> list[Finding]:
    if not base.exists():
        return [*_missing(base), *_clock(time.time())]
    if not base.is_dir():
        fix = "Move it away, or set store.dir to another place."
        return [Finding("store", "error", f"{base} is not a directory.", fix)]
    return [*_usable(base), *_permissions(base), *_file_system(base)]


def _missing(base: Path) -> Iterator[Finding]:
    """Create a directory where the store's would be, and remove it again."""
    parent = next(folder for folder in base.parents if folder.exists())
    try:
        tempfile.TemporaryDirectory(dir=parent, prefix=".doctor-").cleanup()
        yield Finding("store", "info", f"{base} does not exist yet; the first message creates it.")
    except OSError as error:
        fix = f"Make {parent} a directory that this user can write, or set store.dir to another place."
        message = f"{base} does not exist and cannot be created in {parent}: {error.strerror}."
        yield Finding("store", "error", message, fix)


def _usable(base: Path) -> Iterator[Finding]:
    """Write a file, lock it, and compare its time with this machine's."""
    try:
        with tempfile.NamedTemporaryFile(dir=base, prefix=".doctor-") as probe:
            probe.write(b"x")
            probe.flush()
            yield Finding("store", "ok", f"{base} can be written.")
            yield _lock(Path(probe.name))
            yield from _clock(os.fstat(probe.fileno()).st_mtime)
    except OSError as error:
        fix = f"Make {base} writable for this user, free some space, or set store.dir to another place."
        yield Finding("store", "error", f"{base} cannot be written: {error.strerror}.", fix)


def _lock(path: Path) -> Finding:
    fix = "Keep the store on a local disk (store.dir); locks of network file systems cannot be relied on."
    try:
        with path.open("rb") as first, path.open("rb") as second:
            fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
            try:
                fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return Finding("lock", "ok", "Locks between processes work.")
            return Finding("lock", "error", "Two processes can hold the same lock at once.", fix)
    except OSError as error:
        return Finding("lock", "error", f"Files cannot be locked: {error.strerror}.", fix)


def _clock(file_time: float) -> Iterator[Finding]:
    now = time.time()
    if now < _EARLIEST:
        yield Finding("clock", "error", "The clock of this machine is years behind.", "Set the clock (NTP).")
    elif abs(now - file_time) > CLOCK_TOLERANCE:
        message = f"The store's file system and this machine disagree by {abs(now - file_time):.0f} seconds."
        yield Finding("clock", "warning", message, "Set both clocks (NTP).")
    else:
        yield Finding("clock", "ok", "The clock is plausible.")


def _permissions(base: Path) -> Iterator[Finding]:
    open_to_others: list[Path] = []
    foreign: list[Path] = []
    for path in _own_files(base):
        try:
            found = path.lstat()
        except FileNotFoundError:  # a bot has just removed it
            continue
        if stat.S_ISLNK(found.st_mode):
            yield Finding("permissions", "error", f"{path} is a symbolic link.", "The store refuses links; remove it.")
        elif found.st_uid != os.getuid():
            foreign.append(path)
        elif stat.S_IMODE(found.st_mode) & 0o077:
            open_to_others.append(path)
    if open_to_others:
        fix = f"chmod -R go-rwx {base}"
        yield Finding("permissions", "warning", f"Others can read {_listed(open_to_others)}.", fix)
    if foreign:
        message = f"{_listed(foreign)} belongs to another user."
        yield Finding("permissions", "warning", message, "Run all bots as one user, or give each its own store.")
    if not (open_to_others or foreign):
        yield Finding("permissions", "ok", "Only this user can read the store.")


def _own_files(base: Path) -> Iterator[Path]:
    yield base
    yield from base.glob("*.jsonl")
    state = base / STATE_FOLDER
    if state.is_symlink():
        yield state
    elif state.is_dir():
        yield state
        yield from state.rglob("*")


def _file_system(base: Path) -> Iterator[Finding]:
    kind = _kind_of_file_system(base.resolve())
    if kind in _REMOTE:
        fix = "Keep the store on a local disk: a network file system may tear lines and lose locks."
        yield Finding("file system", "warning", f"{base} is on {kind}.", fix)


def _kind_of_file_system(path: Path) -> str:
    """The type of the file system that holds ``path``; "" when the system does not say."""
    best, kind = Path("/"), ""
    try:
        with closing(Path("/proc/self/mounts").open(encoding="utf-8", errors="replace")) as mounts:
            for line in mounts:
                point, this = Path(line.split()[1].replace("\\040", " ")), line.split()[2]
                if (path == point or point in path.parents) and len(point.parts) >= len(best.parts):
                    best, kind = point, this
    except OSError:
        return ""
    return kind


def _listed(paths: list[Path]) -> str:
    more = f" and {len(paths) - _LISTED} more" if len(paths) > _LISTED else ""
    return ", ".join(str(path) for path in paths[:_LISTED]) + more
