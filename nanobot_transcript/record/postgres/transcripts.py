"""The store backend over PostgreSQL: transcripts of processes on many machines."""

import logging
import threading
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar, cast

from nanobot_transcript.entry import Entry, RecentMessage
from nanobot_transcript.errors import ConfigError
from nanobot_transcript.record.postgres import reading
from nanobot_transcript.record.postgres.bulk import PostgresBulk, Then
from nanobot_transcript.record.postgres.cursors import format_cursor, parse_cursor
from nanobot_transcript.record.postgres.erasure import Erasure
from nanobot_transcript.record.postgres.ops import OpLog
from nanobot_transcript.record.postgres.rows import Rows, id_of
from nanobot_transcript.record.postgres.schema import RECORD
from nanobot_transcript.record.postgres.window import Window
from nanobot_transcript.sql.postgres.engine import Connection, Engine
from nanobot_transcript.store.contract import Changes, Chat, Hit, MaintenanceReport, Page, Retention, VerifyReport
from nanobot_transcript.store.lines.codec import decode, encode
from nanobot_transcript.store.lines.fold import HIDING, OVERHEARD, is_op, upgrade
from nanobot_transcript.store.lines.ids import EDIT_SENT, hidden_key, id_keys, ids_of, is_sent
from nanobot_transcript.store.lines.messages import brief
from nanobot_transcript.store.lines.order import moment_of

__all__ = ["DEFAULT_SEGMENT_BYTES", "PostgresTranscripts"]

_T = TypeVar("_T")

DEFAULT_SEGMENT_BYTES: Final = 64 << 20
_OPEN_CHATS: Final = 256
_KEPT_READY: Final = 1000
"""Who asks for more messages than this is not given them from memory, and they are not kept there."""
_APPEND: Final = "SELECT nanobot.append(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
_CHATS: Final = "SELECT name, bytes, last_ms FROM nanobot.chats WHERE bytes > 0"
_PURGED: Final = "SELECT purged FROM nanobot.chats WHERE tag = %s"

logger = logging.getLogger(__name__)


class _Chat:
    """What this process knows of one transcript."""

    def __init__(self, rows: Rows) -> None:
        self.rows: Final = rows
        self.window: Final = Window(rows)
        self.ops: Final = OpLog(rows)
        self.reading: threading.Lock = threading.Lock()


