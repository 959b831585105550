"""``Sql`` over a connection to PostgreSQL: SQLite's statements, translated."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import psycopg

from nanobot_transcript.sql.contract import Parameters, Schema, SqliteText
from nanobot_transcript.sql.postgres.full_text import condition, kept
from nanobot_transcript.sql.postgres.translation import Asked, Names, Translated, translated

__all__ = ["Statements"]

_AT_ONCE: Final = 500
_CHARACTERS: Final = 1 << 20
_NUMBERS: Final = 1 << 63
_NUMERIC, _BOOL = 1700, 16
_SAVEPOINTS: Final = ("SAVEPOINT", "RELEASE", "ROLLBACK")
_INDEXED: Final = """
INSERT INTO {} (rowid, words, said) VALUES (%(number)s, array_to_tsvector(%(words)s::text[]), %(said)s)
ON CONFLICT (rowid) DO UPDATE SET words = excluded.words, said = excluded.said
"""


class PostgresRow:
    """One row. See ``Row``."""

    __slots__ = ("_places", "_values")

    def __init__(self, places: dict[str, int], values: Sequence[Any]) -> None:
        self._places: dict[str, int] = places
        self._values: Sequence[Any] = values

    def __getitem__(self, column: str | int) -> Any:
        return self._values[self._places[column] if isinstance(column, str) else column]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def keys(self) -> list[str]:
        """The names of the columns."""
        return sorted(self._places, key=self._places.__getitem__)


class _Rows:
    """The result of a statement. See ``Rows``."""

    def __init__(self, rows: Sequence[Any], rowcount: int) -> None:
        self.rowcount: int = rowcount
        self._left: Iterator[Any] = iter(rows)

    def __iter__(self) -> Iterator[Any]:
        return self._left

    def fetchone(self) -> Any:
        """See ``Rows.fetchone``."""
        return next(self._left, None)

    def fetchall(self) -> list[Any]:
        """See ``Rows.fetchall``."""
        return list(self._left)

    def close(self) -> None:
        """See ``Rows.close``."""
        self._left = iter(())


_NOTHING: Final[Sequence[Any]] = ()


class Statements:
    """``Sql`` over one connection in autocommit. Values are written into the statements, so that several statements can
    go to the server in one message: ``before`` goes with the first one, and the row that its last statement returns is
    kept.
    """

    def __init__(
        self, connection: "psycopg.Connection[Any]", names: Names, schema: Schema, before: Sequence[str] = ()
    ) -> None:
        self.changed: bool = False
        """True when anything was written."""
        self.is_begun: bool = False
        """True when anything was sent."""
        self.answer_before: PostgresRow | None = None
        """The row that the last statement of ``before`` returned."""
        self._connection: psycopg.Connection[Any] = connection
        self._names: Names = names
        self._schema: Schema = schema
        self._waiting: list[str] = list(before)
        self._answers_at: int = len(before) - 1

    def execute(self, statement: str, parameters: Parameters = ()) -> _Rows:
        """See ``Sql.execute``."""
        return self._run(statement, parameters)

    def executemany(self, statement: str, parameters: Sequence[Parameters]) -> _Rows:
        """See ``Sql.executemany``: in as few messages as possible."""
        said, count = translated(statement, self._names), 0
        for some in _in_messages(self._filled(said, each) for each in parameters):
            count += self._send(some)[1]
        self.changed |= count > 0
        return _Rows(_NOTHING, count)

    def insert(self, statement: str, parameters: Parameters = ()) -> int:
        """See ``Sql.insert``."""
        row = self._run(statement, parameters, numbered=True).fetchone()
        return 0 if row is None else row[0]

    def index(self, index: str, rows: str, parameters: Parameters = ()) -> None:
        """See ``Sql.index``."""
        statement, makes = _INDEXED.format(self._names.table(index).replace("%", "%%")), self._schema.words[index]

        def indexed() -> Iterator[str]:
            for number, *values in self.execute(rows, parameters).fetchall():
                found, said = kept([_storable(make(value)) for make, value in zip(makes, values, strict=True)])
                yield self._bound(statement, {"number": number, "words": found, "said": said})

        for some in _in_messages(indexed()):
            self._send(some)
            self.changed = True

    def index_anew(self, index: str, rows: str, parameters: Parameters = ()) -> None:
        """See ``Sql.index_anew``."""
        self._send([f"DELETE FROM {self._names.table(index)}"])
        self.changed = True
        self.index(index, rows, parameters)

    def last_number(self, table: str) -> int:
        """See ``Sql.last_number``."""
        return self._of_numbers(table, "SELECT coalesce(pg_sequence_last_value({numbers}), 0)")

    def number_behind(self, table: str, number: int) -> None:
        """See ``Sql.number_behind``."""
        if number > self.last_number(table):
            self._of_numbers(table, f"SELECT setval({{numbers}}, {number:d})")

    def _of_numbers(self, table: str, statement: str) -> int:
        """Run a statement about the sequence of a table."""
        if table not in self._names.keys:
            return 0
        name = f"pg_get_serial_sequence('{self._names.table(table)}', '{self._names.keys[table]}')::regclass"
        rows, _ = self._send([statement.format(numbers=name)])
        return int(rows[0][0])

    def ask(self, statement: str) -> PostgresRow | None:
        """The first row of an untranslated statement."""
        rows, _ = self._send([statement])
        return rows[0] if rows else None

    def finish(self, *last: str) -> str:
        """Send what is still queued, and ``last``; returns the server's answer to the last of them."""
        cursor = self._sent([*self._waiting, *last])
        self._waiting.clear()
        while cursor.nextset():
            pass
        return cursor.statusmessage or ""

    def _run(self, statement: str, parameters: Parameters, *, numbered: bool = False) -> _Rows:
        if isinstance(statement, SqliteText):
            statement = statement.elsewhere
        if not statement:
            return _Rows(_NOTHING, 0)
        said = translated(statement, self._names, numbered=numbered)
        if said.kind in _SAVEPOINTS:
            self._waiting.append(statement)
            return _Rows(_NOTHING, -1)
        rows, count = self._send([self._filled(said, parameters)])
        self.changed |= said.kind not in ("SELECT", "WITH") and count > 0
        return _Rows(rows, count)

    def _filled(self, said: Translated, parameters: Parameters) -> str:
        given = (
            parameters if isinstance(parameters, Mapping) else {f"p{at}": each for at, each in enumerate(parameters)}
        )
        values = {name: _kept(value) for name, value in given.items()}
        text = ""
        for number, piece in enumerate(said.pieces):
            if isinstance(piece, Asked):
                table, label = self._names.table(piece.index).replace("%", "%%"), self._names.labels[piece.index]
                asked, bound = condition(given[piece.parameter], label, table, f"words{number}")
                text += asked
                values.update(bound)
            else:
                text += piece
        return self._bound(text, values)

    def _bound(self, text: str, values: Mapping[str, Any]) -> str:
        return psycopg.ClientCursor(self._connection).mogrify(text.encode(), values)

    def _send(self, statements: Sequence[str]) -> tuple[Sequence[Any], int]:
        """The rows of the last statement, and how many rows all of them changed or returned."""
        before, self._waiting = self._waiting, []
        cursor = self._sent([*before, *statements])
        for place in range(len(before)):
            if place == self._answers_at:
                self.answer_before, self._answers_at = cursor.fetchone() if cursor.description else None, -1
            cursor.nextset()
        count = max(0, cursor.rowcount)
        while cursor.nextset():
            count += max(0, cursor.rowcount)
        return (cursor.fetchall() if cursor.description else _NOTHING), count

    def _sent(self, statements: Sequence[str]) -> "psycopg.Cursor[Any]":
        self.is_begun = True
        cursor = psycopg.ClientCursor(self._connection, row_factory=_rows)
        return cursor.execute("; ".join(statements).encode())


