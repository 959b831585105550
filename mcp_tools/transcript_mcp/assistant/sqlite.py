"""Questions in one SQLite file. What arrives while a transaction is written shares the next one: a burst of answers
costs few waits for the disk."""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from nanobot_transcript.database import Database, Shape
from transcript_mcp.assistant import messages
from transcript_mcp.assistant.searching import expression, scope_word, spaced
from transcript_mcp.assistant.values import (
    Choice,
    Content,
    Ending,
    HistoryPage,
    HistoryQuery,
    Question,
    Record,
    text_of,
)
from transcript_mcp.sdk.threads import in_thread

__all__ = ["SqliteQuestionStore"]

_BUSY: Final = 10.0
_MOST: Final = 200

_RECORDS: Final = """
CREATE TABLE records (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('question', 'report', 'message')),
    state TEXT NOT NULL,
    said_as TEXT NOT NULL,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    model TEXT NOT NULL,
    client TEXT NOT NULL,
    timeout INTEGER NOT NULL,
    expects INTEGER NOT NULL,
    fetched INTEGER NOT NULL,
    chat TEXT NOT NULL,
    asked_ts REAL NOT NULL,
    ended_ts REAL,
    shown INTEGER NOT NULL DEFAULT 0,
    answered_by TEXT NOT NULL DEFAULT '',
    answered_where TEXT NOT NULL DEFAULT '',
    taken_by TEXT NOT NULL DEFAULT '',
    choices BLOB NOT NULL,
    text TEXT NOT NULL,
    answer TEXT NOT NULL DEFAULT '',
    contents BLOB,
    UNIQUE (scope, id)
)
"""
_WAITING: Final = "CREATE INDEX records_waiting ON records (scope, seq) WHERE state = 'waiting'"
_TALKS: Final = "CREATE INDEX records_by_agent ON records (scope, project, agent, seq)"
_TAKEN: Final = "CREATE INDEX records_taken ON records (scope, taken_by) WHERE taken_by <> ''"
_IN_CHATS: Final = "CREATE INDEX records_in_chats ON records (ended_ts) WHERE chat <> ''"
_SEARCH: Final = (
    "CREATE VIRTUAL TABLE records_words USING fts5(text, answer, scope, content='',"
    " tokenize='unicode61 remove_diacritics 2')"
)
_INDEXED: Final = "{row}.seq, spaced({row}.text), spaced({row}.answer), scope_word({row}.scope)"
_INSERTED: Final = f"""
CREATE TRIGGER records_inserted AFTER INSERT ON records BEGIN
    INSERT INTO records_words (rowid, text, answer, scope) VALUES ({_INDEXED.format(row="new")});
END
"""
_ANSWERED: Final = f"""
CREATE TRIGGER records_answered AFTER UPDATE OF answer ON records BEGIN
    INSERT INTO records_words (records_words, rowid, text, answer, scope)
    VALUES ('delete', {_INDEXED.format(row="old")});
    INSERT INTO records_words (rowid, text, answer, scope) VALUES ({_INDEXED.format(row="new")});
END
"""

_SHAPE: Final = Shape(
    migrations=((_RECORDS, _WAITING, _TALKS, _TAKEN, _SEARCH, _INSERTED, _ANSWERED), (_IN_CHATS,)),
    functions={"spaced": (1, spaced), "scope_word": (1, scope_word)},
)

_INSERT: Final = (
    "INSERT INTO records (scope, id, kind, state, said_as, project, agent, model, client, timeout, expects, fetched,"
    " chat, asked_ts, ended_ts, answered_by, answered_where, choices, text, contents)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (scope, id) DO NOTHING"
)
_ONE: Final = "SELECT * FROM records WHERE scope = ? AND id = ?"

_CHOICES: Final = msgspec.msgpack.Decoder(tuple[Choice, ...])
_CONTENTS: Final = msgspec.msgpack.Decoder(tuple[Content, ...])

_Work: TypeAlias = Callable[[sqlite3.Connection], Any]


