"""Which bot a question is for, by words that stand near those of its description: "tyres" near "workshop, trucks".

``nearness.json`` says of each word which topics of ``topics.json`` it is near, and how near (1 to 9, more for rare
words): two letters and a digit for each. ``benchmarks/gate/nearness.py`` makes it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from math import sqrt
from typing import Final

import msgspec

from nanobot_transcript.relevance.text import clipped

__all__ = ["DIGITS", "closeness", "near", "read_words"]

DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
"""Of the numbers of topics, to the base of 36."""

_LATIN: Final = re.compile(r"[a-z]{2,20}")
_LOOKED_AT: Final = 400
_LONGEST: Final = 5
_EACH: Final = 3


class _Words(msgspec.Struct):
    latin: dict[str, str]
    dense: dict[str, str]


def closeness(text: str, descriptions: Sequence[str]) -> list[float]:
    """How close a text is to each of the descriptions, 0 to 1."""
    about = near(text)
    return [_cosine(about, near(description)) for description in descriptions]


def near(text: str) -> Mapping[str, float]:
    """The topics that the words of a text are near, by number, and how much of it."""
    return _near(clipped(text, _LOOKED_AT).casefold())


@lru_cache(maxsize=1024)
def _near(text: str) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for told in _told(text):
        for at in range(0, len(told), _EACH):
            topic = told[at : at + 2]
            found[topic] = found.get(topic, 0.0) + int(told[at + 2])
    return found


def _told(text: str) -> Iterator[str]:
    words = read_words()
    for word in _LATIN.findall(text):
        if word in words.latin:
            yield words.latin[word]
    if text.isascii():
        return
    at, dense = 0, words.dense
    while at < len(text):
        size = next((size for size in range(_LONGEST, 1, -1) if text[at : at + size] in dense), 0)
        if size:
            yield dense[text[at : at + size]]
        at += size or 1


def _cosine(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    shared = sum(weight * other[topic] for topic, weight in one.items() if topic in other)
    return shared / (_size(one) * _size(other)) if shared else 0.0


def _size(of: Mapping[str, float]) -> float:
    return sqrt(sum(weight * weight for weight in of.values()))


@cache
def read_words() -> _Words:
    """The words of the file, read once."""
    data = files("nanobot_transcript.relevance").joinpath("nearness.json").read_bytes()
    return msgspec.json.decode(data, type=_Words)
