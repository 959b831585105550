"""Braces in paths, as a shell has them: ``src/{api,web}/*.{ts,tsx}`` stands for four patterns."""

import re
from collections.abc import Sequence
from itertools import islice, product
from typing import Final, TypeAlias

from transcript_mcp.mail.claims import patterns as matching

__all__ = ["expanded", "is_open"]

# A class of characters as ``matching`` reads it, a mark, or text without any of them.
_PIECES: Final = re.compile(r"\[[!^]?+[^/][^\]/]*\]|[{},\[]|[^{},\[]+")

_Group: TypeAlias = list[list[str]]
"""What stands between two commas, one after the other: all the texts that each is expanded to."""


def expanded(pattern: str, limit: int) -> list[str]:
    """What a pattern stands for, in the shell's order: ``limit`` of it at the most.

    A group without a comma, a brace without its other end, and what stands in ``[...]`` stay as they are; so does what
    is too long for a pattern.

    >>> expanded("{a,b{1,2}}.py", 10), expanded("{id}/[{,}].c", 10), expanded("{a,b}{c,d}", 3)
    (['a.py', 'b1.py', 'b2.py'], ['{id}/[{,}].c'], ['ac', 'ad', 'bc'])
    """
    if "{" not in pattern or len(pattern) > matching.LONGEST:
        return [pattern]
    groups: list[_Group] = [[[""]]]
    for piece in _PIECES.findall(pattern):
        if piece == "{":
            groups.append([[""]])
        elif piece == "," and len(groups) > 1:
            groups[-1].append([""])
        elif piece == "}" and len(groups) > 1:
            ended = _ended(groups.pop())
            _add(groups[-1], ended, limit)
        else:
            _add(groups[-1], [piece], limit)
    while len(groups) > 1:
        mark = "{"
        for texts in groups.pop():
            _add(groups[-1], [f"{mark}{text}" for text in texts], limit)
            mark = ","
    return groups[0][0]


def is_open(pattern: str) -> bool:
    """True when a brace has no other end.

    >>> is_open("src/{a,b.py"), is_open("a}.py"), is_open("{id}/[{].c")
    (True, True, False)
    """
    depth = 0
    for piece in _PIECES.findall(pattern):
        depth += (piece == "{") - (piece == "}")
        if depth < 0:
            return True
    return depth > 0


def _ended(group: _Group) -> list[str]:
    if len(group) == 1:
        return [f"{{{text}}}" for text in group[0]]
    return [text for texts in group for text in texts]


def _add(group: _Group, texts: Sequence[str], limit: int) -> None:
    """Put each of the texts behind what the group's last part has so far."""
    group[-1] = [before + text for before, text in islice(product(group[-1], texts), limit)]
