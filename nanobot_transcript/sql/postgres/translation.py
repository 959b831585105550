"""Translates SQLite's statements to PostgreSQL. Covers only what the rooms use; anything else fails loudly there.

Table names get the name of their database as a prefix, so that several databases fit in one schema, and the schema's
name, so that nothing has to be set on a connection, which a pooler may give to others between two transactions.
Parameters get names.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from nanobot_transcript.sql.postgres.tokens import SqlToken, ending_of, tokens

__all__ = ["Asked", "Names", "Translated", "spoken", "translated"]

_FUNCTIONS: Final = {"ifnull": "coalesce", "instr": "strpos"}
_OF_SEVERAL: Final = {"min": "least", "max": "greatest"}
_BEFORE_TRUTH: Final = ("WHERE", "AND", "OR", "NOT", "WHEN", "ON")
_BEHIND_TRUTH: Final = ("AND", "OR", "THEN", ")", ";", "ORDER", "LIMIT", "GROUP", "RETURNING")
_AS_IT_IS: Final = ("NULL", "TRUE", "FALSE", "DISTINCT")
_NO_SIGN: Final = SqlToken("space", "")


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a database's tables: ``schema`` is quoted, ``name`` is the database's.

    ``keys`` are the columns that number the rows, by table; ``labels`` the last columns of the word indexes.
    """

    schema: str
    name: str
    tables: frozenset[str]
    keys: Mapping[str, str] = field(hash=False, compare=False)
    labels: Mapping[str, str] = field(hash=False, compare=False)

    def table(self, table: str) -> str:
        """The full name in SQL."""
        return f"{self.schema}.{self.own(table)}"

    def own(self, name: str) -> str:
        """The name within the schema, also of an index."""
        return f"{self.name}_{name}"


@dataclass(frozen=True, slots=True)
class Asked:
    """Placeholder for a search in a word index: the value of ``parameter``."""

    index: str
    parameter: str


@dataclass(frozen=True, slots=True)
class Translated:
    """The pieces of a statement, in order. ``kind`` is its first word, in capitals."""

    kind: str
    pieces: tuple["str | Asked", ...]


@lru_cache(maxsize=2048)
def translated(statement: str, names: Names, *, numbered: bool = False) -> Translated:
    """The statement with parameters in psycopg's form; with ``numbered`` an INSERT returns the number of its row."""
    meant = spoken([each for each in tokens(statement) if each.kind != "space"])
    kind = meant[0].text.upper()
    if kind == "INSERT" and numbered:
        meant += _returning(meant, names.keys)
    return Translated(kind, tuple(_pieces(meant, names)))


def spoken(some: list[SqlToken]) -> list[SqlToken]:
    """The tokens (without blanks) of a statement or a part of one, translated."""
    for change in _CHANGES:
        some = list(change(some))
    return some


def _without_hints(some: Sequence[SqlToken]) -> Iterator[SqlToken]:
    """Drops what tells SQLite which index or which order of tables to use (INDEXED BY, CROSS JOIN)."""
    left_out = 0
    for at, token in enumerate(some):
        if left_out:
            left_out -= 1
        elif token.says("INDEXED") and _at(some, at + 1).says("BY"):
            left_out = 2
        elif not (token.says("CROSS") and _at(some, at + 1).says("JOIN")):
            yield token


def _without_pluses(some: Sequence[SqlToken]) -> Iterator[SqlToken]:
    """Drops the plus before a column, which keeps SQLite from using an index."""
    for at, token in enumerate(some):
        before = _at(some, at - 1)
        is_first = before.says("(", ",", "BY", "WHERE", "AND", "OR", "NOT", "ON")
        if not (token.says("+") and is_first):
            yield token


def _ignoring(some: Sequence[SqlToken]) -> Iterator[SqlToken]:
    """INSERT OR IGNORE becomes ON CONFLICT DO NOTHING at the end."""
    if not (len(some) > 2 and some[0].says("INSERT") and some[1].says("OR")):
        yield from some
        return
    if not some[2].says("IGNORE"):
        raise ValueError(f"INSERT OR {some[2].text} is not translated.")
    rest = list(some[3:])
    end = next((at for at, token in enumerate(rest) if token.says("RETURNING")), len(rest))
    yield some[0]
    yield from rest[:end]
    yield from (SqlToken("word", word) for word in ("ON", "CONFLICT", "DO", "NOTHING"))
    yield from rest[end:]


