"""Small values under any name, kept in sixteen files shared by all processes.

A value is found by the hash of its name, so a name may be anything. A change locks one file, reads it, and replaces it
as a whole: a process killed in between leaves the old file and a lock that the kernel frees. Expired values are removed
when their file is next written, so neither the files nor their number grow.
"""

import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypedDict

from nanobot_transcript.errors import StoreUnavailableError
from nanobot_transcript.files.document import StateFile
from nanobot_transcript.files.layout import Layout, make_folders
from nanobot_transcript.files.lock import exclusive

__all__ = ["Clock", "Drawer", "SharedFiles"]

Clock = Callable[[], float]
"""Seconds since 1970."""

_FARTHEST: Final = 10 * 366 * 86400.0
_LARGEST: Final = 2**62
_VERSION: Final = 1
_CROWD: Final = 500

logger = logging.getLogger(__name__)


class _Document(TypedDict, total=False):
    v: int
    last: int
    facts: dict[str, dict[str, Any]]


@dataclass(slots=True)
class Drawer:
    """The values of one file. ``last`` only grows. Every value has ``expires``, in seconds since 1970."""

    last: int = 0
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    changed: bool = False


class SharedFiles:
    """The folder ``.state/locks/<name>`` of a store.

    ``wait`` (seconds) bounds the wait for a lock that another process holds, normally for microseconds. ``grace`` is
    how long an expired value stays. ``clock`` replaces the clock of the file system.
    """

    def __init__(self, base_dir: str | Path, name: str, *, wait: float, grace: float, clock: Clock | None) -> None:
        self._base: Path = Path(base_dir).expanduser()
        self._folder: Path = Layout(self._base).locks / name
        self._name: str = name
        self._wait: float = wait
        self._grace: float = grace
        self._clock: Clock | None = clock

    def now(self, name: str) -> float:
        """The time by which values expire, in seconds since 1970, for a name that was looked up or is being
        changed.

        It is the file system's, the same for all: the clocks of two processes may be minutes apart.
        """
        if self._clock is not None:
            return self._clock()
        path = self._lock_path(_key(name))
        try:
            os.utime(path, follow_symlinks=False)
            return os.lstat(path).st_mtime
        except OSError:  # read-only
            return time.time()

    @contextmanager
    def change(self, name: str) -> Iterator[tuple[Drawer, str]]:
        """The drawer of ``name`` and its key there, locked; written back if ``changed`` is set.

        Raises StoreBusyError when the lock is not free in time, and other StoreError kinds when nothing was written.
        """
        key = _key(name)
        make_folders(self._base, self._folder)
        with exclusive(self._lock_path(key), self._wait, f"the {self._name}"):
            file = self._file(key)
            drawer = self._open(file)
            yield drawer, key
            if drawer.changed:
                file.write({"last": drawer.last, "facts": self._worth_keeping(drawer.facts, self.now(name))})

    def look(self, name: str) -> dict[str, Any] | None:
        """The value under a name, without a lock; creates nothing."""
        key = _key(name)
        return self._open(self._file(key)).facts.get(key)

    def _lock_path(self, key: str) -> str:
        return str(self._folder / f"{key[0]}.lock")

    def _file(self, key: str) -> StateFile:
        return StateFile(self._folder, f"{key[0]}.json", version=_VERSION, shape=_Document)

    def _open(self, file: StateFile) -> Drawer:
        snapshot = file.read()
        if snapshot.state == "newer":
            raise StoreUnavailableError(
                f"{file.path} was written by a newer version.", hint="Update this installation of nanobot-transcript."
            )
        if snapshot.state == "broken":
            logger.warning("%s cannot be read; starting it again", file.path)
        document = snapshot.document
        last = document.get("last", 0)
        return Drawer(last if 0 <= last < _LARGEST else 0, document.get("facts", {}))

    def _worth_keeping(self, facts: dict[str, dict[str, Any]], now: float) -> dict[str, dict[str, Any]]:
        oldest = now - (self._grace if len(facts) <= _CROWD else 0)
        return {key: fact for key, fact in facts.items() if oldest < _expires(fact) < now + _FARTHEST}


def _key(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _expires(fact: dict[str, Any]) -> float:
    value = fact.get("expires")
    return value if isinstance(value, int | float) else 0
