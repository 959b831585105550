"""A word index in PostgreSQL that finds exactly what FTS5 finds.

A row has its distinct words in a ``tsvector`` with an inverted index, and all its words in order as text, one line for
each column, with a blank before and behind each word, for finding phrases. A ``tsvector`` alone has no positions beyond
the 16,383rd word.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from nanobot_transcript.sql.postgres.fts5_words import words

__all__ = ["condition", "kept"]

_LONGEST: Final = 100
"""Characters of a word that go into the ``tsvector``, which allows 2,046 bytes."""

_MOST: Final = 1_000_000
"""Bytes of all words of a ``tsvector`` together; a row with more is marked, and always compared as a whole."""

_LABEL: Final = "="
_MARK: Final = "*"
"""Occur in no word."""

_NOWHERE: Final = "!"

_PART: Final = re.compile(
    r'"(?P<phrase>[^"]*)"(?P<star>\s*\*)?|(?P<columns>\{[^}]*\}|\w+)\s*:|(?P<sign>[()])|(?P<operator>\w+)'
)


def kept(texts: Sequence[str]) -> tuple[list[str], str]:
    """What is stored of a row: its words, and the lines. The last of the ``texts`` is a single word."""
    *said, label = (words(text) for text in texts)
    own = [f"{_LABEL}{word}" for word in label]
    found = {word[:_LONGEST] for line in said for word in line}
    if sum(len(word.encode()) for word in found) > _MOST:
        found = {_MARK}
    return [*own, *found], "\n".join(f" {' '.join(line)} " for line in said)


@dataclass(frozen=True, slots=True)
class _Phrase:
    words: tuple[str, ...]
    prefix: bool
    is_label: bool


@dataclass(frozen=True, slots=True)
class _Tree:
    """``operator`` is AND, OR or NOT (the first part, and none of the others)."""

    operator: str
    parts: "tuple[_Node, ...]"


_Node: TypeAlias = "_Phrase | _Tree"


@dataclass(frozen=True, slots=True)
class _Search:
    """``query`` (a ``tsquery``) matches all rows in question; ``check`` tests each of them, and is empty when that is
    not needed.
    """

    query: str
    check: str = ""


def condition(expression: str, label: str, table: str, name: str) -> tuple[str, Mapping[str, Any]]:
    """The rows of the index ``table`` that match an FTS5 expression, as an SQL condition with its parameters, whose
    names begin with ``name``. ``label`` is the name of the last column.
    """
    tree = _Reading(expression, label).read()
    asking = _Asking(table, name)
    return asking.condition(tree), asking.values


class _Reading:
    """Parses the part of FTS5's syntax that rooms use: quoted phrases, a star behind them, columns before them, AND,
    OR, NOT.
    """

    def __init__(self, expression: str, label: str) -> None:
        self._parts: list[re.Match[str]] = list(_PART.finditer(expression))
        self._label: str = label
        self._at: int = 0

    def read(self) -> _Node:
        """The whole expression."""
        found = self._or(is_label=False)
        if self._at < len(self._parts):
            raise ValueError("The expression goes on behind its end.")
        return found

    def _or(self, *, is_label: bool) -> _Node:
        return self._operands("OR", lambda: self._and(is_label=is_label))

    def _and(self, *, is_label: bool) -> _Node:
        return self._operands("AND", lambda: self._not(is_label=is_label))

    def _not(self, *, is_label: bool) -> _Node:
        return self._operands("NOT", lambda: self._term(is_label=is_label))

    def _operands(self, operator: str, read: Callable[[], _Node]) -> _Node:
        parts = [read()]
        while self._at < len(self._parts) and self._parts[self._at]["operator"] == operator:
            self._at += 1
            parts.append(read())
        return parts[0] if len(parts) == 1 else _Tree(operator, tuple(parts))

    def _term(self, *, is_label: bool) -> _Node:
        part = self._parts[self._at]
        self._at += 1
        if part["columns"]:
            return self._term(is_label=part["columns"] == self._label)
        if part["sign"] == "(":
            inner = self._or(is_label=is_label)
            self._at += 1
            return inner
        return _Phrase(tuple(words(part["phrase"])), bool(part["star"]), is_label)


class _Asking:
    """Builds a condition over ``table``; its ``values`` have names that begin with ``name``."""

    def __init__(self, table: str, name: str) -> None:
        self.values: dict[str, str] = {}
        self._table: str = table
        self._name: str = name

    def condition(self, tree: _Node) -> str:
        """Found by words, or compared as a whole."""
        found = self._search(tree)
        query = f"{found.query} & !'{_MARK}'" if "!" in found.query else found.query
        return _any_of([self._fits(_Search(query, found.check)), _all_of([self._has(f"'{_MARK}'"), self._whole(tree)])])

    def _search(self, node: _Node) -> _Search:
        if isinstance(node, _Phrase):
            return self._phrase(node)
        parts = [self._search(part) for part in node.parts]
        if node.operator == "AND":
            return _Search(_query("&", [part.query for part in parts]), _all_of([part.check for part in parts]))
        if node.operator == "OR":
            checked = any(part.check for part in parts)
            check = _any_of([self._fits(part) for part in parts]) if checked else ""
            return _Search(_query("|", [part.query for part in parts]), check)
        first, *excluded = parts
        quick = [f"!({part.query})" for part in excluded if not part.check]
        slow = [f"NOT {self._fits(part)}" for part in excluded if part.check]
        return _Search(_query("&", [first.query, *quick]), _all_of([first.check, *slow]))

    def _phrase(self, phrase: _Phrase) -> _Search:
        if not phrase.words:
            return _Search(f"'{_NOWHERE}'")
        if phrase.is_label:
            return _Search(_query("&", [f"'{_LABEL}{word}'" for word in phrase.words]))
        parts = [f"'{word[:_LONGEST]}'" for word in phrase.words]
        is_cut = len(phrase.words[-1]) >= _LONGEST
        if phrase.prefix and not is_cut:
            parts[-1] += ":*"
        return _Search(_query("&", parts), self._says(phrase) if is_cut or len(parts) > 1 else "")

    def _whole(self, node: _Node) -> str:
        if isinstance(node, _Phrase):
            by_words = node.is_label or not node.words
            return self._fits(self._phrase(node)) if by_words else self._says(node)
        parts = [self._whole(part) for part in node.parts]
        if node.operator == "NOT":
            return _all_of([parts[0], *(f"NOT {part}" for part in parts[1:])])
        return _all_of(parts) if node.operator == "AND" else _any_of(parts)

    def _fits(self, search: _Search) -> str:
        return _all_of([self._has(search.query), search.check])

    def _has(self, query: str) -> str:
        return f"{self._table}.words @@ {self._bound(query)}::tsquery"

    def _says(self, phrase: _Phrase) -> str:
        line = f" {' '.join(phrase.words)}{'' if phrase.prefix else ' '}"
        return f"strpos({self._table}.said, {self._bound(line)}) > 0"

    def _bound(self, value: str) -> str:
        name = f"{self._name}_{len(self.values)}"
        self.values[name] = value
        return f"%({name})s"


def _query(sign: str, parts: Sequence[str]) -> str:
    return f"({f' {sign} '.join(parts)})"


def _all_of(conditions: Sequence[str]) -> str:
    given = [each for each in conditions if each]
    return f"({' AND '.join(given)})" if given else ""


def _any_of(conditions: Sequence[str]) -> str:
    return f"({' OR '.join(conditions)})"
