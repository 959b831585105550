"""The words of a text as SQLite's full-text index has them, for an index elsewhere that is to find the same.

Which characters make a word, and which count as the same, SQLite says itself: its tables are not Python's.
"""

import sqlite3
import threading
from collections.abc import Iterable
from contextlib import closing
from itertools import groupby
from typing import Final

__all__ = ["words"]

_TOKENIZER: Final = "tokenize='unicode61 remove_diacritics 2'"
_APART: Final = " "


class _Folding(dict[int, str]):
    """Characters as the index compares them: a blank for one that parts words, nothing for one that it leaves out."""

    def __init__(self) -> None:
        self._mutex: threading.Lock = threading.Lock()

    def learn(self, codes: Iterable[int]) -> None:
        """Ask SQLite about characters, each between two letters."""
        asked = sorted(codes)
        with self._mutex, closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(f"CREATE VIRTUAL TABLE texts USING fts5(text, {_TOKENIZER})")
            connection.execute("CREATE VIRTUAL TABLE terms USING fts5vocab(texts, instance)")
            texts = [(code, f"a{chr(code)}b") for code in asked]
            connection.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", texts)
            rows = connection.execute("SELECT doc, term FROM terms ORDER BY doc, offset")
            found = {code: [term for _, term in terms] for code, terms in groupby(rows, key=lambda row: row[0])}
        for code in asked:
            self[code] = found[code][0][1:-1] if len(found[code]) == 1 else _APART


_folding: Final = _Folding()


def words(text: str) -> list[str]:
    """All words of a text, in order. No lone surrogates.

    >>> words("Über 发 布, x_y v2.0")
    ['uber', '发', '布', 'x', 'y', 'v2', '0']
    """
    new = set(map(ord, set(text))) - _folding.keys()
    if new:
        _folding.learn(new)
    return text.translate(_folding).split()
