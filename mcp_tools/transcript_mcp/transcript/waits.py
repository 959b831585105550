"""Waiting until something is new in a chat."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from typing import Final, NamedTuple

from nanobot_transcript.entry import Entry
from nanobot_transcript.store.names import in_words
from nanobot_transcript.threads import in_thread
from transcript_mcp.transcript.json_lines import Line, encode, shown_id
from transcript_mcp.transcript.reading import MessagePage, View, page, page_text
from transcript_mcp.transcript.size_limits import fitting

__all__ = ["LONGEST_WAIT", "Tell", "news"]

LONGEST_WAIT: Final = 300.0

_TELL_EVERY: Final = 10.0
_QUIET: Final = 0.05
"""Seconds without another entry after which what came is handed over."""

_CHANGED: Final = "Earlier messages that read differently now (`changed`) or were taken back (`recalled`):"

Tell = Callable[[float, float, str], Awaitable[None]]
"""Called now and then with the seconds waited, the seconds there are, and a sentence."""


async def news(
    view: View,
    session_key: str,
    *,
    after: str | None,
    timeout: float,  # noqa: ASYNC109 - nothing came is an answer, and not an error
    limit: int,
    max_chars: int,
    tell: Tell,
    tell_every: float = _TELL_EVERY,
) -> str:
    """What came behind ``after`` (a cursor, message id, time or age; None: from now on), as soon as there is something.

    Edits and recalls of earlier messages are news, too. When nothing comes within ``timeout`` seconds, a text says so.
    Either text has the cursor to wait on from. Raises InvalidCursorError and StoreError kinds.
    """
    cursor = after if after is not None else await in_thread(view.store.end, session_key)
    waiting = _Waiting(timeout, tell, f"Nothing new in {in_words(session_key)} yet.", tell_every)
    while True:
        came = await in_thread(_came, view, session_key, cursor, limit, max_chars)
        if came.told.lines or came.changes:
            return "\n".join([*_told_changes(came.changes), page_text(came.told)])
        cursor = came.told.stretch.newer
        if not await waiting.for_any(view.store.follow(session_key, cursor), limit):
            chat, way_on = in_words(session_key), f"To keep waiting: transcript_wait with after={cursor}"
            return f"Nothing new in {chat} within {timeout:g} s.\n{way_on}"


class _Came(NamedTuple):
    """What stands behind a place: messages, and lines about earlier ones."""

    told: MessagePage
    changes: list[Line]


def _came(view: View, session_key: str, after: str, limit: int, max_chars: int) -> _Came:
    told = page(view, session_key, limit=limit, max_chars=max_chars * 3 // 4, after=after)
    if told.stretch.since is None:  # a place at a message or a time, which is no place among edits and recalls
        return _Came(told, [])
    # Asked for after the messages, so that what happens in between is told twice rather than never.
    changes = view.store.changes(session_key, told.stretch.since)
    new = {entry["message_id"] for entry in told.stretch.entries}
    edited = view.store.get_many(session_key, sorted(changes.edited - new)[:limit])
    lines = [{"changed": True, **view.line(entry)} for entry in edited.values()]
    lines += [{"id": shown_id(gone), "recalled": True, "text": ""} for gone in sorted(changes.hidden)[:limit]]
    return _Came(told, fitting(lines, max_chars // 4))


def _told_changes(changes: Sequence[Line]) -> Iterator[str]:
    if changes:
        yield _CHANGED
        yield from map(encode, changes)


class _Waiting:
    """Waits, all in all for ``timeout`` seconds, and tells now and then that it still does."""

    def __init__(self, timeout: float, tell: Tell, sentence: str, every: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._timeout = timeout
        self._tell = tell
        self._sentence = sentence
        self._every = every

    async def for_any(self, entries: AsyncGenerator[Entry, None], most: int) -> bool:
        """True when entries came and, for a moment, no more did, or ``most`` came; False when the time is over."""
        arrived = asyncio.Event()
        # A task of its own: a time limit or a cancelled request must not break off the reading in the middle.
        reading = self._loop.create_task(_read(entries, arrived, most))
        reading.add_done_callback(lambda _: arrived.set())
        try:
            while await _nothing(arrived, max(0.0, min(self._left(), self._every))):
                if self._left() <= 0:
                    return False
                await self._tell(self._timeout - self._left(), self._timeout, self._sentence)
            while not reading.done() and not await _nothing(arrived, _QUIET):
                continue
            if reading.done():
                reading.result()
            return True
        finally:
            reading.cancel()

    def _left(self) -> float:
        return self._timeout - (self._loop.time() - self._began)


async def _read(entries: AsyncGenerator[Entry, None], arrived: asyncio.Event, most: int) -> None:
    count = 0
    async with aclosing(entries) as following:
        async for _ in following:
            arrived.set()
            count += 1
            if count >= most:
                return


async def _nothing(arrived: asyncio.Event, seconds: float) -> bool:
    """True when nothing arrives within so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await arrived.wait()
    except TimeoutError:
        return True
    arrived.clear()
    return False
