"""Turns what people type into a search into an expression for SQLite's full-text index (FTS5).

    plan users                 both words, in any order
    "build plan"               the words in this order
    mig*                       every word with this beginning
    plan AND users NOT legacy  AND, OR and NOT in capitals; NOT before AND before OR
    plan (users OR teams)      parentheses

Nothing that a person types reaches FTS5's own query parser unquoted: each word is quoted, and anything invalid (an open
quote, an operator without words, a leading star) is read in the most harmless way. A word with other characters in
it (``POL-358``, ``foo:bar``) is the phrase of its parts. Chinese needs no spaces: a run of characters is a phrase.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, TypeAlias

from transcript_mcp.mail.search.index_text import APART, spaced

__all__ = [
    "LONGEST_PHRASE",
    "LONGEST_QUERY",
    "MOST_LETTERS",
    "MOST_TERMS",
    "Both",
    "Either",
    "LetterQuery",
    "Node",
    "Not",
    "Term",
    "parse",
]

LONGEST_QUERY: Final = 1000
"""Characters of a query that are read."""

MOST_TERMS: Final = 32
"""Words and phrases of a query that are searched for."""

LONGEST_PHRASE: Final = 16
"""Words or Chinese characters of a phrase that are searched for. In each message that has all of them FTS5 compares
their positions, which takes seconds for a whole page of frequent ones."""

MOST_LETTERS: Final = 4
"""One-letter prefixes in a query: for each, FTS5 collects a large part of the index."""

_DEEPEST: Final = 12
"""Levels of parentheses. FTS5's parser has a stack of 100 entries, of which each level takes three or more."""

_CANNOT_BE_TYPED: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_APART_IN_CHINESE: Final = re.compile("[，。、；：？！…—·《》〈〉【】〔〕]")
_QUOTES: Final = re.compile("[“”„‟「」『』＂]")
_PIECE: Final = re.compile(r'"(?P<phrase>[^"]*)"?(?P<star>\*?)|(?P<sign>[()])|(?P<word>[^\s"()]+)')
_TOKEN: Final = re.compile(r"(?:[^\W_]|[\ue000-\uf8ff])+")
_ENDS_APART: Final = re.compile(rf"[{APART}]\W*\Z")
_OPERATORS: Final = frozenset({"AND", "OR", "NOT"})

_CUT: Final = f"Only the first {LONGEST_QUERY} characters of the query were used."
_TOO_MANY: Final = f"Only the first {MOST_TERMS} words and phrases of the query were searched for."
_LONG_PHRASE: Final = f"Only the first {LONGEST_PHRASE} words or Chinese characters of a phrase were searched for."
_LETTERS: Final = f"Only {MOST_LETTERS} one-letter prefixes were searched for as prefixes; the others as words."
_TOO_DEEP: Final = "The parentheses are nested too deeply, so messages with all of the words were searched for."
_NO_TOKEN: Final = "Only words can be found: parts without letters or digits were ignored."
_STRAY: Final = (
    'An operator with nothing to combine was ignored; put AND, OR or NOT in quotes ("and") to find the word.'
)
_NOTHING: Final = "The query has no word to search for."


@dataclass(frozen=True, slots=True)
class Term:
    """A word or phrase as the index stores it (see ``spaced``); with ``prefix`` its last word is a prefix."""

    text: str
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Not:
    """Every message except those that match ``part``."""

    part: "Node"


