"""What runs in all threads while something is under way: which functions of which rooms, and how rooms are entered.

Functions are those with a name: a comprehension or a lambda is part of what it stands in, and what has no source file
(the ``__init__`` of a dataclass) does not count.

A room is *entered* when one of its functions is called from another room while none of its functions is on the stack.
Calls within the room do not count, nor does a coroutine that goes on after it has waited, nor further calls by the same
function of the other room: a function that asks for ten names in turn enters once. Reading a property is no entry: a
value is the same in every room. What the event loop, a pool of threads or a new thread begins has been called by
whoever handed it to them; what is called because a task has ended, by the task. What somebody else's code calls
(nanobot, a server, an SDK) has been called from "outside", and each function that it calls is an entry.

What also ran, with the same stack, while nothing was under way is background, and does not count.
"""

import asyncio
import dis
import inspect
import sys
import sysconfig
import threading
from asyncio.events import Handle
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import thread as pool
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Final, TypeAlias

__all__ = ["OUTSIDE", "Counting", "Way"]

OUTSIDE: Final = "outside"
_LIBRARY: Final = f"{sysconfig.get_path('stdlib')}/"
_ADDED: Final = ("/site-packages/", "/dist-packages/")
_HANDED_OVER: Final = {one.__init__.__code__ for one in (Handle, pool._WorkItem, threading.Thread)}
_TAKEN_OVER: Final = {Handle._run.__code__, pool._WorkItem.run.__code__, threading.Thread.run.__code__}
_RESUME: Final = dis.opmap["RESUME"]
_Caller: TypeAlias = tuple[str, CodeType]
"""A room and a function of it; where it is "outside", the function that was called."""
_AFTER_WAITING: Final = 3
"""These bits of the argument of RESUME are 0 where a function begins."""


@dataclass
class Way:
    """``functions`` by their rooms; ``entries``: from which room, into which one, and the function that calls."""

    functions: dict[str, set[CodeType]] = field(default_factory=dict)
    entries: set[tuple[str, str, CodeType]] = field(default_factory=set)

    def files(self, room: str) -> list[str]:
        """The paths of the room's files, sorted."""
        return sorted({code.co_filename for code in self.functions[room]})

    def entered(self, room: str) -> dict[str, int]:
        """From where the room was entered, and how often."""
        return dict(sorted(Counter(source for source, into, _ in self.entries if into == room).items()))


class Counting:
    """Looks at every call of the process. Only threads that start after ``begin`` are seen, and the one that calls it.

    ``room_of(path)`` tells the room of a source file, None for what does not count.
    """

    def __init__(self, room_of: Callable[[str], str | None]) -> None:
        self._room_of = room_of
        self._rooms: dict[CodeType, str | None] = {}
        self._background: set[tuple[CodeType, ...]] = set()
        self._handed_by: dict[int, tuple[object, _Caller]] = {}
        self._noted: Callable[[FrameType, str], None] | None = None

    def begin(self) -> None:
        """Look at this thread, and at all that start from now on."""
        threading.setprofile(self._hook)
        sys.setprofile(self._hook)

    def end(self) -> None:
        """Look no more."""
        sys.setprofile(None)
        threading.setprofile(None)
        self._noted = None

    @contextmanager
    def idle(self) -> Iterator[None]:
        """What runs meanwhile is background."""
        with self._noting(lambda frame, _: self._background.add(self._stack(frame))):
            yield

    @contextmanager
    def under_way(self, arrived: Callable[[], bool] = lambda: False) -> Iterator[Way]:
        """Count, until ``arrived()`` says that there is no more to count; it is asked before each call is counted."""
        way = Way()
        over = False

        def count(frame: FrameType, room: str) -> None:
            nonlocal over
            stack = self._stack(frame)
            if over or stack in self._background:
                return
            over = arrived()
            if over:
                return
            way.functions.setdefault(room, set()).add(frame.f_code)
            if _begins(frame) and not _is_property(frame) and all(self._room(code) != room for code in stack[1:]):
                source, function = self._caller(frame)
                if source != room:
                    way.entries.add((source, room, function))

        with self._noting(count):
            yield way

    @contextmanager
    def _noting(self, note: Callable[[FrameType, str], None]) -> Iterator[None]:
        self._handed_by.clear()
        self._noted = note
        try:
            yield
        finally:
            self._noted = None

    def _hook(self, frame: FrameType, event: str, _argument: object) -> None:
        note = self._noted
        if note is None or event != "call":
            return
        code = frame.f_code
        if code in _HANDED_OVER:
            handed = frame.f_locals["self"]
            self._handed_by[id(handed)] = (handed, self._caller(frame))  # kept, so that its id is not given again
            return
        room = self._room(code)
        if room is not None and not code.co_name.startswith("<"):
            note(frame, room)

    def _room(self, code: CodeType) -> str | None:
        if code not in self._rooms:
            self._rooms[code] = self._room_of(code.co_filename)
        return self._rooms[code]

    def _stack(self, frame: FrameType) -> tuple[CodeType, ...]:
        """Our functions on it, the innermost first, down to where the event loop or a thread began."""
        return tuple(each.f_code for each in _down(frame) if self._room(each.f_code) is not None)

    def _caller(self, frame: FrameType) -> _Caller:
        outside = (OUTSIDE, frame.f_code)
        for below in _down(frame.f_back):
            code = below.f_code
            if (room := self._room(code)) is not None:
                return room, code
            if code in _TAKEN_OVER:
                if frame.f_code in _HANDED_OVER and (ending := self._ending()) is not None:
                    return ending
                _, caller = self._handed_by.get(id(below.f_locals["self"]), (None, outside))
                return outside if caller[0] == OUTSIDE else caller
            if not _is_library(code.co_filename):
                return outside
        return outside

    def _ending(self) -> _Caller | None:
        """The task that comes to its end, where none of its functions is on the stack any more, if it is ours."""
        try:
            task = asyncio.current_task()
        except RuntimeError:
            return None
        coroutine = None if task is None else task.get_coro()
        code: CodeType | None = getattr(coroutine, "cr_code", None)
        if code is None or (room := self._room(code)) is None:
            return None
        return room, code


def _down(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        if frame.f_code in _TAKEN_OVER:
            return
        frame = frame.f_back


def _is_property(frame: FrameType) -> bool:
    """True for the function behind an attribute of an object."""
    holder, name = type(frame.f_locals.get("self")), frame.f_code.co_name
    return isinstance(inspect.getattr_static(holder, name, None), property)


def _begins(frame: FrameType) -> bool:
    """False for a coroutine or generator that goes on."""
    code = frame.f_code.co_code
    return code[frame.f_lasti] != _RESUME or not code[frame.f_lasti + 1] & _AFTER_WAITING


def _is_library(path: str) -> bool:
    return path.startswith((_LIBRARY, "<frozen")) and not any(part in path for part in _ADDED)
