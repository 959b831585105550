"""The words of a text as SQLite's full-text index splits them, for an index in PostgreSQL that must find the same.

Which characters form words, and which count as equal, is asked of SQLite itself: its Unicode tables differ from
Python's.
"""

import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from itertools import groupby
from typing import Final

__all__ = ["words"]

_TOKENIZER: Final = "tokenize='unicode61 remove_diacritics 2'"
_APART: Final = " "
_BLOCK: Final = 256
_SURROGATES: Final = range(0xD800, 0xE000)


class _Folding(dict[int, str]):
    """Characters as the index compares them: a blank for one that separates words, nothing for one that is ignored.

    SQLite is asked when a character first occurs, together with its neighbours, which are likely to come next.
    """

    def __init__(self) -> None:
        self._mutex: threading.Lock = threading.Lock()

    def __missing__(self, code: int) -> str:
        with self._mutex:
            if code not in self:
                first = code - code % _BLOCK
                self.update(_asked([each for each in range(first, first + _BLOCK) if each not in _SURROGATES]))
                self.setdefault(code, _APART)
        return self[code]


def _asked(codes: Sequence[int]) -> dict[int, str]:
    """How SQLite treats each character, tested between two letters."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE VIRTUAL TABLE texts USING fts5(text, {_TOKENIZER})")
        connection.execute("CREATE VIRTUAL TABLE terms USING fts5vocab(texts, instance)")
        connection.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", [(c, f"a{chr(c)}b") for c in codes])
        rows = connection.execute("SELECT doc, term FROM terms ORDER BY doc, offset").fetchall()
    found = {code: [term for _, term in terms] for code, terms in groupby(rows, key=lambda row: row[0])}
    return {code: terms[0][1:-1] if len(terms) == 1 else _APART for code, terms in found.items()}


_folding: Final = _Folding()


def words(text: str) -> list[str]:
    """All words of a text, in order.

    >>> words("Über 发 布, x_y v2.0")
    ['uber', '发', '布', 'x', 'y', 'v2', '0']
    """
    return text.translate(_folding).split()
