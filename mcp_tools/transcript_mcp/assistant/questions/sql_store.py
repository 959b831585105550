"""The question store in SQL: questions, reports, and messages that people wrote to agents."""

import logging
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import replace

from nanobot_transcript.coordination.clock import Moment, moment
from nanobot_transcript.errors import StoreError
from nanobot_transcript.sql.contract import Row, Sql
from nanobot_transcript.sql.group_commit import GroupCommit, OneByOneError, Then
from nanobot_transcript.threads import in_thread
from transcript_mcp.assistant.questions.contract import LARGEST_PAGE, End, Ended
from transcript_mcp.assistant.questions.tables import expression, index, index_later, index_new, is_indexed, opened
from transcript_mcp.assistant.questions.values import (
    AnswerContent,
    Choices,
    Ending,
    HistoryPage,
    HistoryQuery,
    Inquiry,
    Question,
    text_of,
)

if TYPE_CHECKING:
    from nanobot_transcript.sql.location import Shelf

__all__ = ["SqlQuestionStore"]

logger = logging.getLogger(__name__)

_MOST: Final = 200
_INDEXED_WITH_EACH: Final = 2
"""Answers that are indexed with each new question: more than one, so that a backlog shrinks."""

_INDEXED_AT_ONCE: Final = 100
"""Answers that are indexed in one transaction before a search; other writers wait that long."""

_AS_ASKED: Final = (
    *("scope", "id", "kind", "said_as", "project", "agent"),
    *("model", "client", "text", "timeout", "expects", "fetched"),
)
"""Fields of a question that are stored unchanged in a column of the same name."""

_COLUMNS: Final = (
    *_AS_ASKED,
    *("chat", "choices", "state", "asked_ts", "boot", "uptime"),
    *("ended_ts", "answered_by", "answered_where", "contents"),
)
_INSERT: Final = (
    f"INSERT INTO records ({', '.join(_COLUMNS)}) VALUES ({', '.join(f':{name}' for name in _COLUMNS)})"
    " ON CONFLICT (scope, id) DO NOTHING"
)
_END: Final = (
    "UPDATE records SET state = ?, ended_ts = ?, answered_by = ?, answered_where = ?, answer = ?, contents = ?"
    " WHERE scope = ? AND id = ? AND state = 'waiting' AND kind <> 'message'"
)
_WORDS: Final = ", ".join(
    [f"records.{name}" for name in (*_COLUMNS, "seq", "shown", "taken_by", "answer") if name != "contents"]
    + ["NULL AS contents"]
)
"""The columns of a record without its contents (pictures and files)."""

_ONE: Final = "SELECT * FROM records WHERE scope = ? AND id = ?"

# A lent message is still waiting; ``taken_by`` names its receiver, so that nobody else gets it.
_WAITING: Final = "state = 'waiting' AND kind = 'message'"
_FREE: Final = f"scope = ? AND project = ? AND agent = ? AND taken_by = '' AND {_WAITING}"
_LENT: Final = f"taken_by <> '' AND {_WAITING}"
_TAKEN: Final = "SELECT * FROM records WHERE scope = ? AND taken_by = ? AND kind = 'message' ORDER BY seq"

_CHOICES: Final = msgspec.msgpack.Decoder(tuple[Choices, ...])
_CONTENTS: Final = msgspec.msgpack.Decoder(tuple[AnswerContent, ...])


