"""How much the words of a text sound like something said to a bot: runs of one to three words, each with a weight.

Chinese is read character by character. Names of members count as one and the same word, numbers too, so that nothing
depends on who is in a group.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from nanobot_transcript.relevance.names import beside_names
from nanobot_transcript.relevance.text import clipped
from nanobot_transcript.unicode_text import DENSE

__all__ = ["Phrases", "grams"]

_LOOKED_AT: Final = 300
_NAME: Final = "§"
_NUMBER: Final = "0"
_WORD: Final = re.compile(rf"[a-z]+(?:'[a-z]+)?|\d+|§|[?？!！~～…,，。:：]|(?![\u3000-\u303f])[{DENSE}]")
_LONGEST: Final = 3


class Phrases(NamedTuple):
    """Weights by run of words, for three questions: is a text for some bot; when a bot was just talking with its
    writer, is it for that bot; when none was, and none is named, is it for one. Scores are in log odds.
    """

    weights: Mapping[str, tuple[float, float, float]]
    base: tuple[float, float, float]

    def scores(self, text: str, names: frozenset[str]) -> tuple[float, float, float]:
        """The scores of a text for the three questions."""
        request, reply, fresh = self.base
        for gram in grams(text, names):
            known = self.weights.get(gram)
            if known is not None:
                request += known[0]
                reply += known[1]
                fresh += known[2]
        return request, reply, fresh

    @classmethod
    def of(cls, document: Any) -> "Phrases":
        """The weights in a decoded document. Raises ValueError, KeyError, TypeError when it holds none."""
        weights = {str(gram): _three(numbers) for gram, numbers in document["weights"].items()}
        return cls(weights, _three(document["base"]))


def grams(text: str, names: frozenset[str]) -> frozenset[str]:
    """The runs of words in a text, each once; ``names`` are those of members, folded."""
    text = clipped(text, _LOOKED_AT).casefold()
    return frozenset(_runs(beside_names(text, names, f" {_NAME} ")))


def _three(numbers: Any) -> tuple[float, float, float]:
    one, two, three = numbers
    return float(one), float(two), float(three)


def _runs(text: str) -> Iterator[str]:
    words = ["<", *(_NUMBER if word.isdigit() else word for word in _WORD.findall(text)), ">"]
    for size in range(1, _LONGEST + 1):
        for at in range(len(words) - size + 1):
            yield " ".join(words[at : at + size])
