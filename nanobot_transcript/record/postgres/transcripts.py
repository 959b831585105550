"""The store backend over PostgreSQL: transcripts of processes on many machines."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar, cast

from nanobot_transcript.entry import Entry, RecentMessage
from nanobot_transcript.errors import ConfigError
from nanobot_transcript.record.postgres import reader
from nanobot_transcript.record.postgres.cursors import format_cursor, parse_cursor
from nanobot_transcript.record.postgres.erasure import Erasure
from nanobot_transcript.record.postgres.ops import PostgresOps
from nanobot_transcript.record.postgres.purges import NONE, Purges, note, now_ms, purges
from nanobot_transcript.record.postgres.rows import ChatRows, id_of
from nanobot_transcript.record.postgres.schema import RECORD
from nanobot_transcript.record.postgres.window import PostgresWindow
from nanobot_transcript.sql.postgres.engine import Connection, Engine
from nanobot_transcript.store.contract import (
    DEFAULT_SEGMENT_BYTES,
    Changes,
    Chat,
    Hit,
    MaintenanceReport,
    Page,
    Retention,
    VerifyReport,
)
from nanobot_transcript.store.lines.codec import decode, encode
from nanobot_transcript.store.lines.fold import OVERHEARD, upgrade
from nanobot_transcript.store.lines.ids import edit_keys, hidden_key, id_keys, ids_of
from nanobot_transcript.store.lines.messages import KEPT_READY, brief
from nanobot_transcript.store.lines.ops import hides, is_op, needs_message
from nanobot_transcript.store.lines.order import moment_of

__all__ = ["PostgresTranscripts", "barring_of", "runs"]

_T = TypeVar("_T")

_OPEN_CHATS: Final = 256
_APPEND: Final = "SELECT nanobot.append(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
_APPEND_ALL: Final = "SELECT nanobot.append_all(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
_CHATS: Final = "SELECT name, bytes, last_ms FROM nanobot.chats WHERE bytes > 0"
_PURGED: Final = "SELECT purged FROM nanobot.chats WHERE tag = %s"

logger = logging.getLogger(__name__)


class _Chat:
    """What this process knows of one transcript."""

    def __init__(self, rows: ChatRows) -> None:
        self.rows: Final = rows
        self.window: Final = PostgresWindow(rows)
        self.ops: Final = PostgresOps(rows)
        self.reading: threading.Lock = threading.Lock()
        self.purged: Purges = NONE
        """The purges that this process knows of."""


class PostgresTranscripts:
    """``StoreBackend`` in a database. ``lock_timeout`` bounds (seconds) the wait for another writer of the chat."""

    def __init__(
        self, engine: Engine, *, segment_bytes: int = DEFAULT_SEGMENT_BYTES, lock_timeout: float = 2.0
    ) -> None:
        if segment_bytes < 1:
            raise ConfigError(f"A segment of {segment_bytes} bytes is too small.", hint="The usual size is 64 MiB.")
        self._engine: Engine = engine
        self.segment_bytes: int = segment_bytes
        self._lock_timeout: float = lock_timeout
        self._chats: OrderedDict[str, _Chat] = OrderedDict()
        self._guard: threading.Lock = threading.Lock()
        self._conflicts: set[str] = set()

    @property
    def place(self) -> str:
        """The database, as people write it."""
        return self._engine.place.name

    @property
    def blocking(self) -> bool:
        """True: it waits for the network."""
        return True

    @property
    def append_blocks(self) -> bool:
        """True: it waits for the network."""
        return True

    # -- writing

    def append(self, session_key: str, entry: Entry, max_wait: float | None = None) -> bool:
        known = self._written(session_key, entry, ids_of(entry), max_wait)
        if known is not None:
            self._complete(session_key, entry, known, max_wait)
        return known is None

    def apply(self, session_key: str, op: Entry, max_wait: float | None = None) -> bool:
        about = self.messages_with(session_key, [op]) if not hides(op) else {}
        return self._written(session_key, op, barring_of(op, about), max_wait) is None

    def flush(self, session_key: str, timeout: float) -> bool:
        return True

    @property
    def address(self) -> str:
        """See ``FarBackend.address``."""
        return self._engine.place.address

    def identity(self) -> str:
        """See ``FarBackend.identity``."""
        return self._engine.write(RECORD, self._identity, again=True)

    def known_identity(self) -> str:
        """The same without writing: empty while there is no record yet."""
        return self._engine.read(RECORD, self._identity, "")

    def _identity(self, connection: Connection) -> str:
        row = connection.execute(self._engine.place.sql("SELECT id FROM nanobot.identity")).fetchone()
        return row[0] if row is not None else ""

    def write_many(self, session_key: str, lines: Sequence[Entry], clock_ms: float) -> list[bool]:
        """See ``FarBackend.write_many``."""
        for line in lines:
            encode(line)  # refuse what can never be recorded before anything is written
        chat, began = self._chat(session_key), time.monotonic()
        while True:
            left = self._left(chat, lines, lambda: clock_ms + (time.monotonic() - began) * 1000)
            kept = [line for line in left if line is not None]
            answers = self._write_all(session_key, kept, chat.purged.number) if kept else []
            if answers is not None:
                given = iter(answers)
                return [line is not None and next(given) for line in left]
            chat.purged = self._read(lambda connection: purges(connection, self._engine.place, chat.rows.tag), NONE)

    def _write_all(self, session_key: str, lines: Sequence[Entry], purge: int) -> list[bool] | None:
        """True for each new line; None, with nothing written, when there was another purge meanwhile."""
        about = self.messages_with(session_key, lines)
        about |= {known: line for line in lines if not is_op(line) for known in ids_of(line) if known not in about}
        cut = runs([(line, id_keys(line), barring_of(line, about)) for line in lines])

        def append(connection: Connection) -> list[bytes | None]:
            with connection.transaction():
                return [line for run in cut for line in self.append_all(connection, session_key, run, purge)]

        try:
            found = self._engine.write(RECORD, append, again=True)
        except _PurgedError:
            return None
        known = [None if line is None else decode(line) for line in found]
        for line, met in zip(lines, known, strict=True):
            if met is not None and not is_op(line):
                self._complete(session_key, line, met, None)
        return [met is None for met in known]

    def _left(self, chat: _Chat, lines: Sequence[Entry], clock_ms: Callable[[], float]) -> list[Entry | None]:
        """What is left of each line after the purges since it was received. ``clock_ms`` is the lines' clock."""
        if not chat.purged.purges:
            return list(lines)
        # Both clocks at once: waiting for a connection, or for a purge, makes the lines older.
        now, lines_now = self._read(now_ms, 0.0), clock_ms()
        ago = [lines_now - line.get("rts", 0) for line in lines]
        left = [chat.purged.left_of(line, now - each) for line, each in zip(lines, ago, strict=True)]
        late = {
            cast("str", line.get("target"))
            for line, each in zip(left, ago, strict=True)
            if line is not None and needs_message(line) and chat.purged.is_since(now - each)
        }
        if late:
            there = self.messages_with(chat.rows.session_key, [line for line in left if line is not None])
            gone = late - there.keys()
            left = [
                None if line is not None and needs_message(line) and line.get("target") in gone else line
                for line in left
            ]
        return left

    def _written(self, session_key: str, line: Entry, barring: list[str], max_wait: float | None) -> Entry | None:
        """The line that was there already; None when this one was written."""
        keys = id_keys(line)
        joined = _joined(keys)
        bound = (
            *self._chat_arguments(session_key),
            encode(line)[:-1],
            is_op(line),
            joined,
            joined if barring == keys else _joined(barring),
            *self._limits(max_wait),
        )
        statement = self._engine.place.sql(_APPEND)

        def append(connection: Connection) -> Any:
            return connection.execute(statement, bound, binary=True).fetchone()

        (found,) = self._engine.write(RECORD, append)
        return None if found is None else decode(found)

    def append_all(
        self, connection: Connection, session_key: str, run: "list[_Keyed]", purge: int
    ) -> list[bytes | None]:
        """Record the lines of a run within a transaction: for each the line that was there already, None when it was
        written.
        """
        bound = (
            *self._chat_arguments(session_key),
            [encode(line)[:-1] for line, _, _ in run],
            [is_op(line) for line, _, _ in run],
            [_joined(keys) for _, keys, _ in run],
            [_joined(barring) for _, _, barring in run],
            *self._limits(None),
            purge,
        )
        row = connection.execute(self._engine.place.sql(_APPEND_ALL), bound, binary=True).fetchone()
        if row is None or row[0] is None:
            raise _PurgedError
        return row[0]

    def _chat_arguments(self, session_key: str) -> tuple[str, bytes, str, str]:
        chat = self._chat(session_key)
        return chat.rows.tag, session_key.encode("utf-8", "surrogatepass"), *chat.rows.channels

    def _limits(self, max_wait: float | None) -> tuple[int, str]:
        wait = self._lock_timeout if max_wait is None else max_wait
        return self.segment_bytes, f"{max(1, int(wait * 1000))}ms"

    def messages_with(self, session_key: str, lines: Sequence[Entry]) -> dict[str, Entry]:
        """The messages that these lines need, by the ids that the lines use for them."""
        targets = {cast("str", line.get("target")) for line in lines if needs_message(line)}
        if not targets:
            return {}
        rows = self._chat(session_key).rows
        found = self._read(lambda connection: rows.with_ids(connection, targets), {})
        decoded = {target: entry for target, (_, line) in found.items() if (entry := decode(line)) is not None}
        return {target: entry for target, entry in decoded.items() if not is_op(entry)}

    def _complete(self, session_key: str, entry: Entry, known: Entry, max_wait: float | None) -> None:
        """Write what this message adds to the one that is there."""
        edit = upgrade(known, entry)
        if edit is not None:
            target = cast("str", edit.get("target"))
            self._written(session_key, edit, barring_of(edit, {target: known}), max_wait)
        elif not is_op(known) and (known["role"], known["sender"]) != (entry["role"], entry["sender"]):
            self._say_conflict(session_key, known, entry)

    def _say_conflict(self, session_key: str, known: Entry, entry: Entry) -> None:
        """Log once per chat that two platforms, or a broken sender, use the same ids. An overheard copy is no
        conflict.
        """
        overheard = entry.get("source") in OVERHEARD or known.get("source") in OVERHEARD
        if overheard or session_key in self._conflicts:
            return
        self._conflicts.add(session_key)
        logger.warning(
            "%s: message id %s came from %s and again from %s; the first message is kept",
            session_key,
            entry["message_id"],
            known["sender"],
            entry["sender"],
        )

    # -- reading

    def get_recent(self, session_key: str, max_messages: int) -> list[RecentMessage]:
        if max_messages <= 0:
            return []
        if max_messages > KEPT_READY:
            return [brief(entry) for entry in self.recent(session_key, max_messages).entries]
        window = self._chat(session_key).window
        return self._read(lambda connection: window.get_recent(connection, max_messages), [])

    def recent(self, session_key: str, limit: int) -> Page:
        chat = self._chat(session_key)
        window = chat.window if limit <= KEPT_READY else PostgresWindow(chat.rows)
        entries, seq = self._read(lambda connection: window.recent(connection, limit), ([], 0))
        return Page(entries, format_cursor(chat.rows.tag, seq))

    def read(self, session_key: str, after: str | None, limit: int) -> Page:
        chat = self._chat(session_key)
        place = 0 if after is None else parse_cursor(chat.rows.tag, after)
        return self._paged(chat, lambda connection: reader.read(connection, chat.rows, chat.ops, place, limit), place)

    def read_back(self, session_key: str, before: str | None, limit: int) -> Page:
        chat = self._chat(session_key)
        place = None if before is None else parse_cursor(chat.rows.tag, before)

        def back(connection: Connection) -> tuple[list[Entry], int]:
            return reader.read_back(connection, chat.rows, chat.ops, place, limit)

        return self._paged(chat, back, place or 0)

    def end(self, session_key: str) -> str:
        rows = self._chat(session_key).rows
        head = self._read(rows.head, None)
        return format_cursor(rows.tag, head.seq if head is not None else 0)

    def follow(self, session_key: str, after: str | None) -> AsyncGenerator[Entry, None]:
        from nanobot_transcript.record.postgres.follower import follow  # brings asyncio

        return follow(self._engine, self._chat(session_key).rows, after)

    def get(self, session_key: str, message_id: str) -> Entry | None:
        return self.get_many(session_key, [message_id]).get(message_id)

    def get_many(self, session_key: str, message_ids: Iterable[str]) -> dict[str, Entry]:
        chat, wanted = self._chat(session_key), list(message_ids)
        with chat.reading:
            return self._read(lambda connection: reader.messages(connection, chat.rows, chat.ops, wanted), {})

    def changes(self, session_key: str, after: str) -> Changes:
        rows = self._chat(session_key).rows
        place = parse_cursor(rows.tag, after)
        return self._read(lambda connection: reader.changes(connection, rows, place), Changes())

    def search(self, query: str, session_key: str | None, limit: int) -> list[Hit]:
        if session_key is not None:
            keys = [session_key]
        else:
            place = self._engine.place
            keys = self._read(lambda connection: reader.chats_with(connection, place, query), [])
        hits: list[Hit] = []
        for key in keys:
            chat = self._chat(key)
            ops = PostgresOps(chat.rows)  # its own, so that a long search does not hold up other reads

            def look(connection: Connection, chat: _Chat = chat, ops: PostgresOps = ops) -> list[Hit]:
                return reader.search(connection, chat.rows, ops, query, limit)

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
            page = self.read(session_key, cursor, KEPT_READY)
            yield from page.entries
            if len(page.entries) < KEPT_READY:
                return
            cursor = page.cursor

    # -- maintenance

    def purge(
        self, session_key: str | None, *, senders: frozenset[str], before_ms: float | None
    ) -> list[MaintenanceReport]:
        tag = self._chat(session_key).rows.tag if session_key is not None else None
        self._engine.read(
            RECORD, lambda connection: note(connection, self._engine.place, tag, senders, before_ms), None
        )
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
        rows, place = self._chat(session_key).rows, self._engine.place
        return self._read(lambda connection: reader.verify(connection, place, rows), VerifyReport(session_key))

    def close(self) -> None:
        with self._guard:
            self._chats.clear()

    def after_fork(self) -> None:
        """In a forked child: a thread of the parent may have held a lock."""
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
                chat = self._chats[session_key] = _Chat(ChatRows(self._engine.place, session_key))
                if len(self._chats) > _OPEN_CHATS:
                    self._chats.popitem(last=False)
            else:
                self._chats.move_to_end(session_key)
            return chat


class _PurgedError(Exception):
    """There was a purge that this process did not know of."""


_Keyed = tuple[Entry, list[str], list[str]]
"""A line, its keys, and the keys that bar it: when one of those exists it is not written."""


def barring_of(line: Entry, about: Mapping[str, Entry]) -> list[str]:
    """See ``_Keyed``. ``about`` are the messages that edits are about."""
    if not is_op(line):
        return ids_of(line)
    target = line.get("target")
    if not target:
        return []
    if hides(line):
        return [hidden_key(target)]
    return edit_keys(line, target, ids_of(about[target]) if target in about else [])


def runs(lines: Iterable[_Keyed]) -> list[list[_Keyed]]:
    """Split the lines where one may be barred by an earlier one: the server checks all lines of a run before writing
    any.
    """
    runs: list[list[_Keyed]] = []
    met: set[str] = set()
    for line in lines:
        if not runs or not met.isdisjoint(line[2]):
            runs.append([])
            met = set()
        runs[-1].append(line)
        met.update(line[1])
    return runs


def _joined(keys: Iterable[str]) -> bytes:
    return b"".join(map(id_of, keys))
