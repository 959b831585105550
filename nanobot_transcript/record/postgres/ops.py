"""The edits, recalls and redactions of a chat, read once and then only the new ones."""

from typing import Final

from nanobot_transcript.record.postgres.rows import END, ChatRows
from nanobot_transcript.sql.postgres.engine import Connection
from nanobot_transcript.store.lines.codec import decode
from nanobot_transcript.store.lines.fold import Ops

__all__ = ["PostgresOps"]

_PAGE: Final = 5000


class PostgresOps:
    """What later lines say about the messages of a chat; remembers how far it has read. For one thread."""

    def __init__(self, rows: ChatRows) -> None:
        self._rows: ChatRows = rows
        self._forget(-1)

    def since(self, connection: Connection, seq: int) -> Ops:
        """The ops behind a line to the end, and perhaps earlier ones."""
        start = seq if self._from is None else min(seq, self._from)
        while not self._extend(connection, start):
            pass
        return self.found

    def _forget(self, epoch: int) -> None:
        self._from: int | None = None
        self._to: int = 0
        self._epoch: int = epoch
        self.found: Ops = Ops()

    def _extend(self, connection: Connection, start: int) -> bool:
        """False when everything has to be read again, because lines were rewritten or removed meanwhile."""
        if self._from is None:
            self._from = self._to = start
        elif start < self._from:
            if not self._scan(connection, start, self._from):
                return False
            self._from = start
        return self._scan(connection, self._to, END)

    def _scan(self, connection: Connection, after: int, upto: int) -> bool:
        while True:
            head, rows = self._rows.ops(connection, after, upto, _PAGE)
            if head is None:
                return True
            if head.epoch != self._epoch:
                known = self._epoch != -1
                self._epoch = head.epoch
                if known:
                    self._forget(head.epoch)
                    return False
            for seq, line in rows:
                if (entry := decode(line)) is not None:
                    self.found.note((seq,), entry)
            if rows:
                after = rows[-1][0]
            if upto == END:
                self._to = max(self._to, after if len(rows) == _PAGE else head.seq)
            if len(rows) < _PAGE:
                return True
