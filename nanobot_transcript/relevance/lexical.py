"""How much a text has to do with what was said lately: words and pairs of Chinese characters, weighted by rarity.

Pure, without a dictionary, and without an agent: whoever has a text and a few others can ask.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import log
from typing import Final

from nanobot_transcript.scripts import DENSE, TEXT_LIMIT

__all__ = ["score", "tokens"]

_TOKEN: Final = re.compile(rf"[^\W{DENSE}]+|(?:(?![\u3000-\u303f])[{DENSE}])+")
_DENSE: Final = re.compile(f"[{DENSE}]")
_WINDOW: Final = 200
_SATURATION: Final = 1.2
_LENGTH: Final = 0.75
_FUNCTION_WORD: Final = 2


def tokens(text: str) -> list[str]:
    """The words of a text, and the overlapping pairs of its dense characters (a single one stands for itself).

    >>> tokens("Beta的发布 v2")
    ['beta', '的发', '发布', 'v2']
    """
    return list(_tokens(text[:TEXT_LIMIT].casefold()))


def score(text: str, window: Sequence[str]) -> float:
    """From 0 (nothing in common) to 1 (all that is rare in ``text`` was said): BM25 of the best fitting text.

    The share of the text's weight that the fitting text covers; terms that every text has weigh next to nothing. At
    most the last 200 texts are looked at.

    >>> score("when is the release?", ["lunch?", "the release is on Friday"]) > score("hello", ["lunch?"])
    True
    """
    wanted = Counter(token for token in tokens(text) if len(token) >= _FUNCTION_WORD or _DENSE.match(token))
    texts = [Counter(tokens(one)) for one in window[-_WINDOW:] if isinstance(one, str)]
    texts = [one for one in texts if one]
    if not wanted or not texts:
        return 0.0
    documents = Counter(token for one in texts for token in one.keys() & wanted.keys())
    weight = {token: log(1 + (len(texts) - documents[token] + 0.5) / (documents[token] + 0.5)) for token in wanted}
    whole = sum(weight.values())
    mean = sum(one.total() for one in texts) / len(texts)
    return min(1.0, max(_covered(one, weight, mean) for one in texts) / whole) if whole else 0.0


def _covered(one: Counter[str], weight: dict[str, float], mean: float) -> float:
    """The weight that one text covers; a term said once in a text of mean length counts in full."""
    norm = _SATURATION * (1 - _LENGTH + _LENGTH * one.total() / mean)
    return sum(
        value * min(1.0, one[token] * (1 + _SATURATION) / (one[token] + norm))
        for token, value in weight.items()
        if token in one
    )


def _tokens(text: str) -> Iterator[str]:
    for run in _TOKEN.findall(text):
        if _DENSE.match(run) and len(run) > 1:
            yield from (run[at : at + 2] for at in range(len(run) - 1))
        else:
            yield run