class PostgresTranscripts:
    """``StoreBackend`` in a database. ``lock_timeout`` bounds (seconds) the wait for another writer of the chat."""

    def __init__(
        self, engine: Engine, *, segment_bytes: int = DEFAULT_SEGMENT_BYTES, lock_timeout: float = 2.0
    ) -> None:
        if segment_bytes < 1:
            raise ConfigError(f"A segment of {segment_bytes} bytes is too small.", hint="The usual size is 64 MiB.")
        self._engine: Engine = engine
        self._segment_bytes: int = segment_bytes
        self._lock_timeout: float = lock_timeout
        self._chats: OrderedDict[str, _Chat] = OrderedDict()
        self._guard: threading.Lock = threading.Lock()
        self._conflicts: set[str] = set()

    @property
    def place(self) -> str:
        """The database, for a person."""
        return self._engine.place.name

    @property
    def blocking(self) -> bool:
        """True: it waits for the network."""
        return True

    # -- writing

    def append(self, session_key: str, entry: Entry, max_wait: float | None = None) -> bool:
        return self._append(session_key, [entry], max_wait)[0]

    def apply(self, session_key: str, op: Entry, max_wait: float | None = None) -> bool:
        return self._append(session_key, [op], max_wait)[0]

    def write_many(self, session_key: str, lines: Sequence[Entry], then: Then | None = None) -> list[bool]:
        """Record messages and ops in this order, as one transaction; True for each that was new. What was written
        before is not written again, so that a batch of which nobody knows whether it arrived may be given again.

        ``then`` is done in the same transaction.
        """
        if then is None:
            return self._append(session_key, lines, None)
        rows, barring = self._chat(session_key).rows, [self._barring(session_key, line) for line in lines]

        def work(connection: Connection) -> list[Entry | None]:
            with connection.transaction():
                known = self._call(connection, session_key, lines, barring, None)
                edits = self._edits(session_key, lines, known)
                if edits:
                    self._call(connection, session_key, edits, [self._barring(session_key, one) for one in edits], None)
                head = rows.head(connection)
                then(connection, format_cursor(rows.tag, head.seq if head is not None else 0))
                return known

        return [found is None for found in self._engine.write(RECORD, work)]

    def in_bulk(self) -> PostgresBulk:
        """The same transcripts for who carries them as a whole."""
        return PostgresBulk(self._engine, self._segment_bytes)

    def _append(self, session_key: str, lines: Sequence[Entry], max_wait: float | None) -> list[bool]:
        barring = [self._barring(session_key, line) for line in lines]
        known = self._written(session_key, lines, barring, max_wait)
        edits = self._edits(session_key, lines, known)
        if edits:
            self._written(session_key, edits, [self._barring(session_key, edit) for edit in edits], max_wait)
        return [found is None for found in known]

    def _barring(self, session_key: str, line: Entry) -> list[str]:
        """The keys under one of which something must stand already for the line not to be written."""
        op = line.get("op")
        if op is None:
            return ids_of(line)
        target = cast("str", line.get("target"))
        if op in HIDING:
            return [hidden_key(target)] if target else []
        about = self._message_with(session_key, target)
        ids = [target, *(ids_of(about) if about is not None else [])]
        barring = [hidden_key(known) for known in dict.fromkeys(ids)]
        return [*barring, EDIT_SENT + target] if is_sent(line) else barring

    def _written(
        self, session_key: str, lines: Sequence[Entry], barring: list[list[str]], max_wait: float | None
    ) -> list[Entry | None]:
        """What stood there already for each of the lines; None for those that were written."""
        return self._engine.write(
            RECORD, lambda connection: self._call(connection, session_key, lines, barring, max_wait)
        )

    def _call(
        self,
        connection: Connection,
        session_key: str,
        lines: Sequence[Entry],
        barring: list[list[str]],
        max_wait: float | None,
    ) -> list[Entry | None]:
        place, rows = self._engine.place, self._chat(session_key).rows
        keys = [id_keys(line) for line in lines]
        wait = self._lock_timeout if max_wait is None else max_wait
        bound = (
            rows.tag,
            session_key.encode("utf-8", "surrogatepass"),
            [place.channel("chat", rows.tag), place.channel("signal", "messages")],
            [encode(line)[:-1] for line in lines],
            [is_op(line) for line in lines],
            *_flat(keys),
            *_flat(barring),
            self._segment_bytes,
            max(1, int(wait * 1000)),
        )
        row = connection.execute(place.sql(_APPEND), bound).fetchone()
        return [None if line is None else decode(line) for line in row[0]] if row is not None else []

    def _edits(self, session_key: str, lines: Sequence[Entry], known: Sequence[Entry | None]) -> list[Entry]:
        met = zip(lines, known, strict=True)
        return [edit for line, found in met if (edit := self._met(session_key, line, found))]

    def _met(self, session_key: str, entry: Entry, known: Entry | None) -> Entry | None:
        """The edit that has to be written, because what was met there already has less than this line."""
        if known is None or is_op(entry) or is_op(known):
            return None
        edit = upgrade(known, entry)
        if edit is None and (known["role"], known["sender"]) != (entry["role"], entry["sender"]):
            self._say_conflict(session_key, known, entry)
        return edit

    def _say_conflict(self, session_key: str, known: Entry, entry: Entry) -> None:
        """Once per chat: two platforms or a broken sender use the same ids. What a peer overheard is no conflict."""
        overheard = entry.get("source") in OVERHEARD or known.get("source") in OVERHEARD
        if overheard or session_key in self._conflicts:
            return
        self._conflicts.add(session_key)
        logger.warning(
            "%s: message %s was recorded from %s and came again from %s; the first one stays",
            session_key,
            entry["message_id"],
            known["sender"],
            entry["sender"],
        )

    def _message_with(self, session_key: str, message_id: str) -> Entry | None:
        rows = self._chat(session_key).rows
        found = self._read(lambda connection: rows.with_ids(connection, [message_id]), {})
        entry = decode(found[message_id][1]) if message_id in found else None
        return entry if entry is not None and not is_op(entry) else None

    # -- reading

    def get_recent(self, session_key: str, max_messages: int) -> list[RecentMessage]:
        if max_messages <= 0:
            return []
        if max_messages > _KEPT_READY:
            return [brief(entry) for entry in self.recent(session_key, max_messages).entries]
        window = self._chat(session_key).window
        return self._read(lambda connection: window.get_recent(connection, max_messages), [])

    def recent(self, session_key: str, limit: int) -> Page:
        chat = self._chat(session_key)
        window = chat.window if limit <= _KEPT_READY else Window(chat.rows)
        entries, seq = self._read(lambda connection: window.recent(connection, limit), ([], 0))
        return Page(entries, format_cursor(chat.rows.tag, seq))

    def read(self, session_key: str, after: str | None, limit: int) -> Page:
        chat = self._chat(session_key)
        place = 0 if after is None else parse_cursor(chat.rows.tag, after)
        return self._paged(chat, lambda connection: reading.read(connection, chat.rows, chat.ops, place, limit), place)

    def read_back(self, session_key: str, before: str | None, limit: int) -> Page:
        chat = self._chat(session_key)
        place = None if before is None else parse_cursor(chat.rows.tag, before)

        def back(connection: Connection) -> tuple[list[Entry], int]:
            return reading.read_back(connection, chat.rows, chat.ops, place, limit)

        return self._paged(chat, back, place or 0)

    def end(self, session_key: str) -> str:
        rows = self._chat(session_key).rows
        head = self._read(rows.head, None)
        return format_cursor(rows.tag, head.seq if head is not None else 0)

    def follow(self, session_key: str, after: str | None) -> AsyncGenerator[Entry, None]:
        from nanobot_transcript.record.postgres.follow import follow  # brings asyncio

        return follow(self._engine, self._chat(session_key).rows, after)

    def get(self, session_key: str, message_id: str) -> Entry | None:
        return self.get_many(session_key, [message_id]).get(message_id)

    def get_many(self, session_key: str, message_ids: Iterable[str]) -> dict[str, Entry]:
        chat, wanted = self._chat(session_key), list(message_ids)
        with chat.reading:
            return self._read(lambda connection: reading.messages(connection, chat.rows, chat.ops, wanted), {})

    def changes(self, session_key: str, after: str) -> Changes:
        rows = self._chat(session_key).rows
        place = parse_cursor(rows.tag, after)
        return self._read(lambda connection: reading.changes(connection, rows, place), Changes())

    def search(self, query: str, session_key: str | None, limit: int) -> list[Hit]:
        if session_key is not None:
            keys = [session_key]
        else:
            place = self._engine.place
            keys = self._read(lambda connection: reading.chats_with(connection, place, query), [])
        hits: list[Hit] = []
        for key in keys:
            chat = self._chat(key)
            ops = OpLog(chat.rows)  # a long search must not hold up the reads of others

            def look(connection: Connection, chat: _Chat = chat, ops: OpLog = ops) -> list[Hit]:
                return reading.search(connection, chat.rows, ops, query, limit)

            hits += self._read(look, [])
        hits.sort(key=lambda hit: moment_of(hit.entry) or 0, reverse=True)
        return hits[:limit]

    def chats(self) -> list[Chat]:
        statement = self._engine.place.sql(_CHATS)
        rows = self._read(lambda connection: connection.execute(statement).fetchall(), [])
        return sorted(Chat(name.decode("utf-8", "surrogatepass"), size, int(last)) for name, size, last in rows)

    def scan(self, session_key: str) -> Iterator[Entry]:
        cursor: str | None = None
        while True:
            page = self.read(session_key, cursor, _KEPT_READY)
            yield from page.entries
            if len(page.entries) < _KEPT_READY:
                return
            cursor = page.cursor

    # -- maintenance

    def purge(
        self, session_key: str | None, *, senders: frozenset[str], before_ms: float | None
    ) -> list[MaintenanceReport]:
        wanted = [session_key] if session_key is not None else [chat.session_key for chat in self.chats()]
        return Erasure(self._engine).purge([self._chat(key).rows for key in wanted], senders, before_ms)

    def purged_at(self, session_key: str) -> float:
        statement, tag = self._engine.place.sql(_PURGED), self._chat(session_key).rows.tag
        row = self._read(lambda connection: connection.execute(statement, (tag,)).fetchone(), None)
        return row[0] if row is not None else 0

    def maintain(self, session_keys: Sequence[str] | None, retention: Retention) -> list[MaintenanceReport]:
        erasure = Erasure(self._engine)
        wanted = session_keys if session_keys is not None else erasure.due(retention)
        return erasure.maintain([self._chat(key).rows for key in wanted], retention)

    def verify(self, session_key: str) -> VerifyReport:
        rows = self._chat(session_key).rows
        report = VerifyReport(session_key)
        self._read(lambda connection: reading.verify(connection, self._engine.place, rows, report), None)
        return report

    def close(self) -> None:
        with self._guard:
            self._chats.clear()

    def after_fork(self) -> None:
        """In a forked child: another thread of the parent may have held a lock."""
        self._guard = threading.Lock()
        self._chats.clear()

    def _paged(self, chat: _Chat, read: Callable[[Connection], tuple[list[Entry], int]], missing: int) -> Page:
        with chat.reading:
            entries, seq = self._read(read, ([], missing))
        return Page(entries, format_cursor(chat.rows.tag, seq))

    def _read(self, work: Callable[[Connection], _T], missing: _T) -> _T:
        return self._engine.read(RECORD, work, missing)

    def _chat(self, session_key: str) -> _Chat:
        with self._guard:
            chat = self._chats.get(session_key)
            if chat is None:
                chat = self._chats[session_key] = _Chat(Rows(self._engine.place, session_key))
                if len(self._chats) > _OPEN_CHATS:
                    self._chats.popitem(last=False)
            else:
                self._chats.move_to_end(session_key)
            return chat


def _flat(keys: Sequence[Sequence[str]]) -> tuple[list[bytes], list[int]]:
    """All keys, and of which line (from 1) each is."""
    pairs = [(id_of(key), number) for number, of in enumerate(keys, 1) for key in of]
    return [key for key, _ in pairs], [number for _, number in pairs]