def _functions(some: Sequence[SqlToken]) -> Iterator[SqlToken]:
    at = 0
    while at < len(some):
        token, is_call = some[at], _at(some, at + 1).says("(")
        name = token.text.lower() if token.kind == "word" and is_call else ""
        if name == "json_group_array":
            end = ending_of(some, at + 1)
            inner = list(_functions(some[at + 2 : end]))
            yield from tokens("coalesce(json_agg(")
            yield from inner
            yield from tokens(")::text,'[]')")
            at = end + 1
            continue
        if name in _OF_SEVERAL and _has_several(some[at + 1 : ending_of(some, at + 1) + 1]):
            token = SqlToken("word", _OF_SEVERAL[name])
        elif name in _FUNCTIONS:
            token = SqlToken("word", _FUNCTIONS[name])
        yield token
        at += 1


def _has_several(arguments: Sequence[SqlToken]) -> bool:
    depth = 0
    for token in arguments:
        depth += token.says("(") - token.says(")")
        if depth == 1 and token.says(","):
            return True
    return False


def _comparisons(some: Sequence[SqlToken]) -> Iterator[SqlToken]:
    """IS compares any two values: IS NOT DISTINCT FROM."""
    negated = False
    for at, token in enumerate(some):
        if negated:
            negated = False
            continue
        if not token.says("IS"):
            yield token
            continue
        negated = _at(some, at + 1).says("NOT")
        if _at(some, at + 1 + negated).says(*_AS_IT_IS):
            negated = False
            yield token
        else:
            yield from (SqlToken("word", word) for word in ("IS", *(() if negated else ("NOT",)), "DISTINCT", "FROM"))


def _truths(some: Sequence[SqlToken]) -> Iterator[SqlToken]:
    """A number is not a boolean in PostgreSQL."""
    for at, token in enumerate(some):
        yield token
        if token.kind not in ("word", "parameter") or token.says(*_AS_IT_IS, "NOT", "EXISTS"):
            continue
        first = at - 2 if _at(some, at - 1).says(".") else at
        before, behind = _at(some, first - 1), _at(some, at + 1)
        asked = before.says(*_BEFORE_TRUTH) and (behind is _NO_SIGN or behind.says(*_BEHIND_TRUTH))
        if asked or (before.says("(") and behind.says("AND", "OR")):
            yield from (SqlToken("sign", "<>"), SqlToken("number", "0"))


_CHANGES: Final[tuple[Callable[[Sequence[SqlToken]], Iterator[SqlToken]], ...]] = (
    _without_hints,
    _without_pluses,
    _ignoring,
    _functions,
    _comparisons,
    _truths,
)


def _returning(some: Sequence[SqlToken], keys: Mapping[str, str]) -> list[SqlToken]:
    into = next(at for at, token in enumerate(some) if token.says("INTO"))
    key = keys.get(some[into + 1].text)
    return [] if key is None else [SqlToken("word", "RETURNING"), SqlToken("word", key)]


def _pieces(some: Sequence[SqlToken], names: Names) -> "Iterator[str | Asked]":
    text, count, at = "", 0, 0
    while at < len(some):
        token = some[at]
        if token.text in names.labels and _at(some, at + 1).says("MATCH"):
            parameter, count = _parameter(some[at + 2], count)
            yield text
            yield Asked(token.text, parameter)
            text, at = "", at + 3
            continue
        if token.kind == "parameter":
            parameter, count = _parameter(token, count)
            text += f"%({parameter})s "
        else:
            is_table = token.text in names.tables and not _at(some, at - 1).says(".", "AS")
            text += f"{names.table(token.text) if is_table else token.text} ".replace("%", "%%")
        at += 1
    yield text


def _parameter(token: SqlToken, count: int) -> tuple[str, int]:
    """Its name, and the number of unnamed ones so far."""
    if token.text.startswith(":"):
        return token.text[1:], count
    number = int(token.text[1:]) - 1 if len(token.text) > 1 else count
    return f"p{number}", max(count, number + 1)


def _at(some: Sequence[SqlToken], place: int) -> SqlToken:
    return some[place] if 0 <= place < len(some) else _NO_SIGN
