"""Which texts belong to a group's conversation: mail of a mailbox, messages of an inbox."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.topics.group_talk import QUOTED
from nanobot_transcript.unicode_text import COMMON, tokens

__all__ = ["Fit", "TitledText", "fits", "spoken"]

_WINDOW: Final = 60
_TEXT: Final = 400
_LEAST: Final = 0.35
_HALF: Final = 5.0  # having so much in common gives a score of one half
_SMOOTHING: Final = 10
_LONG_WORD: Final = 4
_SHOWN_WORDS: Final = 5


@dataclass(frozen=True, slots=True)
class TitledText:
    """A text with a title. ``mark`` is what somebody would write to refer to it, such as its id; empty for none."""

    title: str
    text: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Fit:
    """How much a text belongs to a conversation (0 to 1), and why, in a sentence."""

    score: float
    reason: str


def spoken(recent: Iterable[Entry]) -> list[str]:
    """The texts of the newest 60 of these entries."""
    said = [text for entry in recent if isinstance(text := entry.get("content"), str) and not entry.get("op")]
    return said[-_WINDOW:]


def fits(candidates: Sequence[TitledText], said: Sequence[str]) -> list[Fit | None]:
    """For each text how it fits what was said; None when it does not.

    A text is compared with each message; rare words count more, words in the title twice, and words as common as "will"
    or "我们" not at all. Only the first 400 characters of a text count, without messages that it quotes from a group.
    """
    if not said:
        return [None] * len(candidates)
    heard = [set(_words(text)) for text in said]
    words = [(_words(each.title), _words(each.text.partition(QUOTED)[0][:_TEXT])) for each in candidates]
    rarity = _rarity([*heard, *({*title, *text} for title, text in words)])
    mentioned = " ".join(said).casefold()
    return [
        _mentioned(each, mentioned) or _fit(title, text, heard, rarity)
        for each, (title, text) in zip(candidates, words, strict=True)
    ]


def _words(text: str) -> list[str]:
    return [token for token in tokens(text) if token not in COMMON]


def _mentioned(candidate: TitledText, mentioned: str) -> Fit | None:
    if candidate.mark and candidate.mark.casefold() in mentioned:
        return Fit(1.0, "Its Message ID was mentioned.")
    return None


def _fit(title: list[str], text: list[str], heard: Sequence[set[str]], rarity: Mapping[str, float]) -> Fit | None:
    weights = {word: rarity[word] for word in text} | {word: 2 * rarity[word] for word in title}
    best = max(heard, key=lambda words: sum(weights[word] for word in words & weights.keys()))
    common = sum(weights[word] for word in best & weights.keys())
    score = common / (common + _HALF)
    if score < _LEAST:
        return None
    shared = ", ".join(_in_common([*title, *text], best))
    return Fit(round(score, 2), f"It has in common with what was said: {shared}.")


def _rarity(texts: Sequence[set[str]]) -> dict[str, float]:
    """From nearly 1 for a word of one text to nearly 0 for a word of all; a longer word counts twice as much."""
    count = Counter(word for words in texts for word in words)
    whole = len(texts) + _SMOOTHING
    return {
        word: log(whole / number) / log(whole) * (2 if len(word) >= _LONG_WORD else 1) for word, number in count.items()
    }


def _in_common(words: Sequence[str], said: set[str]) -> list[str]:
    """Words that both have, pairs of characters joined to words again, longest first."""
    found: list[str] = []
    before = ""
    for word in words:
        shared = word in said and len(word) > 1
        if shared and len(word) == len(before) == 2 and before[-1] == word[0] and not word.isascii():
            found[-1] += word[1:]
        elif shared:
            found.append(word)
        before = word if shared else ""
    return sorted(dict.fromkeys(found), key=len, reverse=True)[:_SHOWN_WORDS]
