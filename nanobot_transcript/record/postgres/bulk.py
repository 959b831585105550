"""Transcripts as a whole, for moving them: every line as it stands, and many lines at once."""

from collections.abc import Callable, Iterator, Sequence
from struct import Struct
from typing import Any, Final, cast

from nanobot_transcript.entry import Entry
from nanobot_transcript.record.postgres.cursors import format_cursor, parse_cursor
from nanobot_transcript.record.postgres.ops import PostgresOps
from nanobot_transcript.record.postgres.rows import ChatRows, id_of
from nanobot_transcript.record.postgres.schema import RECORD
from nanobot_transcript.record.postgres.transcripts import PostgresTranscripts, barring_of, runs
from nanobot_transcript.sql.postgres.engine import Connection, Engine
from nanobot_transcript.sql.postgres.listener import notify
from nanobot_transcript.store.contract import Line, Standing
from nanobot_transcript.store.lines.codec import decode
from nanobot_transcript.store.lines.fold import upgrade
from nanobot_transcript.store.lines.ids import id_keys, ids_of
from nanobot_transcript.store.lines.ops import is_op

__all__ = ["PostgresBulk", "Then"]

Then = Callable[[Connection, str], None]
"""Runs in the same transaction, with the cursor behind the last line."""

_PAGE: Final = 2000
_UNANALYZED: Final = 10_000
_ANALYZE: Final = "ANALYZE nanobot.lines, nanobot.ids"
"""Without statistics the planner takes every chat for a short one and reads all of it for one page. Autovacuum updates
them about once a minute, too late for a move.
"""
_ANY_PURGE: Final = (1 << 63) - 1
_PATIENCE_MS: Final = 10_000
"""How long a batch waits for other writers of the chat."""
_STANDINGS: Final = """
SELECT name, tag, seq, bytes, last_ms, purged FROM nanobot.chats WHERE bytes > 0 OR purged > 0 ORDER BY name
"""
_BODIES: Final = """
SELECT seq, line FROM nanobot.lines WHERE chat = (SELECT id FROM nanobot.chats WHERE tag = %s) AND seq > %s
ORDER BY seq LIMIT %s
"""
# No waiting for the disk: a crash that loses the lines also loses the waypoint in the same transaction.
_SETTINGS: Final = """
SELECT set_config('lock_timeout', %s, true), set_config('synchronous_commit', 'off', true)
"""
_LOCK: Final = "SELECT id, seq, open_from, open_bytes FROM nanobot.chats WHERE tag = %s FOR UPDATE"
_BEGIN: Final = "INSERT INTO nanobot.chats (tag, name) VALUES (%s, %s) ON CONFLICT DO NOTHING"
_LINES: Final = "COPY nanobot.lines (chat, seq, op, line) FROM STDIN (FORMAT BINARY)"
# https://www.postgresql.org/docs/current/sql-copy.html: the number of fields, then each with its length before it.
_COPY_BEGINS: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_COPY_ROW: Final = Struct(">hiqiqi?i")
_COPY_ENDS: Final = b"\xff\xff"
_IDS: Final = """
INSERT INTO nanobot.ids SELECT %s, k.id, k.seq FROM unnest(%b::bytea[], %b::bigint[]) AS k (id, seq)
ON CONFLICT DO NOTHING
"""
_SEGMENT: Final = "INSERT INTO nanobot.segments VALUES (%s, %s, %s, %s)"
_GROWN: Final = """
UPDATE nanobot.chats SET seq = %s, bytes = bytes + %s, open_from = %s, open_bytes = %s,
    last_ms = greatest(last_ms, %s) WHERE id = %s
"""
_NOTE_PURGE: Final = "UPDATE nanobot.chats SET purged = greatest(purged, %s) WHERE tag = %s"


