"""Signals through files: telling touches a file; listeners look at the times of a few files several times a second.

Data in files of their own also count as ``sources``: their times show a change even when a process was killed before it
could signal, or does not know of signals.
"""

import asyncio
import hashlib
import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple

from nanobot_transcript.coordination.contract import Ear
from nanobot_transcript.errors import StoreError
from nanobot_transcript.files.descriptors import to_append
from nanobot_transcript.files.layout import STATE_FOLDER, make_folders

__all__ = ["FileSignals", "Watched"]

logger = logging.getLogger(__name__)

_LOOK_EVERY: Final = 0.2
_TICK_NS: Final = 50_000_000
"""File times advance in ticks of the kernel: two changes within one tick look like one."""


class Watched(NamedTuple):
    """A file in a folder, or with a ``*`` in ``pattern`` all files whose names match it (``fnmatch``)."""

    folder: Path
    pattern: str


class FileSignals:
    """``Signals`` in the folder ``.state/signals`` of a record; each name has a file named by its hash."""

    def __init__(
        self,
        base_dir: str | Path,
        sources: Mapping[str, Sequence[Watched]] | None = None,
        *,
        every: float = _LOOK_EVERY,
    ) -> None:
        """``every`` (seconds) is how long other processes' signals may take."""
        self._base: Path = Path(base_dir).expanduser()
        self._folder: Path = self._base / STATE_FOLDER / "signals"
        self._sources: Mapping[str, Sequence[Watched]] = sources or {}
        self._every: float = every
        self._ears: set[_Ear] = set()
        self._mutex: threading.Lock = threading.Lock()

    @contextmanager
    def listen(self, *names: str) -> Iterator[Ear]:
        """See ``Signals.listen``."""
        ear = _Ear(self, names, self._every)
        with self._mutex:
            self._ears.add(ear)
        try:
            yield ear
        finally:
            with self._mutex:
                self._ears.discard(ear)

    def tell(self, name: str) -> None:
        """See ``Signals.tell``."""
        with self._mutex:
            ears = [ear for ear in self._ears if name in ear.names]
        self._touch(name)
        for ear in ears:
            ear.told_here(name)

    def look(self, name: str) -> "list[_Stamp]":
        """The state of a name's files now; it differs when the name was told, or its sources have changed."""
        sources = [Watched(self._folder, self._path(name).name), *self._sources.get(name, ())]
        return [stamp for source in sources for stamp in _stamps(source)]

    def _touch(self, name: str) -> None:
        path = self._path(name)
        try:
            os.utime(path, follow_symlinks=False)
        except FileNotFoundError:
            self._make(path)
        except OSError as error:
            logger.debug("%s was not notified: %s", name, error)

    def _make(self, path: Path) -> None:
        try:
            make_folders(self._base, self._folder)
            os.close(to_append(str(path)))
        except (OSError, StoreError) as error:  # listeners look again after a while anyway
            logger.debug("%s cannot be created: %s", path, error)

    def _path(self, name: str) -> Path:
        return self._folder / hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class _Ear:
    def __init__(self, signals: FileSignals, names: Iterable[str], every: float) -> None:
        self.names: frozenset[str] = frozenset(names)
        self._signals: FileSignals = signals
        self._every: float = every
        self._loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self._here: set[str] = set()
        self._doubtful: set[str] = set()
        """Names whose files were written just now: the next change may have the same time."""
        self._woken: asyncio.Event = asyncio.Event()
        self._seen: dict[str, list[_Stamp]] = {}
        self._notice(*self._look())

    async def wait(self, timeout: float) -> frozenset[str]:  # noqa: ASYNC109 - its end is no error
        """See ``Ear.wait``."""
        end = self._loop.time() + timeout
        told = self._notice(*await asyncio.to_thread(self._look))
        while not told and (left := end - self._loop.time()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(self._every, left)):
                    await self._woken.wait()
            looked = await asyncio.to_thread(self._look)
            doubtful, self._doubtful = self._doubtful, set()
            told = doubtful | self._notice(*looked)
        return frozenset(told)

    def told_here(self, name: str) -> None:
        """This process tells it, from any thread."""
        with suppress(RuntimeError):  # the loop is closed: nobody is waiting
            self._loop.call_soon_threadsafe(self._wake, name)

    def _wake(self, name: str) -> None:
        self._here.add(name)
        self._woken.set()

    def _look(self) -> "tuple[int, dict[str, list[_Stamp]]]":
        """When it looked (ns), and what it saw."""
        return time.time_ns(), {name: self._signals.look(name) for name in self.names}

    def _notice(self, looked: int, found: "dict[str, list[_Stamp]]") -> set[str]:
        """The names that were told here, or have changed since the last look."""
        told = self._here | {name for name, stamps in found.items() if stamps != self._seen.get(name)}
        self._here = set()
        self._woken.clear()
        self._seen = found
        young, now = looked - _TICK_NS, looked + _TICK_NS  # a time in the future proves nothing
        fresh = {name for name, stamps in found.items() if any(young < stamp.written <= now for stamp in stamps)}
        self._doubtful |= fresh
        return told


class _Stamp(NamedTuple):
    name: str
    written: int
    size: int
    inode: int


def _stamps(source: Watched) -> list[_Stamp]:
    if "*" not in source.pattern:
        try:
            found = os.lstat(source.folder / source.pattern)
        except OSError:
            return []
        return [_Stamp(source.pattern, found.st_mtime_ns, found.st_size, found.st_ino)]
    return sorted(_matching(source))


def _matching(source: Watched) -> Iterator[_Stamp]:
    try:
        with os.scandir(source.folder) as entries:
            for entry in entries:
                if fnmatchcase(entry.name, source.pattern):
                    with suppress(FileNotFoundError):
                        found = entry.stat(follow_symlinks=False)
                        yield _Stamp(entry.name, found.st_mtime_ns, found.st_size, found.st_ino)
    except OSError:
        return
