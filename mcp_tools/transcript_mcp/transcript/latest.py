"""The messages of several chats since some time, the newest first, and not more than so many of all together."""

import heapq
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from nanobot_transcript.entry import Entry
from nanobot_transcript.store.contract import Chat
from transcript_mcp.transcript.positions import said

if TYPE_CHECKING:
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["Latest"]

_PAGE: Final = 1000


class _Rest(NamedTuple):
    """What of a chat was not read yet: it is older than ``-newest`` (milliseconds), and stands before ``cursor``."""

    newest: float
    chat: str
    cursor: str | None


class Latest:
    """Iterated once. A chat is read on as long as no other one has anything newer, so that what is left out is older
    than ``whole_since``.
    """

    def __init__(self, store: "GroupTranscriptStore", chats: Iterable[Chat], since_ms: float, most: int) -> None:
        self._store = store
        self._since = since_ms
        self._most = most
        self._rests = [_Rest(-chat.last_write_ms, chat.session_key, None) for chat in chats]
        heapq.heapify(self._rests)
        self.read = 0
        """Messages that were looked at."""

    @property
    def whole_since(self) -> float | None:
        """From which time on nothing is left out (milliseconds); None where that is all that was asked for."""
        return -self._rests[0].newest if self._rests else None

    def __iter__(self) -> Iterator[tuple[str, Entry]]:
        """Messages with the session keys of their chats."""
        while self._rests and self.read < self._most:
            rest = heapq.heappop(self._rests)
            page = self._store.read_back(rest.chat, rest.cursor, _PAGE)
            self.read += len(page.entries)
            for entry in page.entries:
                if said(entry) >= self._since:
                    yield rest.chat, entry
            # What was fetched later may stand behind what is newer: a page that is older as a whole ends the chat.
            if len(page.entries) == _PAGE and max(map(said, page.entries)) >= self._since:
                heapq.heappush(self._rests, _Rest(-said(page.entries[0]), rest.chat, page.cursor))