class PostgresBulk:
    """The transcripts of a database, for moving them out or in. For one thread."""

    def __init__(self, engine: Engine, transcripts: PostgresTranscripts) -> None:
        self._engine: Engine = engine
        self._transcripts: PostgresTranscripts = transcripts
        self._segment_bytes: int = transcripts.segment_bytes
        self._unanalyzed: int = 0
        self._analyzed: int = 0

    # -- what there is

    def standings(self) -> Iterator[Standing]:
        """How far each transcript goes, including chats of which only a purge is known."""
        statement = self._engine.place.sql(_STANDINGS)
        rows = self._engine.read(RECORD, lambda connection: connection.execute(statement).fetchall(), [])
        for name, tag, seq, size, last_ms, purged in rows:
            yield Standing(name.decode("utf-8", "surrogatepass"), format_cursor(tag, seq), size, last_ms, purged)

    def end(self, session_key: str) -> str:
        """The cursor behind the last line."""
        rows = self._rows(session_key)
        head = self._engine.read(RECORD, rows.head, None)
        return format_cursor(rows.tag, head.seq if head is not None else 0)

    def start(self, session_key: str) -> str:
        """The cursor in front of the first line."""
        return format_cursor(self._rows(session_key).tag, 0)

    # -- out

    def lines(self, session_key: str, after: str | None, upto: str | None = None) -> Iterator[Line]:
        """Every line behind a cursor, up to another one."""
        tag = self._rows(session_key).tag
        stop = None if upto is None else parse_cursor(tag, upto)
        for seq, body in self._behind(tag, 0 if after is None else parse_cursor(tag, after)):
            if stop is not None and seq > stop:
                return
            entry = decode(body)
            yield Line(f"e1.{tag[-6:]}.{seq:x}", entry, "" if entry is not None else "foreign")

    def bodies(self, session_key: str, after: str) -> Iterator[tuple[str, bytes]]:
        """The bytes of every line behind a cursor, with the cursor behind it."""
        tag = self._rows(session_key).tag
        for seq, body in self._behind(tag, parse_cursor(tag, after)):
            yield f"e1.{tag[-6:]}.{seq:x}", body

    def _behind(self, tag: str, seq: int) -> Iterator[tuple[int, bytes]]:
        statement = self._sql(_BODIES)
        while True:
            bound = (tag, seq, _PAGE)

            def page(connection: Connection, bound: tuple[str, int, int] = bound) -> list[tuple[int, bytes]]:
                with connection.cursor(binary=True) as cursor:
                    return cursor.execute(statement, bound).fetchall()

            found = self._engine.read(RECORD, page, [])
            yield from found
            if len(found) < _PAGE:
                return
            seq = found[-1][0]

    def line_at(self, session_key: str, cursor: str) -> Entry | None:
        """The line that ends at a cursor; None when it is gone."""
        rows = self._rows(session_key)
        place = parse_cursor(rows.tag, cursor)
        _, found = self._engine.read(RECORD, lambda connection: rows.all_backward(connection, place, 1), (None, []))
        return decode(found[0][1]) if found and found[0][0] == place else None

    def hidden(self, session_key: str) -> set[str]:
        """Every id of the messages that were recalled or redacted."""
        log = PostgresOps(self._rows(session_key))
        self._engine.read(RECORD, lambda connection: log.since(connection, 0), None)
        return log.found.together(log.found.hidden)

    def knows(self, session_key: str, message_id: str, key: str) -> bool:
        """True when the index has a line about a message under this key."""
        rows = self._rows(session_key)
        return bool(self._engine.read(RECORD, lambda connection: rows.with_ids(connection, [key]), {}))

    # -- in

    def extend(
        self,
        session_key: str,
        lines: Sequence[tuple[Entry, bytes]],
        behind: str,
        *,
        written_ms: float = 0,
        then: Then | None = None,
    ) -> str | None:
        """Append lines, each given as an entry and as its bytes, in one transaction; None when somebody else has
        written behind the cursor. Returns the cursor behind them. The last one was written at ``written_ms``.
        """
        rows = self._rows(session_key)
        seq = parse_cursor(rows.tag, behind)

        def work(connection: Connection) -> str | None:
            with connection.transaction():
                chat = self._locked(connection, rows)
                if chat[1] != seq:
                    return None
                end = format_cursor(rows.tag, seq + len(lines))
                self._insert(connection, chat, lines, written_ms)
                if then is not None:
                    then(connection, end)
                notify(connection, rows.channels)
                return end

        done = self._engine.write(RECORD, work)
        self._analyze(len(lines))
        return done

    def _analyze(self, more: int) -> None:
        """Let the server update its statistics whenever the number of lines has doubled."""
        self._unanalyzed += more
        if self._unanalyzed >= max(_UNANALYZED, self._analyzed):
            self._analyzed, self._unanalyzed = self._analyzed + self._unanalyzed, 0
            self._engine.write(RECORD, lambda connection: connection.execute(self._sql(_ANALYZE)), again=True)

    def merge(self, session_key: str, lines: Sequence[Entry], then: Then) -> int:
        """Record the lines that are not known, and what they add to known ones, in one transaction.

        Returns how many were not known.
        """
        rows, transcripts = self._rows(session_key), self._transcripts
        about = transcripts.messages_with(session_key, lines)
        about |= {known: line for line in lines if not is_op(line) for known in ids_of(line) if known not in about}

        def written(connection: Connection, some: Sequence[Entry]) -> list[bytes | None]:
            cut = runs([(line, id_keys(line), barring_of(line, about)) for line in some])
            return [met for run in cut for met in transcripts.append_all(connection, session_key, run, _ANY_PURGE)]

        def work(connection: Connection) -> int:
            with connection.transaction():
                self._locked(connection, rows)
                met = list(zip(lines, written(connection, lines), strict=True))
                known = [(line, decode(found)) for line, found in met if found is not None and not is_op(line)]
                written(connection, [edit for line, one in known if one is not None and (edit := upgrade(one, line))])
                head = rows.head(connection)
                then(connection, format_cursor(rows.tag, head.seq if head is not None else 0))
            return sum(found is None for _, found in met)

        return self._engine.write(RECORD, work)

    def note_purge(self, session_key: str, moment_ms: float) -> None:
        """Note that something was purged at a moment, unless a later purge is known."""
        rows = self._rows(session_key)

        def work(connection: Connection) -> None:
            with connection.transaction():
                self._locked(connection, rows)
                connection.execute(self._sql(_NOTE_PURGE), (moment_ms, rows.tag))

        self._engine.write(RECORD, work, again=True)

    def _locked(self, connection: Connection, rows: ChatRows) -> tuple[int, int, int, int]:
        """Lock the chat's row: its number, last line and open segment. Nobody else writes to the chat until the
        commit.
        """
        connection.execute(_SETTINGS, (f"{_PATIENCE_MS}ms",))
        found = connection.execute(self._sql(_LOCK), (rows.tag,)).fetchone()
        if found is None:
            name = rows.session_key.encode("utf-8", "surrogatepass")
            connection.execute(self._sql(_BEGIN), (rows.tag, name))
            found = connection.execute(self._sql(_LOCK), (rows.tag,)).fetchone()
        return cast("tuple[int, int, int, int]", found)

    def _insert(
        self,
        connection: Connection,
        chat: tuple[int, int, int, int],
        lines: Sequence[tuple[Entry, bytes]],
        written_ms: float,
    ) -> None:
        number, seq, open_from, open_bytes = chat
        size, rows, segments = 0, [_COPY_BEGINS], list[tuple[int, int, int, int]]()
        ids, seqs = list[bytes](), list[int]()
        for entry, line in lines:
            length = len(line) + 1
            if open_bytes and open_bytes + length > self._segment_bytes:
                segments.append((number, open_from, seq, open_bytes))
                open_from, open_bytes = seq + 1, 0
            seq, size, open_bytes = seq + 1, size + length, open_bytes + length
            rows += (_COPY_ROW.pack(4, 8, number, 8, seq, 1, is_op(entry), len(line)), line)
            for key in id_keys(entry):
                ids.append(id_of(key))
                seqs.append(seq)
        with connection.cursor() as cursor:
            with cursor.copy(self._sql(_LINES)) as copy:
                copy.write(b"".join((*rows, _COPY_ENDS)))
            cursor.execute(self._sql(_IDS), (number, ids, seqs))
            if segments:
                cursor.executemany(self._sql(_SEGMENT), segments)
            cursor.execute(self._sql(_GROWN), (seq, size, open_from, open_bytes, written_ms, number))

    def _sql(self, statement: str) -> Any:
        return self._engine.place.sql(statement)

    def _rows(self, session_key: str) -> ChatRows:
        return ChatRows(self._engine.place, session_key)