class SqliteQuestionStore:
    """The file ``assistant.sqlite3`` in ``folder``. ``clock`` gives seconds since 1970."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._database = Database(folder / "assistant.sqlite3", folder / ".assistant.lock", _SHAPE, busy=_BUSY)
        self._clock = clock
        self._jobs: list[tuple[_Work, asyncio.Future[Any]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def put(self, question: Question, state: str) -> tuple[Record, bool]:
        """See ``QuestionStore``."""
        return await self._write(lambda connection: self._put(connection, question, state, Ending("waiting")))

    async def get(self, scope: str, id: str) -> Record | None:
        """See ``QuestionStore``."""

        def work(connection: sqlite3.Connection) -> Record | None:
            row = connection.execute(_ONE, (scope, id)).fetchone()
            return None if row is None else _record(row)

        return await self._read(work, None)

    async def end(self, scope: str, id: str, ending: Ending) -> tuple[Record, bool] | None:
        """See ``QuestionStore``."""
        contents = msgspec.msgpack.encode(ending.contents) if ending.contents else None

        def work(connection: sqlite3.Connection) -> tuple[Record, bool] | None:
            ended = connection.execute(
                "UPDATE records SET state = ?, ended_ts = ?, answered_by = ?, answered_where = ?,"
                " answer = ?, contents = ? WHERE scope = ? AND id = ? AND state = 'waiting' AND kind <> 'message'",
                (
                    *(ending.state, self._clock(), ending.by, ending.where, text_of(ending.contents), contents),
                    *(scope, id),
                ),
            ).rowcount
            row = connection.execute(_ONE, (scope, id)).fetchone()
            return None if row is None else (_record(row), ended == 1)

        return await self._write(work)

    async def shown(self, scope: str, id: str, clients: int) -> None:
        """See ``QuestionStore``."""
        await self._write(
            lambda connection: (
                connection.execute(
                    "UPDATE records SET shown = shown + ? WHERE scope = ? AND id = ?", (clients, scope, id)
                ).rowcount
            )
        )

    async def waiting(self, scope: str | None = None) -> Sequence[Record]:
        """See ``QuestionStore``."""

        def work(connection: sqlite3.Connection) -> Sequence[Record]:
            condition, values = ("", ()) if scope is None else (" AND scope = ?", (scope,))
            rows = connection.execute(
                f"SELECT * FROM records WHERE state = 'waiting' AND kind <> 'message'{condition} ORDER BY seq", values
            )
            return [_record(row) for row in rows]

        return await self._read(work, ())

    async def ended(self, since: float, limit: int = 10_000) -> Sequence[tuple[str, str]]:
        """See ``QuestionStore``."""

        def work(connection: sqlite3.Connection) -> Sequence[tuple[str, str]]:
            rows = connection.execute(
                "SELECT scope, id FROM records WHERE chat <> '' AND ended_ts >= ? ORDER BY ended_ts DESC LIMIT ?",
                (since, limit),
            )
            return [(row["scope"], row["id"]) for row in rows]

        return await self._read(work, ())

    async def write(self, message: Question, ending: Ending) -> tuple[Record, bool]:
        """See ``QuestionStore``."""
        return await self._write(lambda connection: self._put(connection, message, "waiting", ending))

    async def lend(self, taker: Question) -> Sequence[Record]:
        """See ``QuestionStore``."""
        if not await self._read(lambda connection: messages.anything_for(connection, taker), False):
            return ()
        return [_record(row) for row in await self._write(lambda connection: messages.lend(connection, taker))]

    async def settle(self, taker: Question, *, got: bool) -> Sequence[Record]:
        """See ``QuestionStore``."""
        rows = await self._write(lambda connection: messages.settle(connection, taker, self._clock(), got=got))
        return [_record(row) for row in rows]

    async def free(self) -> None:
        """See ``QuestionStore``."""
        if await self._read(messages.anything_lent, False):
            await self._write(messages.free)

    async def history(self, scope: str, query: HistoryQuery) -> HistoryPage:
        """See ``QuestionStore``."""
        limit = max(1, min(query.limit, _MOST))
        words = expression(query.text, scope) if query.text.strip() else ""
        if words is None:
            return HistoryPage(())
        conditions, values = _conditions(scope, query)

        def work(connection: sqlite3.Connection) -> HistoryPage:
            source, order, match = "records", "records.seq", []
            if words:
                source = "records_words CROSS JOIN records ON records.seq = records_words.rowid"
                order, match = "records_words.rowid", ["records_words MATCH ?"]
            found = connection.execute(
                f"SELECT records.* FROM {source} WHERE {' AND '.join([*match, *conditions])}"
                f" ORDER BY {order} DESC LIMIT ?",
                (*([words] if words else []), *values, limit + 1),
            ).fetchall()
            records = tuple(_record(row) for row in found[:limit])
            return HistoryPage(records, records[-1].seq if len(found) > limit else 0)

        return await self._read(work, HistoryPage(()))

    def close(self) -> None:
        """Release the file; it is opened again when it is needed."""
        self._database.close()

    def _put(
        self, connection: sqlite3.Connection, question: Question, state: str, ending: Ending
    ) -> tuple[Record, bool]:
        now = self._clock()
        contents = msgspec.msgpack.encode(ending.contents) if ending.contents else None
        added = connection.execute(
            _INSERT,
            (
                *(question.scope, question.id, question.kind, state, question.said_as, question.project),
                *(question.agent, question.model, question.client, question.timeout, question.expects),
                *(
                    question.fetched,
                    question.chat or "",
                    now,
                    None if state == "waiting" else now,
                    ending.by,
                    ending.where,
                ),
                *(msgspec.msgpack.encode(question.choices), question.text, contents),
            ),
        ).rowcount
        row = connection.execute(_ONE, (question.scope, question.id)).fetchone()
        return _record(row), added == 1

    async def _read(self, work: Callable[[sqlite3.Connection], Any], missing: Any) -> Any:
        return await in_thread(self._database.read, work, missing)

    async def _write(self, work: _Work) -> Any:
        """The result of ``work``, once it is on the disk."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._jobs.append((work, future))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all())
        return await future

    async def _write_all(self) -> None:
        while self._jobs:
            jobs, self._jobs = self._jobs, []
            try:
                outcomes = await self._written([work for work, _ in jobs])
            except Exception as error:  # noqa: BLE001 - handed to each of those who wait
                outcomes = [error] * len(jobs)
            for (_, future), outcome in zip(jobs, outcomes, strict=True):
                _settle(future, outcome)

    async def _written(self, works: Sequence[_Work]) -> list[Any]:
        def work(connection: sqlite3.Connection) -> list[Any]:
            return _together(connection, works)

        outcomes: Any = await in_thread(self._database.write, work)
        return outcomes


