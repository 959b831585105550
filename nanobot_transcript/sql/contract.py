"""What rooms may do with a database: statements inside of a transaction, and rows by the names of their columns.

Statements are SQLite's; another dialect translates what differs. Parameters stand as ``?`` or ``:name``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeAlias, TypeVar

__all__ = ["Database", "Parameters", "Row", "Rows", "Schema", "Sql", "SqliteText"]

_T = TypeVar("_T")

Parameters: TypeAlias = "Sequence[Any] | Mapping[str, Any]"


class SqliteText(str):
    """A statement that SQLite alone understands. ``elsewhere`` is said in its place; nothing, where it is empty."""

    __slots__ = ("elsewhere",)

    elsewhere: str

    def __new__(cls, statement: str, elsewhere: str = "") -> Self:
        made = super().__new__(cls, statement)
        made.elsewhere = elsewhere
        return made


class Row(Protocol):
    """One row: its values by the names or the places of the columns."""

    def __getitem__(self, column: str | int, /) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...

    def __len__(self) -> int: ...

    def keys(self) -> list[str]:
        """The names of the columns."""
        ...


class Rows(Protocol):
    """What a statement gives, read as it is asked for. Close what is not read to its end."""

    @property
    def rowcount(self) -> int:
        """How many rows a statement has changed."""
        ...

    def __iter__(self) -> Iterator[Any]: ...

    def fetchone(self) -> Any:
        """The next row; None behind the last."""
        ...

    def fetchall(self) -> list[Any]:
        """All that are left."""
        ...

    def close(self) -> None:
        """Nothing more is read."""
        ...


class Sql(Protocol):
    """A database within a call of ``read`` or ``write``; not to be kept."""

    def execute(self, statement: str, parameters: Parameters = (), /) -> Rows:
        """One statement."""
        ...

    def executemany(self, statement: str, parameters: Sequence[Parameters], /) -> Rows:
        """The same statement for each of many parameters."""
        ...

    def insert(self, statement: str, parameters: Parameters = ()) -> int:
        """Insert one row; the number that the database has given it."""
        ...

    def index(self, index: str, rows: str, parameters: Parameters = ()) -> None:
        """Let rows be found by their words: ``rows`` is a statement that gives, of each, its number and then a text for
        each column of an FTS5 table, as ``Schema.words`` wants it. In SQLite triggers have done that already.
        """
        ...

    def index_anew(self, index: str, rows: str, parameters: Parameters = ()) -> None:
        """Let these rows be found by their words, and no others. In SQLite, too."""
        ...

    def last_number(self, table: str) -> int:
        """The highest number that a table has given to a row; 0 where it has given none."""
        ...

    def number_behind(self, table: str, number: int) -> None:
        """Let a table give higher numbers only, from now on. One that gives none stays as it is."""
        ...


class Database(Protocol):
    """A database that all processes share. For any thread; plain calls. All raise StoreError kinds."""

    @property
    def row_errors(self) -> tuple[type[Exception], ...]:
        """What ``Sql`` raises for a value or row that is not taken. The transaction may go on after ``ROLLBACK TO`` a
        savepoint.
        """
        ...

    def read(self, work: Callable[[Sql], _T], missing: _T) -> _T:
        """What ``work`` finds; ``missing`` where there is no database yet. Creates nothing."""
        ...

    def read_at_once(self, work: Callable[[Sql], _T], missing: _T) -> _T:
        """The same, for a ``work`` of several statements: it sees everything as it is at one moment."""
        ...

    def write(self, work: Callable[[Sql], _T]) -> _T:
        """``work`` as one transaction that sees and changes everything at once, kept when this returns. When it raises,
        nothing was changed.
        """
        ...

    def edition(self) -> int | None:
        """Another number whenever another process has changed something; None while there is no database."""
        ...

    def identity(self) -> object:
        """Tells this database from one that was begun anew in its place; None while there is none."""
        ...

    def size(self) -> int:
        """The bytes that it takes; 0 while there is none."""
        ...

    def damage(self) -> str:
        """What is wrong with it; empty when it is sound, or there is none."""
        ...

    def settle(self) -> None:
        """Let nothing that was removed stay anywhere beside it."""
        ...

    def close(self) -> None:
        """Release what is open; it is opened again when it is needed."""
        ...


@dataclass(frozen=True, slots=True)
class Schema:
    """What a database holds.

    ``migrations`` are the statements that lead from each version to the next.
    ``functions`` are known to SQLite's migrations and triggers: (number of arguments, function) by name; they depend on
    their arguments alone. ``words`` says of each FTS5 table, by name, what makes of a column's value the text of which
    its words are: all columns but the last are searched together, and the last one holds a single word.
    ``tables`` are those that hold something of their own, each with the columns of its key: those first whose rows
    others name, and first of all the one without which there is nothing. ``texts`` says of each FTS5 table of which of
    them it is, and how to ask for what ``Sql.index`` wants of its rows behind a number.
    With ``set_aside`` a file that cannot be read is kept under another name and an empty one takes its place; without
    it every call raises StoreUnavailableError with the hint ``mending``.
    """

    migrations: Sequence[Sequence[str]]
    functions: Mapping[str, tuple[int, Callable[..., Any]]] = field(default_factory=dict)
    words: Mapping[str, Sequence[Callable[[Any], str]]] = field(default_factory=dict)
    tables: Mapping[str, Sequence[str]] = field(default_factory=dict)
    texts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    set_aside: bool = True
    mending: str = "Check that the folder exists and that you may write there."
