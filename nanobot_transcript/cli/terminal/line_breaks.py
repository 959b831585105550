"""Breaks text into lines for a terminal: at spaces, and between any two Chinese characters."""

import re
from typing import Final

from rich.cells import cell_len, chop_cells

__all__ = ["wrap"]

_WIDE: Final = r"\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_PIECE: Final = re.compile(rf"\s+|[{_WIDE}]|[^\s{_WIDE}]+")
_NEVER_FIRST: Final = frozenset("，。、；：？！）」』】》”’,.;:?!)")
_NEVER_LAST: Final = frozenset("（「『【《")


def wrap(text: str, width: int, *, whole: bool = False) -> list[str]:
    """Lines of at most ``width`` cells; at least one, none with a space at its end. A word that is longer than a line
    is broken, unless words are to stay ``whole``.

    >>> wrap("请 check 一下", 9)
    ['请 check', '一下']
    """
    return [line for paragraph in text.splitlines() or [""] for line in _lines(paragraph, width, whole=whole)]


def _lines(paragraph: str, width: int, *, whole: bool) -> list[str]:
    if len(paragraph) * (1 if paragraph.isascii() else 2) <= width:  # no letter takes more than two cells
        return [paragraph.rstrip()]
    lines, taken = [""], 0
    for piece in _pieces(paragraph):
        size = cell_len(piece)  # rich caches the widths of short texts
        if taken + size <= width or piece.isspace():
            lines[-1] += piece
            taken += size
        else:
            if not lines[-1].strip():
                lines.pop()  # an empty line is replaced, not kept above
            lines += [piece] if whole else chop_cells(piece.lstrip(), width) or [""]
            taken = cell_len(lines[-1])
    return [line.rstrip() for line in lines]


def _pieces(paragraph: str) -> list[str]:
    """Pieces that stay together: words and single characters, each with the punctuation that follows it."""
    pieces: list[str] = []
    for piece in _PIECE.findall(paragraph):
        if pieces and (piece[0] in _NEVER_FIRST or pieces[-1][-1] in _NEVER_LAST) and not pieces[-1].isspace():
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return pieces