def _together(connection: sqlite3.Connection, works: Sequence[_Work]) -> list[Any]:
    """The results of the jobs, one after the other in one transaction; an error that is a job's own is its result."""
    outcomes: list[Any] = []
    for work in works:
        connection.execute("SAVEPOINT job")
        try:
            outcomes.append(work(connection))
        except (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError, ValueError, OverflowError) as error:
            connection.execute("ROLLBACK TO job")
            outcomes.append(error)
        connection.execute("RELEASE job")
    return outcomes


def _settle(future: "asyncio.Future[Any]", outcome: Any) -> None:
    if future.done():
        return  # who asked has gone; what was written stays
    if isinstance(outcome, BaseException):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


def _conditions(scope: str, query: HistoryQuery) -> tuple[list[str], list[Any]]:
    conditions, values = ["records.scope = ?"], [scope]
    given = (("project = ?", query.project), ("agent = ?", query.agent), ("seq < ?", query.before or None))
    for condition, value in given:
        if value is not None:
            conditions.append(f"records.{condition}")
            values.append(value)  # type: ignore[arg-type]
    return conditions, values


def _record(row: sqlite3.Row) -> Record:
    question = Question(
        scope=row["scope"],
        id=row["id"],
        kind=row["kind"],
        text=row["text"],
        said_as=row["said_as"],
        project=row["project"],
        agent=row["agent"],
        model=row["model"],
        client=row["client"],
        choices=_CHOICES.decode(row["choices"]),
        timeout=row["timeout"],
        expects=bool(row["expects"]),
        fetched=bool(row["fetched"]),
        chat=row["chat"],
    )
    return Record(
        question,
        seq=row["seq"],
        asked_ts=row["asked_ts"],
        state=row["state"],
        shown=row["shown"],
        ended_ts=row["ended_ts"],
        by=row["answered_by"],
        where=row["answered_where"],
        taken_by=row["taken_by"],
        contents=_CONTENTS.decode(row["contents"]) if row["contents"] else (),
    )
