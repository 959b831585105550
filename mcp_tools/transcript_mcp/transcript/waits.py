"""Waits for news in a chat."""

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
"""Seconds of quiet after which new entries are returned, so that a burst comes as one answer."""

_CHANGED: Final = "Earlier messages that read differently now (`changed`) or were taken back (`recalled`):"

Tell = Callable[[float, float, str], Awaitable[None]]
"""Called now and then with the seconds waited, the seconds in total, and a sentence."""


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
    """The news after ``after`` (a cursor, message id, time or age; None: from now on), as soon as there are any.

    Edits and recalls of earlier messages count. If nothing comes within ``timeout`` seconds, the text says so. In any
    case it has the cursor to continue with. Raises InvalidCursorError and StoreError.
    """
    cursor = after if after is not None else await in_thread(view.store.end, session_key)
    waiting = _Waiting(timeout, tell, f"Nothing new in {in_words(session_key)} yet.", tell_every)
    while True:
        came = await in_thread(_read_new, view, session_key, cursor, limit, max_chars)
        if came.told.lines or came.changes:
            return "\n".join([*_told_changes(came.changes), page_text(came.told)])
        cursor = came.told.stretch.newer
        if not await waiting.for_any(view.store.follow(session_key, cursor), limit):
            chat, way_on = in_words(session_key), f"To keep waiting: transcript_wait with after={cursor}"
            return f"Nothing new in {chat} within {timeout:g} s.\n{way_on}"


class _NewEntries(NamedTuple):
    """New messages, and lines about changed earlier ones."""

    told: MessagePage
    changes: list[Line]


def _read_new(view: View, session_key: str, after: str, limit: int, max_chars: int) -> _NewEntries:
    told = page(view, session_key, limit=limit, max_chars=max_chars * 3 // 4, after=after)
    if told.stretch.since is None:  # edits and recalls can only be found from a cursor of the store
        return _NewEntries(told, [])
    # After the messages, so that what happens between the two reads is reported twice rather than never.
    changes = view.store.changes(session_key, told.stretch.since)
    new = {entry["message_id"] for entry in told.stretch.entries}
    edited = view.store.get_many(session_key, sorted(changes.edited - new)[:limit])
    lines = [{"changed": True, **view.line(entry)} for entry in edited.values()]
    lines += [{"id": shown_id(gone), "recalled": True, "text": ""} for gone in sorted(changes.hidden)[:limit]]
    return _NewEntries(told, fitting(lines, max_chars // 4))


def _told_changes(changes: Sequence[Line]) -> Iterator[str]:
    if changes:
        yield _CHANGED
        yield from map(encode, changes)


class _Waiting:
    """Waits for ``timeout`` seconds in total, and reports progress now and then."""

    def __init__(self, timeout: float, tell: Tell, sentence: str, every: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._timeout = timeout
        self._tell = tell
        self._sentence = sentence
        self._every = every

    async def for_any(self, entries: AsyncGenerator[Entry, None], most: int) -> bool:
        """True once entries came, followed by a moment of quiet or ``most`` in number; False when the time is over."""
        arrived = asyncio.Event()
        # In a task of its own: a timeout or a cancelled request must not interrupt the generator in the middle.
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
