"""Statistics of each bot: what it did about each message, failed answers, corrections by people; and of the judge."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from nanobot_transcript.relevance.decision import LATER, Reason, Stage
from nanobot_transcript.relevance.decision_log import DecisionLog

__all__ = [
    "DAY_MS",
    "Done",
    "JudgeTally",
    "NotedVerdict",
    "Tally",
    "judge_since",
    "tallies_since",
    "verdicts_since",
]

DAY_MS: Final = 86_400_000

Done: TypeAlias = Literal["answered", "silent", "failed", "begun"]
"""What a bot did about a message; ``begun``: it decided to answer, and no outcome is logged."""

_NO_CASE: Final = frozenset({Reason.INVALID, Reason.OWN, Reason.DUPLICATE})
"""Reasons of log entries that are not about a message to the bot, or repeat one."""


_Case: TypeAlias = "tuple[str, str, str]"
"""The bot, the chat and the message that a log entry is about."""


class NotedVerdict(NamedTuple):
    """What a bot did about a message and why, by the log's codes (``Reason``). If it answered or tried to, ``reason``
    is why it felt addressed, and ``why`` what went wrong. ``ts`` (milliseconds) is the time of the last log entry.
    """

    agent: str
    chat: str
    message_id: str
    done: Done
    reason: str
    why: str
    ts: float


@dataclass(frozen=True, slots=True)
class Tally:
    """The finished answers of a bot: how many, how many of them failed, and for the newest failure why, when
    (milliseconds), in which chat and for which message. ``intruded`` and ``missed``: how often people told it that it
    was not addressed, or had to ask again.
    """

    agent: str
    ended: int
    failed: int = 0
    why: str = ""
    ts: float = 0
    chat: str = ""
    message_id: str = ""
    intruded: int = 0
    missed: int = 0

    @property
    def judged(self) -> bool:
        """True when there is anything to show: an answer, or a correction."""
        return bool(self.ended or self.intruded or self.missed)

    @property
    def intruded_per_100(self) -> float:
        """Of 100 answers, those that people did not want."""
        return 100 * self.intruded / max(self.ended, self.intruded, 1)

    @property
    def missed_per_100(self) -> float:
        """Of 100 messages for the bot, those it ignored until it was asked again."""
        return 100 * self.missed / max(self.ended + self.missed, 1)


@dataclass(frozen=True, slots=True)
class JudgeTally:
    """Questions for the judge: how many, how many it did not answer in time, and how many failed.

    A question that was not asked because the judge had just been ``late`` twice counts as late; one that the budget did
    not allow does not count.
    """

    asked: int
    late: int
    failed: int


def judge_since(log: DecisionLog, since_ms: float) -> JudgeTally:
    """For all bots and chats; see ``DecisionLog.judged``."""
    reasons = [record.get("reason") for record in log.judged(since_ms)]
    asked = [reason for reason in reasons if reason != Reason.JUDGE_BUDGET]
    return JudgeTally(len(asked), asked.count(Reason.JUDGE_TIMEOUT), asked.count(Reason.JUDGE_FAILED))


def tallies_since(log: DecisionLog, since_ms: float, chats: Iterable[str] | None = None) -> list[Tally]:
    """By bot, in the order of their names; for some ``chats`` (session keys), or for all. Of two outcomes of one answer
    the later counts.
    """
    last: dict[tuple[_Case, bool], Mapping[str, Any]] = {}
    for record in _ended(log, since_ms, chats):
        key = (_case(record), record.get("stage") == Stage.CORRECTION)
        last.pop(key, None)
        last[key] = record
    agents = sorted({agent for (agent, *_), _ in last})
    return [_counted(agent, [record for (case, _), record in last.items() if case[0] == agent]) for agent in agents]


def verdicts_since(log: DecisionLog, since_ms: float, chats: Iterable[str]) -> list[NotedVerdict]:
    """What each bot did about each message of some chats (session keys), by the last log entry; without
    corrections.
    """
    felt: dict[_Case, Mapping[str, Any]] = {}
    last: dict[_Case, Mapping[str, Any]] = {}
    for record in (record for chat in chats for record in log.read(chat) if _ts(record) >= since_ms):
        stage = _text(record, "stage")
        if stage == Stage.CORRECTION or _text(record, "reason") in _NO_CASE:
            continue
        case = _case(record)
        if stage not in LATER:
            felt[case] = record
        last.pop(case, None)  # keep the order of the last log entries
        last[case] = record
    return [_verdict(case, record, felt.get(case, record)) for case, record in last.items()]


def _case(record: Mapping[str, Any]) -> _Case:
    return _text(record, "agent"), _text(record, "chat"), _text(record, "message_id")


def _verdict(case: _Case, record: Mapping[str, Any], felt: Mapping[str, Any]) -> NotedVerdict:
    """Combines the last log entry of a case with the gate's own."""
    noted = _text(record, "reason")
    done: Done = "silent"
    if noted == Reason.ANSWERED:
        done = "answered"
    elif noted == Reason.FAILED:
        done = "failed"
    elif record.get("respond"):
        done = "begun"
    reason = noted if done == "silent" else _text(felt, "reason")
    return NotedVerdict(*case, done, reason, _text(record, "why"), _ts(record))


def _ended(log: DecisionLog, since_ms: float, chats: Iterable[str] | None) -> Iterable[Mapping[str, Any]]:
    """Outcomes and corrections: for some chats all that are logged, for all chats the newest."""
    if chats is None:
        return log.outcomes(since_ms)
    return [
        record
        for chat in chats
        for record in log.read(chat)
        if record.get("stage") in (Stage.ANSWER, Stage.CORRECTION) and _ts(record) >= since_ms
    ]


def _ts(record: Mapping[str, Any]) -> float:
    ts = record.get("ts")
    return ts if isinstance(ts, int | float) else 0.0


def _counted(agent: str, records: Sequence[Mapping[str, Any]]) -> Tally:
    ended = [record for record in records if record.get("reason") in (Reason.ANSWERED, Reason.FAILED)]
    failed = [record for record in ended if record.get("reason") == Reason.FAILED]
    intruded, missed = (sum(one.get("reason") == why for one in records) for why in (Reason.INTRUDED, Reason.MISSED))
    if not failed:
        return Tally(agent, len(ended), intruded=intruded, missed=missed)
    newest = failed[-1]
    why, chat, message_id = (_text(newest, name) for name in ("why", "chat", "message_id"))
    return Tally(agent, len(ended), len(failed), why, _ts(newest), chat, message_id, intruded, missed)


def _text(record: Mapping[str, Any], name: str) -> str:
    return str(record.get(name) or "")
