"""Which of several bots answers, from what the gate says for each of them."""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from nanobot_transcript.relevance.decision import Decision, Reason

__all__ = ["ClaimOpen", "answering", "claim_score", "is_contested", "wants"]

ClaimOpen: TypeAlias = Literal["questions", "all", "off"]
"""Which messages that are addressed to nobody one of several bots answers: questions to anybody who knows, all, or
none.
"""

_GUESSED: Final = frozenset({"score", "judge"})


def is_contested(decision: Decision) -> bool:
    """True when other bots may feel addressed as well: then only the first to claim the message answers it."""
    return decision.stage in _GUESSED


def wants(decision: Decision, claim_open: ClaimOpen) -> bool:
    """True when the bot would answer if no other one does. An undecided one might."""
    if claim_open == "all" and decision.open and is_contested(decision):
        return True
    if claim_open == "off" and decision.reason is Reason.OPEN_QUESTION:
        return False
    return decision.respond is not False


def claim_score(decision: Decision) -> float:
    """How soon the bot claims the message: those most likely addressed come first."""
    return (1 + decision.score) / 2 if decision.is_first else decision.score / 2


def answering(decisions: Sequence[Decision], claim_open: ClaimOpen = "questions") -> frozenset[str]:
    """The bots that answer a message, when each process decides correctly and the best one claims first."""
    sure = {one.agent for one in decisions if one.respond and not is_contested(one)}
    wanted = [one for one in decisions if is_contested(one) and wants(one, claim_open)]
    if wanted:
        sure.add(max(wanted, key=claim_score).agent)
    return frozenset(sure)
