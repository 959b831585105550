"""The simple rules that the gate has to beat: for each case, who would answer."""

from collections.abc import Callable, Mapping
from typing import Final

from nanobot_transcript.relevance.evaluation.task import LabelledCase, names

__all__ = ["BASELINES", "Rule"]

Rule = Callable[[LabelledCase], frozenset[str]]
"""Returns the nicks of those who would answer."""

_PARTNER_LINES: Final = 60


def _everything(case: LabelledCase) -> frozenset[str]:
    return frozenset(member.name for member in case.candidates)


def _mention(case: LabelledCase) -> frozenset[str]:
    text = case.message["content"]
    return frozenset(member.name for member in case.candidates if names(text, member.name))


def _mention_or_last(case: LabelledCase) -> frozenset[str]:
    last = case.history[-1]["sender"] if case.history else ""
    return _mention(case) | ({last} & _everything(case))


def _partner(case: LabelledCase) -> frozenset[str]:
    """Mentioned, or the last one with whom the speaker exchanged a mention, unless another nick is named."""
    mentioned = _mention(case)
    text, me = case.message["content"], case.message["sender"]
    if mentioned or any(names(text, member.name) for member in case.members if member.name != me):
        return mentioned
    for entry in reversed(case.history[-_PARTNER_LINES:]):
        if entry["sender"] == me:
            found = next((member.name for member in case.candidates if names(entry["content"], member.name)), None)
        else:
            found = entry["sender"] if names(entry["content"], me) else None
        if found is not None:
            return frozenset({found}) & _everything(case)
    return frozenset()


BASELINES: Final[Mapping[str, Rule]] = {
    "everything": _everything,
    "mention": _mention,
    "mention_or_last": _mention_or_last,
    "partner": _partner,
}
