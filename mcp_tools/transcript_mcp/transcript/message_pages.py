"""Pages through a chat in both directions: a stretch of messages, oldest first, with cursors to the next ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from itertools import accumulate
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import InvalidCursorError
from nanobot_transcript.store.contract import Page
from nanobot_transcript.store.front import GroupTranscriptStore
from nanobot_transcript.store.lines.order import SLACK
from nanobot_transcript.store.names import in_words
from transcript_mcp.transcript.positions import AtMessage, Position, position, said_at

__all__ = ["Stretch", "after", "before", "newest"]

_FIRST_LOOK: Final = 256
_FARTHER: Final = 4
_LOOK_PAST: Final = 2000
"""Messages from the platform's history, recorded late, that are skipped when looking for newer ones behind them."""
_HINT: Final = (
    "Give a cursor from an earlier answer, the id of a message in this chat, "
    "a time such as 2025-11-20T09:30+08:00, or an age such as 2h."
)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Messages, oldest first.

    ``older``: cursor to earlier messages, None at the beginning of the chat. ``newer``: cursor to later ones; without
    ``more`` it is the store's own cursor, behind which everything new will appear. ``behind``: the number of messages
    after the last one. ``since``: the store's cursor from which they were read. ``bounds``: for each message a cursor
    of the store behind everything that is shown before the message.
    """

    session_key: str
    entries: Sequence[Entry]
    older: str | None
    newer: str
    more: bool
    behind: int = 0
    since: str | None = None
    bounds: Sequence[str] = ()

    def newest(self, count: int) -> "Stretch":
        """The last ``count`` of them."""
        dropped = len(self.entries) - count
        if dropped <= 0:
            return self
        cut = replace(self, entries=self.entries[dropped:], bounds=self.bounds[dropped:])
        return replace(cut, older=cut._cursor_at(0))

    def oldest(self, count: int, store: GroupTranscriptStore) -> "Stretch":
        """The first ``count`` of them."""
        dropped = len(self.entries) - count
        if dropped <= 0:
            return self
        if self.since is not None:  # in the file's order, for which only the store can make a cursor
            newer = store.read(self.session_key, self.since, count).cursor
        else:
            newer = self._cursor_at(count - 1)
        return replace(self, entries=self.entries[:count], newer=newer, more=True, behind=self.behind + dropped)

    def _cursor_at(self, at: int) -> str:
        depth = self.behind + len(self.entries) - at
        bound = self.bounds[at] if self.bounds else None
        return AtMessage.of(self.entries[at], depth, bound).cursor(self.session_key)


def newest(store: GroupTranscriptStore, session_key: str, limit: int) -> Stretch:
    """The newest messages."""
    page = store.recent(session_key, limit + 1)
    return _stretch(session_key, page, max(0, len(page.entries) - limit), len(page.entries))


def before(store: GroupTranscriptStore, session_key: str, text: str, limit: int, where: tzinfo | None) -> Stretch:
    """The messages before a cursor, a message id, a time or an age. Raises InvalidCursorError."""
    place = position(session_key, text, where) or _at_message(store, session_key, text)
    if place is None:
        raise InvalidCursorError(f"{in_words(text)} is not a place to read backwards from.", hint=_HINT)
    if isinstance(place, AtMessage) and place.bound is not None:
        return _back(store, session_key, place, place.bound, limit)
    page, (end, _) = _around(store, session_key, place, limit + 1)
    return _stretch(session_key, page, max(0, end - limit), end)


def after(store: GroupTranscriptStore, session_key: str, text: str, limit: int, where: tzinfo | None) -> Stretch:
    """The messages after a cursor, a message id, a time or an age. Raises InvalidCursorError."""
    place = position(session_key, text, where)
    if place is None:
        try:
            return _since(store, session_key, text.strip(), limit)
        except InvalidCursorError as error:
            place = _at_message(store, session_key, text)
            if place is None:
                raise InvalidCursorError(f"{in_words(text)} is not a place to read on from.", hint=_HINT) from error
    page, (_, start) = _around(store, session_key, place, 0)
    return _stretch(session_key, page, start, min(start + limit, len(page.entries)))


def _back(store: GroupTranscriptStore, session_key: str, place: AtMessage, bound: str, limit: int) -> Stretch:
    """The messages shown before a place, read backwards from its bound, however far that takes."""
    chunks: list[tuple[str, list[Entry]]] = []
    needed, cursor, size = limit + SLACK, bound, limit + SLACK
    while True:
        page = store.read_back(session_key, cursor, size)
        chunks.append((cursor, page.entries))
        whole, cursor, size = len(page.entries) < size, page.cursor, 2 * size
        # Collected in the file's order, because the sort is stable: it decides between messages of the same moment.
        found = [(number, entry) for number, (_, part) in reversed(list(enumerate(chunks))) for entry in part]
        found.sort(key=lambda one: _order(one[1]))
        entries = [entry for _, entry in found]
        end = place.count_before(entries)
        news = sum(entry.get("source") != "history" for entry in entries[:end])
        if whole or news >= needed or len(entries) >= needed + _LOOK_PAST:
            break
    start = max(0, end - limit)
    earliest = list(accumulate((number for number, _ in found), min, initial=len(chunks) - 1))
    bounds = [chunks[earliest[at]][0] for at in range(start, end)]
    stretch = Stretch(session_key, entries[start:end], None, place.cursor(session_key), True, place.depth, None, bounds)
    if not stretch.entries:
        return stretch
    older = stretch._cursor_at(0) if start else None
    return replace(stretch, older=older, newer=stretch._cursor_at(len(stretch.entries) - 1))


def _order(entry: Entry) -> tuple[float, int]:
    position = entry.get("pos")
    return said_at(entry), position if type(position) is int else 0


def _since(store: GroupTranscriptStore, session_key: str, cursor: str, limit: int) -> Stretch:
    """The messages after a cursor of the store, in the order in which they were recorded."""
    page = store.read(session_key, cursor, limit)
    more = len(page.entries) == limit and bool(store.read(session_key, page.cursor, 1).entries)
    older = AtMessage.of(page.entries[0]).cursor(session_key) if page.entries else None
    return Stretch(session_key, page.entries, older, page.cursor, more, since=cursor)


def _at_message(store: GroupTranscriptStore, session_key: str, text: str) -> Position | None:
    entry = store.get(session_key, text.strip())
    return AtMessage.of(entry) if entry is not None else None


def _around(
    store: GroupTranscriptStore, session_key: str, place: Position, needed: int
) -> tuple[Page, tuple[int, int]]:
    """Enough of the newest messages to include the place and ``needed`` messages before it, if there are so many."""
    depth = max(_FIRST_LOOK, 2 * (place.depth + needed))
    while True:
        page = store.recent(session_key, depth)
        whole = len(page.entries) < depth
        found = place.find(page.entries, whole=whole)
        if found is not None and (whole or found[0] >= needed):
            return page, found
        depth *= _FARTHER


def _stretch(session_key: str, page: Page, start: int, end: int) -> Stretch:
    entries, behind = page.entries[start:end], len(page.entries) - end
    bounds = [page.cursor] * len(entries)
    stretch = Stretch(session_key, entries, None, page.cursor, more=behind > 0, behind=behind, bounds=bounds)
    if not entries:
        return stretch
    older = stretch._cursor_at(0) if start else None
    newer = stretch._cursor_at(len(entries) - 1) if behind else page.cursor
    return replace(stretch, older=older, newer=newer)
