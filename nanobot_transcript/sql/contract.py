"""What other rooms may do with a database: run statements within a transaction, and read rows by column name.

Statements are SQLite's; other dialects translate them. Parameters are written ``?`` or ``:name``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeAlias, TypeVar

__all__ = ["Database", "Parameters", "Row", "Rows", "Schema", "Sql", "SqliteText"]

_T = TypeVar("_T")

Parameters: TypeAlias = "Sequence[Any] | Mapping[str, Any]"


class SqliteText(str):
    """A statement that only SQLite understands. ``elsewhere`` is used in other dialects; nothing is run if it
    is empty.
    """

    __slots__ = ("elsewhere",)

    elsewhere: str

    def __new__(cls, statement: str, elsewhere: str = "") -> Self:
        made = super().__new__(cls, statement)
        made.elsewhere = elsewhere
        return made


class Row(Protocol):
    """One row: its values by name or position of the columns."""

    def __getitem__(self, column: str | int, /) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...

    def __len__(self) -> int: ...

    def keys(self) -> list[str]:
        """The names of the columns."""
        ...


class Rows(Protocol):
    """The result of a statement, read on demand. Close it if you do not read it to the end."""

    @property
    def rowcount(self) -> int:
        """How many rows a statement has changed."""
        ...

    def __iter__(self) -> Iterator[Any]: ...

    def fetchone(self) -> Any:
        """The next row; None after the last."""
        ...

    def fetchall(self) -> list[Any]:
        """All remaining rows."""
        ...

    def close(self) -> None:
        """Read no more."""
        ...


class Sql(Protocol):
    """A database within a call of ``read`` or ``write``; do not keep it."""

    def execute(self, statement: str, parameters: Parameters = (), /) -> Rows:
        """One statement."""
        ...

    def executemany(self, statement: str, parameters: Sequence[Parameters], /) -> Rows:
        """The same statement for each of many parameters."""
        ...

    def insert(self, statement: str, parameters: Parameters = ()) -> int:
        """Insert one row; returns the number that the database assigned to it."""
        ...

    def index(self, index: str, rows: str, parameters: Parameters = ()) -> None:
        """Index rows for word search: ``rows`` is a statement that returns for each row its number and then a text for
        each column of an FTS5 table, as ``Schema.words`` expects. In SQLite triggers have done that already.
        """
        ...

    def index_anew(self, index: str, rows: str, parameters: Parameters = ()) -> None:
        """Rebuild the index from these rows, and no others. In SQLite, too."""
        ...

    def last_number(self, table: str) -> int:
        """The highest row number that a table has assigned; 0 if none."""
        ...

    def number_behind(self, table: str, number: int) -> None:
        """Make a table assign only higher numbers from now on. Does nothing for a table without row numbers."""
        ...


class Database(Protocol):
    """A database that all processes share. For any thread; plain calls. All raise StoreError kinds."""

    @property
    def row_errors(self) -> tuple[type[Exception], ...]:
        """What ``Sql`` raises for a value or row that is not accepted. The transaction can continue after ``ROLLBACK
        TO`` a savepoint.
        """
        ...

    def read(self, work: Callable[[Sql], _T], missing: _T) -> _T:
        """The result of ``work``; ``missing`` when there is no database yet. Creates nothing."""
        ...

    def read_at_once(self, work: Callable[[Sql], _T], missing: _T) -> _T:
        """The same for ``work`` with several statements, which sees everything as it is at one moment."""
        ...

    def write(self, work: Callable[[Sql], _T]) -> _T:
        """Run ``work`` as one transaction that sees and changes everything at once, durable when this returns. If it
        raises, nothing was changed.
        """
        ...

    def edition(self) -> int | None:
        """Changes whenever another process has changed something; None while there is no database."""
        ...

    def identity(self) -> object:
        """Changes when the database is replaced by a new one; None while there is none."""
        ...

    def size(self) -> int:
        """Its size in bytes; 0 while there is none."""
        ...

    def damage(self) -> str:
        """What is wrong with it; empty when it is sound, or there is none."""
        ...

    def settle(self) -> None:
        """Leave no copy of removed data anywhere beside the database."""
        ...

    def close(self) -> None:
        """Release what is open; it opens again when needed."""
        ...


@dataclass(frozen=True, slots=True)
class Schema:
    """What a database holds.

    ``migrations`` are the statements that lead from each version to the next.

    ``functions`` are available in SQLite's migrations and triggers: (number of arguments, function) by name; they must
    depend only on their arguments. ``words`` gives for each FTS5 table, by name, a function from a column's value to
    the text whose words are indexed: all columns but the last are searched together, and the last one holds a single
    word.

    ``tables`` are those with data of their own, each with its key columns: referenced tables before those that refer to
    them, and first of all the one without which there is nothing. ``texts`` tells for each FTS5 table which of them it
    indexes, and the statement for ``Sql.index`` over rows behind a number.

    With ``set_aside`` an unreadable file is kept under another name and replaced by an empty one; without it every call
    raises StoreUnavailableError with the hint ``mending``.
    """

    migrations: Sequence[Sequence[str]]
    functions: Mapping[str, tuple[int, Callable[..., Any]]] = field(default_factory=dict)
    words: Mapping[str, Sequence[Callable[[Any], str]]] = field(default_factory=dict)
    tables: Mapping[str, Sequence[str]] = field(default_factory=dict)
    texts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    set_aside: bool = True
    mending: str = "Check that the folder exists and that you may write there."