class SqlQuestionStore:
    """``QuestionStore`` on a ``shelf``; in a folder that is ``assistant.sqlite3``. ``clock`` gives seconds since 1970,
    ``moment`` the uptime, which nobody can set.
    """

    def __init__(
        self, shelf: "Shelf", *, clock: Callable[[], float] | None = None, moment: Callable[[], Moment] = moment
    ) -> None:
        self._database = opened(shelf)
        self._clock = clock or shelf.clock
        self._moment = moment
        self._commits = GroupCommit(self._database)

    async def put(self, question: Question, state: str, then: Then | None = None) -> tuple[Inquiry, bool]:
        """See ``QuestionStore``."""
        return await self._commits.write(
            lambda connection: self._put(connection, question, state, Ending("waiting")), then
        )

    async def get(self, scope: str, id: str) -> Inquiry | None:
        """See ``QuestionStore``."""

        def work(connection: Sql) -> Inquiry | None:
            row = connection.execute(_ONE, (scope, id)).fetchone()
            return None if row is None else _record(row)

        return await self._read(work, None)

    async def end_all(self, ends: Sequence[End], then: Then | None = None) -> Sequence[Ended | Exception]:
        """See ``QuestionStore``."""
        return await self._commits.write_all([self._ending(end) for end in ends], then, self._all_at_once(ends))

    def _ending(self, end: End) -> Callable[[Sql], Ended]:
        def work(connection: Sql) -> Ended:
            ended = 0 if end.stays_open else connection.execute(_END, _ended(end, self._clock())).rowcount
            row = connection.execute(_ONE, (end.scope, end.id)).fetchone()
            if ended and end.ending.contents:
                index_later(connection, (row["seq"],))
            return None if row is None else (_record(row), ended == 1)

        return work

    def _all_at_once(self, ends: Sequence[End]) -> Callable[[Sql], Sequence[Ended]]:
        """The fast path: one UPDATE for all questions that are open here, without reading them again."""
        known = {end.known.question.key: end.known for end in ends if end.known is not None}
        waiting = [end for end in ends if (end.scope, end.id) in known]

        def work(connection: Sql) -> Sequence[Ended]:
            now = self._clock()
            if any(end.stays_open for end in waiting):
                raise OneByOneError
            if connection.executemany(_END, [_ended(end, now) for end in waiting]).rowcount < len(waiting):
                raise OneByOneError
            index_later(connection, (known[end.scope, end.id].seq for end in waiting if end.ending.contents))
            has_messages = anything_at_all(connection)

            def outcome(end: End) -> Ended:
                record = known.get((end.scope, end.id))
                if record is None:
                    return self._ending(end)(connection)
                return _as_ended(record, end.ending, now, has_messages=has_messages), True

            return [outcome(end) for end in ends]

        return work

    async def shown(self, scope: str, id: str, clients: int) -> None:
        """See ``QuestionStore``."""
        await self._commits.write(
            lambda connection: (
                connection.execute(
                    "UPDATE records SET shown = shown + ? WHERE scope = ? AND id = ?", (clients, scope, id)
                ).rowcount
            )
        )

    async def waiting(self, scope: str | None = None) -> Sequence[Inquiry]:
        """See ``QuestionStore``."""

        def work(connection: Sql) -> Sequence[Inquiry]:
            condition, values = ("", ()) if scope is None else (" AND scope = ?", (scope,))
            rows = connection.execute(
                f"SELECT * FROM records WHERE state = 'waiting' AND kind <> 'message'{condition} ORDER BY seq", values
            )
            return [_record(row) for row in rows]

        return await self._read(work, ())

    async def ended(self, since: float, limit: int = 10_000) -> Sequence[tuple[str, str]]:
        """See ``QuestionStore``."""

        def work(connection: Sql) -> Sequence[tuple[str, str]]:
            rows = connection.execute(
                "SELECT scope, id FROM records WHERE chat <> '' AND ended_ts >= ? ORDER BY ended_ts DESC LIMIT ?",
                (since, limit),
            )
            return [(row["scope"], row["id"]) for row in rows]

        return await self._read(work, ())

    async def write(self, message: Question, ending: Ending) -> tuple[Inquiry, bool]:
        """See ``QuestionStore``."""
        return await self._commits.write(lambda connection: self._put(connection, message, "waiting", ending))

    async def lend(self, taker: Question) -> Sequence[Inquiry]:
        """See ``QuestionStore``."""
        if not await self._read(lambda connection: anything_for(connection, taker), False):
            return ()
        return [_record(row) for row in await self._commits.write(lambda connection: lend(connection, taker))]

    async def settle(self, taker: Question, *, got: bool) -> Sequence[Inquiry]:
        """See ``QuestionStore``."""
        rows = await self._commits.write(lambda connection: settle(connection, taker, self._clock(), got=got))
        return [_record(row) for row in rows]

    async def free(self) -> None:
        """See ``QuestionStore``."""
        if await self._read(anything_lent, False):
            await self._commits.write(free)

    async def history(self, scopes: tuple[str, ...], query: HistoryQuery) -> HistoryPage:
        """See ``QuestionStore``."""
        limit = max(1, min(query.limit, _MOST))
        words = expression(query.text, scopes) if query.text.strip() else ""
        if words is None or not scopes:
            return HistoryPage(())
        if words:
            await self._index()
        conditions, values = _conditions(scopes, query)

        def work(connection: Sql) -> HistoryPage:
            columns = _WORDS if query.words_only else "records.*"
            # The unary plus keeps SQLite from walking the scope in the order of seq, where ids have an index.
            source, order, match = "records", "+records.seq" if query.named else "records.seq", []
            if words:
                source = "records_words CROSS JOIN records ON records.seq = records_words.rowid"
                order, match = "records_words.rowid", ["records_words MATCH ?"]
            found = connection.execute(
                f"SELECT {columns} FROM {source} WHERE {' AND '.join([*match, *conditions])}"
                f" ORDER BY {order} DESC LIMIT ?",
                (*([words] if words else []), *values, limit + 1),
            )
            return _page(found, limit, words_only=query.words_only)

        return await self._read(work, HistoryPage(()))

    def close(self) -> None:
        """Close the database; it is opened again when it is needed."""
        self._database.close()

    def _put(self, connection: Sql, question: Question, state: str, ending: Ending) -> tuple[Inquiry, bool]:
        now, moment = self._clock(), self._moment()
        values = {name: getattr(question, name) for name in _AS_ASKED} | {
            "chat": question.chat or "",
            "choices": msgspec.msgpack.encode(question.choices),
            "state": state,
            "asked_ts": now,
            "boot": moment.boot,
            "uptime": moment.seconds,
            "ended_ts": None if state == "waiting" else now,
            "answered_by": ending.by,
            "answered_where": ending.where,
            "contents": _packed(ending.contents),
        }
        added = connection.execute(_INSERT, values).rowcount
        index(connection, _INDEXED_WITH_EACH)
        row = connection.execute(_ONE, (question.scope, question.id)).fetchone()
        if added == 1:
            index_new(connection, row["seq"])
        return _record(row), added == 1

    async def _index(self) -> None:
        """Index all pending answers. If that cannot be written, they are not found yet."""
        try:
            while not await self._read(is_indexed, True):
                await self._commits.write(lambda connection: index(connection, _INDEXED_AT_ONCE))
        except StoreError as error:
            logger.warning("The newest answers cannot be searched yet: %s", error)

    async def _read(self, work: Callable[[Sql], Any], missing: Any) -> Any:
        return await in_thread(self._database.read, work, missing)


