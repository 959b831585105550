"""How many answers of each bot failed lately, for those who look after the bots."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from nanobot_transcript.relevance.decision import Reason
from nanobot_transcript.relevance.log import DecisionLog

__all__ = ["DAY_MS", "Tally", "tallies_since"]

DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True)
class Tally:
    """The answers of a bot that came to an end: how many, how many of them failed, and of the newest one that did,
    why, when (milliseconds), in which chat and to which message.
    """

    agent: str
    ended: int
    failed: int = 0
    why: str = ""
    ts: float = 0
    chat: str = ""
    message_id: str = ""


def tallies_since(log: DecisionLog, since_ms: float) -> list[Tally]:
    """By bot, in the order of their names. Of two outcomes of one answer the later counts."""
    last: dict[tuple[str, str, str], Mapping[str, Any]] = {}
    for record in log.outcomes(since_ms):
        key = (_text(record, "agent"), _text(record, "chat"), _text(record, "message_id"))
        last.pop(key, None)
        last[key] = record
    agents = sorted({agent for agent, _, _ in last})
    return [_counted(agent, [record for key, record in last.items() if key[0] == agent]) for agent in agents]


def _counted(agent: str, records: Iterable[Mapping[str, Any]]) -> Tally:
    ended = [record for record in records if record.get("reason") in (Reason.ANSWERED, Reason.FAILED)]
    failed = [record for record in ended if record.get("reason") == Reason.FAILED]
    if not failed:
        return Tally(agent, len(ended))
    newest = failed[-1]
    why, chat, message_id = (_text(newest, name) for name in ("why", "chat", "message_id"))
    return Tally(agent, len(ended), len(failed), why, newest["ts"], chat, message_id)


def _text(record: Mapping[str, Any], name: str) -> str:
    return str(record.get(name) or "")