def _in_messages(statements: Iterable[str]) -> Iterator[list[str]]:
    """Statements grouped into messages of a reasonable size."""
    some: list[str] = []
    size = 0
    for each in statements:
        some.append(each)
        size += len(each)
        if len(some) == _AT_ONCE or size > _CHARACTERS:
            yield some
            some, size = [], 0
    if some:
        yield some


def _rows(cursor: "psycopg.Cursor[Any]") -> Callable[[Sequence[Any]], PostgresRow]:
    columns = cursor.description or ()
    places = {
        column.name: place for place, column in reversed(list(enumerate(columns)))
    }  # the first column of a name counts
    plain = [(place, _PLAIN[column.type_code]) for place, column in enumerate(columns) if column.type_code in _PLAIN]

    def made(values: Sequence[Any]) -> PostgresRow:
        if plain:
            values = list(values)
            for place, change in plain:
                values[place] = None if values[place] is None else change(values[place])
        return PostgresRow(places, values)

    return made


def _number(value: Decimal) -> int | float:
    """A whole number stays a whole number."""
    return int(value) if value.as_tuple().exponent == 0 else float(value)


_PLAIN: Final[dict[int, Callable[[Any], Any]]] = {_NUMERIC: _number, _BOOL: int}
"""Conversions of values of these types into what SQLite returns."""


def _kept(value: Any) -> Any:
    """A value as SQLite would store it; a text never contains NUL."""
    if isinstance(value, str):
        return _storable(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int) and not -_NUMBERS <= value < _NUMBERS:
        raise OverflowError(f"{value} is too large to be kept.")
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def _storable(text: str) -> str:
    return text.replace("\0", "\ufffd") if "\0" in text else text
