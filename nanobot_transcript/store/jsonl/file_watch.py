"""Waking up when a file of a folder changes: inotify where there is one, else polling."""

import asyncio
import contextlib
import ctypes
import logging
import os
import struct
import sys
from collections.abc import Iterator
from typing import Final
from weakref import WeakKeyDictionary

__all__ = ["FileChange", "changes"]

_NONBLOCK_CLOEXEC: Final = os.O_NONBLOCK | os.O_CLOEXEC
_MODIFY, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x2, 0x40, 0x80, 0x100, 0x200
_EVENT: Final = struct.Struct("iIII")
_POLL: Final = 0.02
_MISSING_POLL: Final = 0.25
"""Seconds between two looks while the folder does not exist: no conversation is going on then."""
_FALLBACK_POLL: Final = 1.0

logger = logging.getLogger(__name__)


class _Folder:
    """One inotify watch on a folder, shared by all followers on an event loop."""

    def __init__(self, path: str, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._listeners: dict[str, set[asyncio.Event]] = {}
        self._descriptor = _inotify(path)
        loop.add_reader(self._descriptor, self._read)

    @property
    def idle(self) -> bool:
        return not self._listeners

    def add(self, name: str, event: asyncio.Event) -> None:
        self._listeners.setdefault(name, set()).add(event)

    def remove(self, name: str, event: asyncio.Event) -> None:
        events = self._listeners[name]
        events.discard(event)
        if not events:
            del self._listeners[name]

    def close(self) -> None:
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, 65536)
        except BlockingIOError:
            return
        offset = 0
        while offset < len(data):
            _, mask, _, length = _EVENT.unpack_from(data, offset)
            offset += _EVENT.size
            name = data[offset : offset + length].rstrip(b"\0").decode("utf-8", "replace")
            offset += length
            # IN_Q_OVERFLOW (0x4000) has no name: events were lost, so wake every listener and let each look for itself.
            for event in self._events(None if mask & 0x4000 else name):
                event.set()

    def _events(self, name: str | None) -> Iterator[asyncio.Event]:
        if name is not None:
            return iter(tuple(self._listeners.get(name, ())))
        return iter([event for events in self._listeners.values() for event in events])


_folders: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Folder]]" = WeakKeyDictionary()


def _inotify(path: str) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor: int = libc.inotify_init1(_NONBLOCK_CLOEXEC)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "inotify_init1")
    mask = _MODIFY | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
    if libc.inotify_add_watch(descriptor, os.fsencode(path), mask) < 0:
        code = ctypes.get_errno()
        os.close(descriptor)
        raise OSError(code, os.strerror(code), path)
    return descriptor


class FileChange:
    """Ends a wait when the file may have changed; now and then also when it has not."""

    def __init__(self, *, noticed: bool, pause: float) -> None:
        self.noticed: Final = noticed
        """True when the operating system reports changes, False when we have to poll."""
        self._pause: Final = pause
        self.event = asyncio.Event()

    async def wait(self) -> None:
        """Until the next change, at most about a second."""
        # The limit sets the same event instead of cancelling the wait, so it cannot be mistaken for a cancellation.
        limit = asyncio.get_running_loop().call_later(self._pause, self.event.set)
        try:
            await self.event.wait()
        finally:
            limit.cancel()
        self.event.clear()


@contextlib.contextmanager
def changes(folder: str, name: str) -> Iterator[FileChange]:
    """Watch one file of a folder from the running event loop."""
    loop = asyncio.get_running_loop()
    watched = _watch(loop, folder)
    if watched is None:
        yield FileChange(noticed=False, pause=_POLL if os.path.isdir(folder) else _MISSING_POLL)
        return
    change = FileChange(noticed=True, pause=_FALLBACK_POLL)
    watched.add(name, change.event)
    try:
        yield change
    finally:
        watched.remove(name, change.event)
        if watched.idle:
            del _folders[loop][folder]
            watched.close()


def _watch(loop: asyncio.AbstractEventLoop, folder: str) -> _Folder | None:
    folders = _folders.setdefault(loop, {})
    if folder not in folders:
        if not sys.platform.startswith("linux"):
            return None
        try:
            folders[folder] = _Folder(folder, loop)
        except (OSError, NotImplementedError) as error:
            logger.debug("inotify does not work for %s (%s); polling instead", folder, error)
            return None
    return folders[folder]
