"""SQLite's SQL split into tokens, so that a translation never changes part of a string or comment."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["SqlToken", "ending_of", "tokens"]

_TOKEN: Final = re.compile(
    r"""
    (?P<space>\s+|--[^\n]*|/\*.*?(?:\*/|\Z))
    | (?P<string>'(?:[^']|'')*')
    | (?P<name>"(?:[^"]|"")*")
    | (?P<parameter>:[A-Za-z_]\w*|\?\d*)
    | (?P<word>[A-Za-z_]\w*)
    | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    | (?P<sign>::|<>|<=|>=|==|!=|\|\||.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class SqlToken:
    """``text`` as written; ``kind`` is string, name (in double quotes), parameter, word, number, sign, or space (also
    comments).
    """

    kind: str
    text: str

    def says(self, *words: str) -> bool:
        """True when it is one of these keywords or signs, given in capitals."""
        return self.kind in ("word", "sign") and self.text.upper() in words


def tokens(statement: str) -> list[SqlToken]:
    """All tokens of a statement; comments become blanks."""
    found = ((match.lastgroup or "", match[0]) for match in _TOKEN.finditer(statement))
    return [SqlToken(kind, " " if kind == "space" else text) for kind, text in found]


def ending_of(some: Sequence[SqlToken], start: int) -> int:
    """The position of the parenthesis that closes the one at ``start``."""
    depth = 0
    for at in range(start, len(some)):
        depth += some[at].says("(") - some[at].says(")")
        if depth == 0:
            return at
    raise ValueError("A parenthesis is not closed.")