def anything_at_all(connection: Sql) -> bool:
    """Whether a message waits for any agent."""
    return connection.execute(f"SELECT 1 FROM records WHERE {_WAITING} LIMIT 1").fetchone() is not None


def anything_for(connection: Sql, taker: Question) -> bool:
    """Whether a message waits for this question's agent, or was lent to this question before."""
    taken = "SELECT 1 FROM records WHERE scope = ? AND taken_by = ? AND taken_by <> ''"
    return (
        connection.execute(f"SELECT 1 FROM records WHERE {_FREE}", _agent(taker)).fetchone() is not None
        or connection.execute(taken, (taker.scope, taker.id)).fetchone() is not None
    )


def anything_lent(connection: Sql) -> bool:
    """Whether a message is lent to anybody."""
    return connection.execute(f"SELECT 1 FROM records WHERE {_LENT}").fetchone() is not None


def lend(connection: Sql, taker: Question) -> Sequence[Row]:
    """See ``QuestionStore``."""
    connection.execute(f"UPDATE records SET taken_by = ? WHERE {_FREE}", (taker.id, *_agent(taker)))
    return connection.execute(_TAKEN, (taker.scope, taker.id)).fetchall()


def settle(connection: Sql, taker: Question, now: float, *, got: bool) -> Sequence[Row]:
    """See ``QuestionStore``."""
    change, values = ("state = 'picked_up', ended_ts = ?", (now,)) if got else ("taken_by = ''", ())
    settled = connection.execute(
        f"UPDATE records SET {change} WHERE scope = ? AND taken_by = ? AND {_WAITING} RETURNING *",
        (*values, taker.scope, taker.id),
    )
    return sorted(settled, key=lambda row: row["seq"])


