"""How near what somebody says is to what a bot is for: "a4纸又没了" is near "office supplies".

Each word has a place among all words, a row of numbers. A text lies where its words lie together. The places were
learned by ``benchmarks/gate/nearness.py`` so that what people say to a bot lies nearer to its description than to those
of the bots beside it. They are in ``nearness.latin.msgpack`` and ``nearness.dense.msgpack``.
"""

import re
from collections.abc import Container, Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from math import sqrt
from operator import mul
from typing import Final, NamedTuple

import msgspec

from nanobot_transcript.relevance.text import clipped
from nanobot_transcript.unicode_text import folded

__all__ = ["MIDDLE", "SCRIPTS", "Places", "closeness", "read_places", "words_of"]

SCRIPTS: Final = ("latin", "dense")
"""A file for the words of each."""
MIDDLE: Final = 128
"""The byte that stands for 0."""

_LOOKED_AT: Final = 400
_LATIN: Final = re.compile(r"[a-z0-9]{2,20}")
_DENSE: Final = re.compile(r"[\u3400-\u9fff]+")
_LONGEST, _PAIR = 5, 2
"""Characters of the longest Chinese words, and of those that count whether known or not."""


class Places(msgspec.Struct):
    """A file: words, one on each line; for each of them ``size`` bytes, which count ``step`` each from ``MIDDLE``. Size
    and step are the same in all files.
    """

    size: int
    step: float
    words: str
    table: bytes


class _Known(NamedTuple):
    """The places in memory: of each word the row in the ``table``."""

    size: int
    step: float
    rows: dict[str, int]
    table: bytes


class _Place(NamedTuple):
    """Where a text lies: the sums of the bytes of its words, each less ``MIDDLE``; how many words are known."""

    sums: tuple[int, ...]
    words: int


def closeness(text: str, descriptions: Sequence[str]) -> list[float]:
    """How near a text is to each of the descriptions: the log odds of one against another. 0 where no word of the text
    or of the description is known.
    """
    said, step = _place_of(text), read_places().step
    # Whole numbers until the end, so that the result is the same in every version of Python.
    places = [_place_of(about) for about in descriptions]
    return [
        step * step * sum(map(mul, said.sums, about.sums)) / sqrt((said.words + 1) * (about.words + 1))
        for about in places
    ]


def words_of(text: str, known: Container[str]) -> Iterator[str]:
    """The words of a folded text that can have a place: Latin words and pairs of them; Chinese characters, pairs of
    them, and longer ``known`` words. Some come more than once.
    """
    latin = _LATIN.findall(text)
    yield from latin
    for first, second in pairwise(latin):
        yield f"{first} {second}"
    if text.isascii():
        return
    for run in _DENSE.findall(text):
        yield from run
        for at in range(len(run) - 1):
            yield run[at : at + _PAIR]
        yield from _long_words(run, known)


def _long_words(run: str, known: Container[str]) -> Iterator[str]:
    at = 0
    while at < len(run):
        size = next((size for size in range(_LONGEST, 1, -1) if run[at : at + size] in known), 1)
        if size > _PAIR:
            yield run[at : at + size]
        at += size


def _place_of(text: str) -> _Place:
    return _place(folded(clipped(text, _LOOKED_AT)))


@lru_cache(maxsize=1024)
def _place(text: str) -> _Place:
    known = read_places()
    size, table, rows = known.size, known.table, known.rows
    found = [rows[word] for word in dict.fromkeys(words_of(text, rows)) if word in rows]
    # Bytes are summed column by column, which takes a fraction of the time that rows of numbers would.
    columns = zip(*[table[at * size : (at + 1) * size] for at in found], strict=True)
    middle = MIDDLE * len(found)
    return _Place(tuple([sum(column) - middle for column in columns]), len(found))


@cache
def read_places() -> _Known:
    """The places of all words, read once."""
    folder = files("nanobot_transcript.relevance")
    read = [
        msgspec.msgpack.decode(folder.joinpath(f"nearness.{script}.msgpack").read_bytes(), type=Places)
        for script in SCRIPTS
    ]
    words = (word for places in read for word in places.words.split("\n"))
    rows = {word: at for at, word in enumerate(words)}
    return _Known(read[0].size, read[0].step, rows, b"".join(places.table for places in read))
