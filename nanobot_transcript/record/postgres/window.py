"""The newest messages of a chat, kept in memory: asking again costs one round trip, even when there are new ones."""

import threading
from typing import Final

from nanobot_transcript.entry import Entry, RecentMessage
from nanobot_transcript.record.postgres.rows import END, ChatRows, Row
from nanobot_transcript.sql.postgres.engine import Connection
from nanobot_transcript.store.lines.codec import decode
from nanobot_transcript.store.lines.fold import joins_parts
from nanobot_transcript.store.lines.messages import LOOK_PAST, ShownMessages, brief
from nanobot_transcript.store.lines.ops import is_erasure_mark, is_op
from nanobot_transcript.store.lines.order import SLACK

__all__ = ["PostgresWindow"]

_NEWS: Final = 500
"""When there are more new lines than this, start over instead of adding them."""


class PostgresWindow:
    """A view of the end of one transcript. Threads share it."""

    def __init__(self, rows: ChatRows) -> None:
        self._rows: ChatRows = rows
        self._mutex: threading.Lock = threading.Lock()
        self._reset()

    def get_recent(self, connection: Connection, count: int) -> list[RecentMessage]:
        """The newest ``count`` messages as role, content and sender, oldest first."""
        with self._mutex:
            self._refresh(connection, count)
            return [brief(entry) for entry in self._messages.newest(count)]

    def recent(self, connection: Connection, count: int) -> tuple[list[Entry], int]:
        """The newest ``count`` entries, oldest first, and the number of the last line."""
        with self._mutex:
            self._refresh(connection, count)
            entries = [entry.copy() for entry in self._messages.newest(count)] if count > 0 else []
            return entries, self._seq

    def _reset(self) -> None:
        self._epoch: int = -1
        self._seq: int = 0
        self._depth: int = 0
        self._began_with: int = 0
        self._messages: ShownMessages = ShownMessages()

    def _refresh(self, connection: Connection, count: int) -> None:
        head, rows = self._rows.all_forward(connection, self._seq if self._epoch >= 0 else END, _NEWS)
        if head is None:
            self._reset()
        elif head.epoch != self._epoch or count + SLACK > self._depth or not self._extended(rows):
            self._rebuild(connection, count)

    def _extended(self, rows: list[Row]) -> bool:
        """Add what was appended since; False when it is better to start over."""
        if len(rows) >= _NEWS:
            return False
        epoch, self._epoch = self._epoch, -1  # if this fails half way, everything is read again
        for seq, line in rows:
            entry = decode(line)
            if entry is None:
                continue
            if is_erasure_mark(entry) or joins_parts(entry):
                return False
            self._messages.add((seq,), entry)
            self._seq = seq
        self._epoch = epoch
        return len(self._messages) <= self._began_with + 3 * self._depth

    def _rebuild(self, connection: Connection, count: int) -> None:
        depth = max(count, 0) + SLACK
        self._reset()
        read, upto, wanted, most = list[tuple[int, Entry]](), END, depth, depth + LOOK_PAST
        epoch = -1
        while True:
            page = max(wanted, SLACK) * 2
            head, rows = self._rows.all_backward(connection, upto, page)
            if head is None:
                return
            if epoch == -1:
                epoch, self._seq = head.epoch, rows[0][0] if rows else head.seq
            elif head.epoch != epoch:  # rewritten between two pages
                self._rebuild(connection, count)
                return
            entries = [(seq, entry) for seq, line in rows if (entry := decode(line)) is not None]
            read += entries
            wanted -= sum(_is_news(entry) for _, entry in entries)
            most -= len(rows)
            if len(rows) < page or ((wanted <= 0 or most <= 0) and self._take(read, depth) >= depth):
                break
            upto, wanted = rows[-1][0] - 1, max(wanted, depth - len(self._messages.newest(depth)), 1)
        self._take(read, depth)
        self._epoch, self._depth, self._began_with = epoch, depth, len(self._messages)

    def _take(self, read: list[tuple[int, Entry]], depth: int) -> int:
        """Put what was read backwards in order; returns how many messages there are to show, at most ``depth``."""
        self._messages = ShownMessages()
        # Ops first: that a message is only a part of another one must be known before it passes for a first copy.
        for seq, entry in sorted(read, key=lambda line: (not is_op(line[1]), line[0])):
            self._messages.add((seq,), entry)
        return len(self._messages.newest(depth))


def _is_news(entry: Entry) -> bool:
    """False for a message filled in from the platform's history, which may stand behind newer ones."""
    return not is_op(entry) and entry.get("source") != "history"
