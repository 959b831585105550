"""How people correct a bot: "not you", another bot mentioned right behind its answer, or the question repeated with a
mention because nobody had answered it.

The result says which message a bot should have left alone, or answered. No text is kept.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from nanobot_transcript.entry import Entry
from nanobot_transcript.relevance.dialogue import DialogueLine
from nanobot_transcript.relevance.names import beside_names
from nanobot_transcript.relevance.observation import Observation
from nanobot_transcript.relevance.request_words import wording
from nanobot_transcript.relevance.text import breadth
from nanobot_transcript.unicode_text import folded

__all__ = ["Correction", "Mistake", "correction"]

Mistake: TypeAlias = Literal["intruded", "missed"]
"""The bot answered a message that was not for it, or left alone one that was."""

_NOT_YOU: Final = re.compile(
    r"(?:不是|没|没有|又没)(?:在)?(?:[问叫喊]你|[跟和对]你(?:说|讲|聊))(?!过|了|错)|不是说你(?=的|呢|啊|哈|\W|$)|没你的事|不关你的?事"
    r"|\bnot (?:asking|talking to|meant for|for) you\b|\b(?:wasn'?t|weren'?t|isn'?t) (?:asking|talking to|for) you\b"
    r"|\bdidn'?t (?:ask|mean) you\b|(?<!why )(?<!if )\bnot you\b",
    re.IGNORECASE,
)
_YOUR_TURN: Final = re.compile("(?:你来(?:说|答|回答)?|你说|请|please|pls)?")
_LINES: Final = 3
_INTRUDED_MINUTES: Final = 3.0
_MISSED_MINUTES: Final = 15.0
_SILENCE: Final = 0.25
"""Minutes: somebody who adds a mention sooner was completing the message, not waiting for an answer."""
_SHORT: Final = 12
"""``breadth`` without names of a message that says next to nothing: "?", "看一下", "please"."""
_REPEATED: Final = 0.5
_LEAST_TERMS: Final = 2


class Correction(NamedTuple):
    """What went wrong, and at which message."""

    mistake: Mistake
    message: Entry


def correction(seen: Observation, lines: Sequence[Entry]) -> Correction | None:
    """What a message says about an earlier decision of the agent; ``lines`` are those before it, as it was seen."""
    turns = seen.scene.turns
    if len(lines) != len(turns) or seen.roster.members[seen.speaker].kind == "bot":
        return None
    at = _intruded(seen, lines)
    if at is not None:
        return Correction("intruded", lines[at])
    at = _missed(seen, lines)
    return None if at is None else Correction("missed", lines[at])


def _intruded(seen: Observation, lines: Sequence[Entry]) -> int | None:
    """The line that the agent answered although it was not addressed."""
    turns, now = seen.scene.turns, seen.message.turn
    answer = seen.scene.last.get(seen.me, -1)
    if answer < 0 or len(turns) - answer > _LINES or now.minutes_since(turns[answer]) > _INTRUDED_MINUTES:
        return None
    asked = _answered(lines, turns, answer)
    if asked is None or turns[asked].who != seen.speaker or seen.me in turns[asked].to:
        return None
    refused = _NOT_YOU.search(seen.text) is not None and not now.asks and not set(now.to) - {seen.me}
    sent_on = answer == len(turns) - 1 and _is_for_another_bot(seen) and _is_sent_on(seen, turns[asked])
    return asked if refused or sent_on else None


def _missed(seen: Observation, lines: Sequence[Entry]) -> int | None:
    """The line that was for the agent: it is repeated with the agent's name, and no bot had answered it."""
    scene, turns, now = seen.scene, seen.scene.turns, seen.message.turn
    own = scene.last.get(seen.speaker, -1)
    if seen.me not in now.to or own < 0 or turns[own].to:
        return None
    if not _SILENCE <= now.minutes_since(turns[own]) <= _MISSED_MINUTES:
        return None
    if any(seen.roster.members[turn.who].kind == "bot" for turn in turns[own + 1 :]):
        return None
    words = wording(str(lines[own].get("content")), seen.names)
    asks = words.question or words.imperative or words.anybody
    return own if asks and _is_again(seen, turns[own]) else None


def _is_for_another_bot(seen: Observation) -> bool:
    others = {at for at in seen.message.turn.to if at >= 0 and seen.roster.members[at].kind == "bot"}
    return bool(others) and seen.me not in others


def _is_sent_on(seen: Observation, before: DialogueLine) -> bool:
    """True when another bot is asked the same, or just called: "@Beta 你来说". "@Beta 你呢？" is a further question."""
    return _repeats(seen.message.turn, before) or _YOUR_TURN.fullmatch(_beside_names(seen)) is not None


def _is_again(seen: Observation, before: DialogueLine) -> bool:
    """True when the message repeats a line before it, or says next to nothing but a name."""
    return _repeats(seen.message.turn, before) or breadth(_beside_names(seen)) <= _SHORT


def _repeats(now: DialogueLine, before: DialogueLine) -> bool:
    shared = len(now.terms & before.terms)
    return shared >= max(1.0, _REPEATED * len(before.terms), min(_LEAST_TERMS, len(before.terms)))


def _beside_names(seen: Observation) -> str:
    """The letters and digits of the message without names."""
    return "".join(filter(str.isalnum, beside_names(folded(seen.text), seen.names)))


def _answered(lines: Sequence[Entry], turns: Sequence[DialogueLine], answer: int) -> int | None:
    """Which line an answer is for: the one it replies to, else the last one before it by somebody else."""
    reply_to = lines[answer].get("reply_to")
    for at in range(answer - 1, max(-1, answer - 20), -1):
        if lines[at].get("message_id") == reply_to if reply_to else turns[at].who != turns[answer].who:
            return at
    return None
