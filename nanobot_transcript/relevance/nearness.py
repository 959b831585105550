"""Which bot a question is for, by the words of people who need such a bot: "a4纸又没了" is for the office bot.

``nearness.json`` tells for each word which topics of ``topics.json`` it suggests, and how strongly (in steps of a
quarter, log odds): two letters and one for each topic. ``benchmarks/gate/nearness.py`` learns it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from math import exp, log, sqrt
from typing import Final, NamedTuple

import msgspec

from nanobot_transcript.relevance.text import clipped

__all__ = ["DIGITS", "STEP", "TOPICS", "Words", "closeness", "read_words", "words_of"]

DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
"""Base 36, for numbers of topics and weights."""
STEP: Final = 0.25
TOPICS: Final = 150

_LATIN: Final = re.compile(r"[a-z]{2,20}")
_LOOKED_AT: Final = 400
_LONGEST: Final = 5
_EACH: Final = 3
_LEAST: Final = 1e-4


class Words(msgspec.Struct):
    """What Latin and Chinese words suggest."""

    latin: dict[str, str]
    dense: dict[str, str]


class _Odds(NamedTuple):
    """For a text: by topic, how much likelier it is than for a text without known words (1 for all other topics); their
    sum.
    """

    more: Mapping[str, float]
    whole: float


def closeness(text: str, descriptions: Sequence[str]) -> list[float]:
    """How close a text is to each of the descriptions: the probability (0 to 1) that both are about the same topic.
    When no word is known, all topics are equally likely.
    """
    about = _odds(clipped(text, _LOOKED_AT).casefold())
    return [_close(about, _odds(clipped(description, _LOOKED_AT).casefold())) for description in descriptions]


def words_of(text: str, known: Words) -> Iterator[str]:
    """The ``known`` words of a folded text, longest ones; some more than once."""
    for word in _LATIN.findall(text):
        if word in known.latin:
            yield word
    if text.isascii():
        return
    at, dense = 0, known.dense
    while at < len(text):
        size = next((size for size in range(_LONGEST, 0, -1) if text[at : at + size] in dense), 0)
        if size:
            yield text[at : at + size]
        at += size or 1


@lru_cache(maxsize=1024)
def _odds(text: str) -> _Odds:
    known = read_words()
    words = dict.fromkeys(words_of(text, known))
    steps: dict[str, int] = {}
    for word in words:
        told = known.latin.get(word) or known.dense[word]
        for at in range(0, len(told), _EACH):
            topic = told[at : at + 2]
            steps[topic] = steps.get(topic, 0) + int(told[at + 2], 36)
    # Many words repeat each other, so evidence grows more slowly than their number.
    step = STEP / sqrt(len(words) or 1)
    more = {topic: exp(step * steps) - 1 for topic, steps in steps.items()}
    return _Odds(more, TOPICS + sum(more.values()))


def _close(one: _Odds, other: _Odds) -> float:
    both = sum(more * other.more[topic] for topic, more in one.more.items() if topic in other.more)
    same = (one.whole + other.whole - TOPICS + both) / (one.whole * other.whole)
    return max(0.0, 1 - log(max(same, _LEAST)) / log(_LEAST))


@cache
def read_words() -> Words:
    """The words of the file, read once."""
    data = files("nanobot_transcript.relevance").joinpath("nearness.json").read_bytes()
    return msgspec.json.decode(data, type=Words)
