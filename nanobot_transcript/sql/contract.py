"""What rooms may do with a database: statements inside of a transaction, and rows by the names of their columns.

Statements are SQLite's; another dialect translates what differs. Parameters stand as ``?`` or ``:name``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

__all__ = ["Database", "Parameters", "Row", "Rows", "Schema", "Sql"]

_T = TypeVar("_T")

Parameters: TypeAlias = "Sequence[Any] | Mapping[str, Any]"


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


class Database(Protocol):
    """A database that all processes share. For any thread; plain calls. All raise StoreError kinds."""

    @property
    def row_errors(self) -> tuple[type[Exception], ...]:
        """What ``Sql`` raises for a value or row that is not taken; the rest of the transaction may go on."""
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
    ``functions`` are known to its SQL: (number of arguments, function) by name; they depend on their arguments alone.
    With ``set_aside`` a file that cannot be read is kept under another name and an empty one takes its place; without
    it every call raises StoreUnavailableError with the hint ``mending``.
    """

    migrations: Sequence[Sequence[str]]
    functions: Mapping[str, tuple[int, Callable[..., Any]]] = field(default_factory=dict)
    set_aside: bool = True
    mending: str = "Check that the folder exists and that you may write there."
