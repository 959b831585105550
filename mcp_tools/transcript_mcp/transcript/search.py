"""Searches for a text in one chat or in all, the most recently active first, with a limit on time."""

import time
from collections.abc import Callable, Iterator
from typing import Final

from nanobot_transcript.errors import StoreError
from nanobot_transcript.store.contract import Chat, Hit
from nanobot_transcript.store.names import in_words
from transcript_mcp.transcript.json_lines import NOTE, Line, count, encode
from transcript_mcp.transcript.reading import View
from transcript_mcp.transcript.size_limits import SHARE, shortened, within

__all__ = ["Search"]

_LEAD: Final = 60
"""Characters shown before a hit in a text that is too long to be shown from its beginning."""

_LISTED: Final = 5


class Search:
    """One search. Call ``go_on`` until it returns True or your time is over, then ``text``."""

    def __init__(
        self,
        view: View,
        query: str,
        session_key: str | None,
        limit: int,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._view = view
        self._query = query
        self._one = session_key
        self._limit = limit
        self._clock = clock
        self._waiting: Iterator[Chat] | None = None
        self._hits: list[Hit] = []
        self._unreadable: list[str] = []
        self.looked = 0
        self.total = 1
        self.done = False

    def go_on(self, seconds: float) -> bool:
        """Search for about so many seconds; True when everything was searched. For one chat, raises StoreError."""
        if self._one is not None:
            self._hits = self._view.store.search(self._query, self._one, self._limit)
            self.looked, self.done = 1, True
            return True
        end = self._clock() + seconds
        for chat in self._chats():
            if self._has_all_before(chat):
                break
            self._look_into(chat)
            if self._clock() >= end:
                return False
        self.done = True
        return True

    def text(self, max_chars: int) -> str:
        """The hits, the newest first, and remarks on what was not searched."""
        lines = within((self._line(hit, max_chars // SHARE) for hit in self._hits), max_chars)
        query = encode(self._query[:_LEAD])
        where = f" in {in_words(self._one)}" if self._one is not None else ""
        head = f"Messages that contain {query}{where}, newest first. {NOTE}"
        if not lines:
            head = f"Nothing found that contains {query}{where}. The text must match exactly, upper and lower case too."
        return "\n".join([head, *map(encode, lines), *self._remarks(len(lines))])

    def _chats(self) -> Iterator[Chat]:
        if self._waiting is None:
            chats = sorted(self._view.store.chats(), key=lambda chat: -chat.last_write_ms)
            self.total = len(chats)
            self._waiting = iter(chats)
        return self._waiting

    def _has_all_before(self, chat: Chat) -> bool:
        """True when this chat and the following ones can only have messages older than all hits so far."""
        return len(self._hits) >= self._limit and chat.last_write_ms < self._hits[-1].entry["ts"]

    def _look_into(self, chat: Chat) -> None:
        self.looked += 1
        try:
            self._hits += self._view.store.search(self._query, chat.session_key, self._limit)
        except StoreError:
            self._unreadable.append(chat.session_key)
        self._hits.sort(key=lambda hit: hit.entry["ts"], reverse=True)
        del self._hits[self._limit :]

    def _line(self, hit: Hit, limit: int) -> Line:
        """The message; of a long one the part with the hit."""
        line = self._view.line(hit.entry, chat=hit.session_key if self._one is None else None)
        short = shortened(line, limit)
        if "more" not in short or self._query in short["text"]:
            return short
        offset = max(0, line["text"].find(self._query) - _LEAD)
        return {"offset": offset, **shortened(line, limit, offset=offset)}

    def _remarks(self, shown: int) -> Iterator[str]:
        if shown:
            yield "To read what was said around one: transcript_recent with before or after set to its id."
        if shown < len(self._hits):
            yield f"{len(self._hits) - shown:,} more did not fit; search for something rarer, or in one chat."
        if self._unreadable:
            named = ", ".join(in_words(key) for key in self._unreadable[:_LISTED])
            yield f"{count(len(self._unreadable), 'chat')} could not be read, among them {named}."
        if not self.done:
            yield f"Searched {self.looked:,} of {self.total:,} chats so far; use session_key to search a single one."
