"""Comparing the content of two databases, and copying it from one to the other, whatever their dialects.

Rows are written one after the other. A table with a unique column besides its key could not be copied if two rows had
swapped values in it; no table of ours has such values.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import Any, Final, TypeAlias

import msgspec

from nanobot_transcript.sql.contract import Row, Schema, Sql

__all__ = ["Contents", "contents", "copy", "lacking", "newer", "numbers"]

_Pair: TypeAlias = "tuple[Row | None, Row | None]"

_PAGE: Final = 200
_DIGEST: Final = 16


@dataclass(frozen=True, slots=True)
class Contents:
    """How many ``rows`` all tables have together, and a digest of them. ``is_begun``: there is anything at all."""

    rows: int
    digest: str
    is_begun: bool


def contents(db: Sql, schema: Schema) -> Contents:
    """The content of a database."""
    digest, count, begun = b"", 0, False
    for number, (table, key) in enumerate(schema.tables.items()):
        for row in _rows(db, table, key):
            digest = blake2b(digest + _spelled(row), digest_size=_DIGEST).digest()
            count += 1
            begun = begun or number == 0
        digest = blake2b(digest + table.encode(), digest_size=_DIGEST).digest()
    return Contents(count, digest.hex(), begun)


def lacking(source: Sql, target: Sql, schema: Schema) -> int:
    """How many rows of the source are missing or different in the target."""
    pairs = (pair for table, key in schema.tables.items() for pair in _differing(source, target, table, key))
    return sum(row is not None for row, _ in pairs)


def numbers(db: Sql, schema: Schema) -> dict[str, int]:
    """The highest row number that each table has assigned; 0 for tables without row numbers."""
    return {table: max(db.last_number(table), _last(db, table, key)) for table, key in schema.tables.items()}


def newer(db: Sql, schema: Schema, before: Mapping[str, int]) -> int:
    """How many rows were numbered after ``before``, an earlier result of ``numbers``."""
    told = [(table, key[0], before.get(table, 0)) for table, key in schema.tables.items() if _last(db, table, key)]
    counted = [db.execute(f"SELECT count(*) FROM {table} WHERE {key} > ?", (last,)) for table, key, last in told]
    return sum(rows.fetchone()[0] for rows in counted)


def copy(source: Sql, target: Sql, schema: Schema) -> int:
    """Make the target's content equal to the source's. Returns how many rows were written or removed."""
    removed = {table: _remove(source, target, table, key) for table, key in reversed([*schema.tables.items()])}
    changes = {table: _write(source, target, table, key) for table, key in schema.tables.items()}
    for index, (table, texts) in schema.texts.items():
        change = changes[table]
        if removed[table] or change.is_old:
            target.index_anew(index, texts, (0,))
        elif change.count:
            target.index(index, texts, (change.before,))
    return sum(removed.values()) + sum(change.count for change in changes.values())


@dataclass(slots=True)
class _Change:
    """``count`` rows were written. ``is_old``: one of them existed before, or has a number below ``before``, the last
    one so far.
    """

    before: int
    count: int = 0
    is_old: bool = False


def _remove(source: Sql, target: Sql, table: str, key: Sequence[str]) -> int:
    gone = [_key(other, key) for row, other in _differing(source, target, table, key) if row is None]
    target.executemany(f"DELETE FROM {table} WHERE {' AND '.join(f'{name} = ?' for name in key)}", gone)
    return len(gone)


def _write(source: Sql, target: Sql, table: str, key: Sequence[str]) -> _Change:
    change = _Change(_last(target, table, key))
    for batch in _batches(pair for pair in _differing(source, target, table, key) if pair[0] is not None):
        numbers = [row[key[0]] for row, _ in batch if row is not None]
        old = any(other is not None for _, other in batch)
        change.is_old |= old or any(isinstance(number, int) and number <= change.before for number in numbers)
        change.count += len(batch)
        rows = [row for row, _ in batch if row is not None]
        target.executemany(_upsert(table, rows[0].keys(), key), [tuple(row) for row in rows])
    target.number_behind(table, max(source.last_number(table), _last(target, table, key)))
    return change


def _last(db: Sql, table: str, key: Sequence[str]) -> int:
    """The highest row number; 0 when rows have no numbers."""
    found = db.execute(f"SELECT max({key[0]}) FROM {table}").fetchone()[0]
    return found if isinstance(found, int) else 0


def _batches(pairs: Iterable[_Pair]) -> Iterator[list[_Pair]]:
    left = iter(pairs)
    while batch := list(islice(left, _PAGE)):
        yield batch


def _upsert(table: str, columns: Sequence[str], key: Sequence[str]) -> str:
    others = [f"{name} = excluded.{name}" for name in columns if name not in key]
    then = f"UPDATE SET {', '.join(others)}" if others else "NOTHING"
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) ON CONFLICT ({', '.join(key)}) DO {then}"


def _differing(source: Sql, target: Sql, table: str, key: Sequence[str]) -> Iterator[_Pair]:
    """Each row that differs, as it is here and there; None where it is missing. In key order."""
    ours, theirs = _rows(source, table, key), _rows(target, table, key)
    row, other = next(ours, None), next(theirs, None)
    while row is not None or other is not None:
        is_ours = other is None or (row is not None and _key(row, key) <= _key(other, key))
        is_theirs = row is None or (other is not None and _key(other, key) <= _key(row, key))
        if not (is_ours and is_theirs):
            yield (row if is_ours else None), (other if is_theirs else None)
        elif row is not None and other is not None and _spelled(row) != _spelled(other):
            yield row, other
        row = next(ours, None) if is_ours else row
        other = next(theirs, None) if is_theirs else other


def _rows(db: Sql, table: str, key: Sequence[str]) -> Iterator[Row]:
    """All rows in key order, page by page. Both dialects order texts by their bytes."""
    columns, marks = ", ".join(key), ", ".join("?" * len(key))
    order = f"ORDER BY {columns} LIMIT {_PAGE}"
    page = db.execute(f"SELECT * FROM {table} {order}").fetchall()
    while page:
        yield from page
        bound = _key(page[-1], key)
        page = db.execute(f"SELECT * FROM {table} WHERE ({columns}) > ({marks}) {order}", bound).fetchall()


def _key(row: Row | None, key: Sequence[str]) -> tuple[Any, ...]:
    return () if row is None else tuple(row[name] for name in key)


def _spelled(row: Row) -> bytes:
    """A row as bytes; without NUL, which PostgreSQL cannot store."""
    values = [value.replace("\0", "\ufffd") if isinstance(value, str) else value for value in row]
    return msgspec.msgpack.encode(values)