def free(connection: Sql) -> int:
    """See ``QuestionStore``."""
    return connection.execute(f"UPDATE records SET taken_by = '' WHERE {_LENT}").rowcount


def _agent(taker: Question) -> tuple[str, str, str]:
    return taker.scope, taker.project, taker.agent


def _page(rows: Iterable[Row], limit: int, *, words_only: bool) -> HistoryPage:
    """As many records as fit on a page; the rest is not fetched."""
    records, size = list[Inquiry](), 0
    for row in rows:
        words = row["answer"] if words_only else ""
        one = len(f"{row['text']}{words}".encode()) + len(row["contents"] or b"") + len(row["choices"])
        if len(records) == limit or (records and size + one > LARGEST_PAGE):
            return HistoryPage(tuple(records), records[-1].seq, size)
        size += one
        record = _record(row)
        records.append(replace(record, contents=(AnswerContent("text", words),)) if words else record)
    return HistoryPage(tuple(records), size=size)


def _conditions(scopes: tuple[str, ...], query: HistoryQuery) -> tuple[list[str], list[Any]]:
    # With the unary plus, SQLite walks several scopes in the order of seq instead of sorting all their records.
    whole = len(scopes) > 1 and query.agent is None and not query.named
    conditions, values = [f"{'+' * whole}records.scope IN ({', '.join('?' * len(scopes))})"], [*scopes]
    given = (("project = ?", query.project), ("agent = ?", query.agent), ("seq < ?", query.before or None))
    for condition, value in given:
        if value is not None:
            conditions.append(f"records.{condition}")
            values.append(value)  # type: ignore[arg-type]
    if query.named:
        named = query.named[:_MOST]
        conditions.append(f"records.id IN ({_marks(named)})")
        values.extend(named)
    if query.keys:  # in addition to the ids above, which have an index
        ids, keys = query.ids[:_MOST], query.keys[:_MOST]
        by_id = f"records.id IN ({_marks(ids)}) OR " if ids else ""
        conditions.append(f"({by_id}(records.scope, records.id) IN (VALUES {_marks(keys, '(?, ?)')}))")
        values.extend((*ids, *chain.from_iterable(keys)))
    return conditions, values


def _marks(values: Sequence[object], mark: str = "?") -> str:
    return ", ".join([mark] * len(values))


def _ended(end: End, now: float) -> tuple[object, ...]:
    """The parameters of ``_END``."""
    ending = end.ending
    text, contents = text_of(ending.contents), _packed(ending.contents)
    return ending.state, now, ending.by, ending.where, text, contents, end.scope, end.id


def _packed(contents: Sequence[AnswerContent]) -> bytes | None:
    return msgspec.msgpack.encode(contents) if contents else None


def _as_ended(record: Inquiry, ending: Ending, now: float, *, has_messages: bool) -> Inquiry:
    return replace(
        record,
        state=ending.state,
        ended_ts=now,
        by=ending.by,
        where=ending.where,
        contents=ending.contents,
        has_messages=has_messages,
    )


def _record(row: Row) -> Inquiry:
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
    return Inquiry(
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
        asked_at=Moment(row["boot"], row["uptime"]),
    )