@dataclass(frozen=True, slots=True)
class Both:
    """Messages that match all ``parts``."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Either:
    """Messages that match any of the ``parts``."""

    parts: tuple["Node", ...]


Node: TypeAlias = Term | Not | Both | Either


@dataclass(frozen=True, slots=True)
class LetterQuery:
    """The parsed query (None: nothing to search for), and notes on what was not taken literally."""

    root: Node | None
    notes: tuple[str, ...] = ()

    def match(self, project_id: int) -> str | None:
        """The right side of MATCH for the messages of one project; None when there is nothing to search for."""
        if self.root is None:
            return None
        return _rendered(_both([_Project(project_id), self.root]), project_id)

    def terms(self) -> list[Term]:
        """The terms that a match may contain, in the order of the query; not those that NOT excludes."""
        return [] if self.root is None else list(_wanted(self.root))


@dataclass(slots=True)
class _Group:
    """The content of a pair of parentheses so far: alternatives, each a list of parts that must all match."""

    alternatives: list[list[Node]] = field(default_factory=lambda: [[]])
    negated: bool = False
    operator: bool = False


class _Parser:
    """Reads a query piece by piece with an explicit stack, so that no nesting exhausts Python's."""

    def __init__(self) -> None:
        self.groups: list[_Group] = [_Group()]
        self.found: list[Term] = []
        self.notes: dict[str, None] = {}
        self.letters: int = 0

    def read(self, text: str) -> Node | None:
        for piece in _PIECE.finditer(text):
            if len(self.found) >= MOST_TERMS:
                self.notes[_TOO_MANY] = None
                break
            if piece["sign"] == "(":
                self.groups.append(_Group())
            elif piece["sign"]:
                self._close()
            elif piece["word"] in _OPERATORS:
                self._operator(piece["word"])
            else:
                self._term(piece["phrase"] if piece["word"] is None else piece["word"], star=bool(piece["star"]))
        while len(self.groups) > 1:
            self._close()
        return self._whole(self.groups[0])

    def _term(self, text: str, *, star: bool) -> None:
        words = " ".join(spaced(text).split())
        tokens = list(islice(_TOKEN.finditer(words), LONGEST_PHRASE + 1))
        if not tokens:
            self.notes[_NO_TOKEN] = None
            return
        if len(tokens) > LONGEST_PHRASE:
            self.notes[_LONG_PHRASE] = None
            self._add_term(Term(words[: tokens[-2].end()]))
        elif (star or text.endswith("*")) and not _ENDS_APART.search(words):
            self._add_term(Term(words, prefix=self._may_go_on(tokens[-1][0])))
        else:
            self._add_term(Term(words))

    def _may_go_on(self, beginning: str) -> bool:
        self.letters += len(beginning) == 1
        if len(beginning) == 1 and self.letters > MOST_LETTERS:
            self.notes[_LETTERS] = None
            return False
        return True

    def _add_term(self, term: Term) -> None:
        self.found.append(term)
        self._add(term)

    def _operator(self, word: str) -> None:
        group = self.groups[-1]
        if word == "NOT":
            group.negated, group.operator = not group.negated, True
            return
        if group.operator or not group.alternatives[-1]:
            self.notes[_STRAY] = None
            return
        group.operator = True
        if word == "OR":
            group.alternatives.append([])

    def _add(self, node: Node) -> None:
        group = self.groups[-1]
        group.alternatives[-1].append(_negated(node) if group.negated else node)
        group.negated = group.operator = False

    def _close(self) -> None:
        if len(self.groups) == 1:
            return
        node = self._whole(self.groups.pop())
        if node is not None:
            self._add(node)

    def _whole(self, group: _Group) -> Node | None:
        if group.operator:
            self.notes[_STRAY] = None
        return _either([_both(parts) for parts in group.alternatives if parts])


def parse(text: str) -> LetterQuery:
    """Understand a query as well as possible. Never raises."""
    parser = _Parser()
    root = parser.read(_clean(text[:LONGEST_QUERY]))
    notes = ([_CUT] if len(text) > LONGEST_QUERY else []) + list(parser.notes)
    if root is None:
        return LetterQuery(None, (*notes, _NOTHING))
    if _depth(root) > _DEEPEST:
        return LetterQuery(_both(list(parser.found)), (*notes, _TOO_DEEP))
    return LetterQuery(root, tuple(notes))


@dataclass(frozen=True, slots=True)
class _Project(Term):
    """The project as a word of the index."""

    def __init__(self, project_id: int) -> None:
        Term.__init__(self, f"p{project_id:d}")


def _clean(text: str) -> str:
    text = _APART_IN_CHINESE.sub(" ", _CANNOT_BE_TYPED.sub(" ", text))
    return unicodedata.normalize("NFKC", _QUOTES.sub('"', text))


def _negated(node: Node) -> Node:
    return node.part if isinstance(node, Not) else Not(node)


def _both(nodes: Sequence[Node]) -> Node:
    parts = [part for node in nodes for part in (node.parts if isinstance(node, Both) else (node,))]
    return parts[0] if len(parts) == 1 else Both(tuple(dict.fromkeys(parts)))


def _either(nodes: Sequence[Node]) -> Node | None:
    parts = [part for node in nodes for part in (node.parts if isinstance(node, Either) else (node,))]
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else Either(tuple(dict.fromkeys(parts)))


def _depth(root: Node) -> int:
    """Levels of a tree, without recursion."""
    deepest, waiting = 0, [(root, 1)]
    while waiting:
        node, level = waiting.pop()
        deepest = max(deepest, level)
        below = node.parts if isinstance(node, Both | Either) else (node.part,) if isinstance(node, Not) else ()
        waiting.extend((part, level + 1) for part in below)
    return deepest


def _wanted(node: Node) -> Iterator[Term]:
    if isinstance(node, Term):
        yield node
    elif isinstance(node, Both | Either):
        for part in node.parts:
            yield from _wanted(part)


def _rendered(node: Node, project_id: int) -> str:
    """The expression in FTS5's syntax, where NOT needs a left side: if there is none, it is the whole project."""
    if isinstance(node, _Project):
        return f'project : "{node.text}"'
    if isinstance(node, Term):
        return f'{{subject body_md}} : "{node.text}"' + (" *" if node.prefix else "")
    if isinstance(node, Either):
        return f"({' OR '.join(_rendered(part, project_id) for part in node.parts)})"
    parts = node.parts if isinstance(node, Both) else (node,)
    fitting = [_rendered(part, project_id) for part in parts if not isinstance(part, Not)]
    excluded = [_rendered(part.part, project_id) for part in parts if isinstance(part, Not)]
    expression = f"({' AND '.join(fitting or [_rendered(_Project(project_id), project_id)])})"
    return f"({expression} NOT ({' OR '.join(excluded)}))" if excluded else expression
