"""Which bot answers what, derived from the record and from the bots' logged decisions."""

from collections.abc import Sequence
from dataclasses import dataclass

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile, is_bot, wrote
from nanobot_transcript.record import Record
from nanobot_transcript.relevance.decision import LATER
from nanobot_transcript.relevance.text import is_question
from nanobot_transcript.turns import GUARD_HISTORY, LoopGuard, Verdict
from nanobot_transcript.turns.addressees import addresses, ids_of
from transcript_channels.simulator import App, Message

__all__ = ["DemoTurns", "Noted"]


@dataclass(frozen=True, slots=True)
class Noted:
    """What a bot noted about a message.

    ``answers``: it means to, by itself (``respond``), or because nobody in particular was asked. ``shared``: only
    one of those that mean to answer does, the first to claim the message.
    """

    respond: bool
    reason: str
    score: float
    open: bool
    answers: bool
    shared: bool


class DemoTurns:
    """The turns of these bots in one chat."""

    def __init__(self, record: Record, session_key: str, apps: Sequence[App]) -> None:
        self._record: Record = record
        self._key: str = session_key
        self._profiles: dict[str, AgentProfile] = {app.name: _profile(app) for app in apps}
        self._guard: LoopGuard = LoopGuard()

    @property
    def limit(self) -> int:
        """How many bot turns in a row the guard allows."""
        return self._guard.limits.hops

    def noted(self, message: Message) -> dict[str, Noted]:
        """What the bots noted about a message, by name and in the order of the names, whichever noted it first."""
        entry = self._record.store.get(self._key, message.message_id)
        return dict(sorted(self._noted(entry).items())) if entry else {}

    def verdict(self, app: App, message: Message) -> Verdict:
        """What the loop guard says of an answer of this bot to a message that stands in the record."""
        history = self._history()
        entry = next(one for one in history if message.message_id in ids_of(one))
        return self._guard.allows(entry, history, self._profiles[app.name])

    def are_over(self, message: Message) -> bool:
        """True when no bot has anything to answer any more, neither this message nor what was said since."""
        history = self._history()
        at = next((at for at, one in enumerate(history) if message.message_id in ids_of(one)), None)
        if at is None:
            return False
        bots = self._profiles.values()
        return all(self._is_done(bot, entry, history) for entry in history[at:] for bot in bots)

    def _is_done(self, agent: AgentProfile, entry: Entry, history: Sequence[Entry]) -> bool:
        answers = [one for one in history if is_bot(one) and one.get("reply_to") in ids_of(entry)]
        if wrote(agent, entry) or any(wrote(agent, one) for one in answers):
            return True
        if is_bot(entry):
            return not _concerns(entry, agent, history) or not self._guard.allows(entry, history, agent).allowed
        noted = self._noted(entry).get(agent.name)
        return noted is not None and (not noted.answers or (noted.shared and bool(answers)))

    def _noted(self, entry: Entry) -> dict[str, Noted]:
        records = self._record.decisions.read(self._key, entry["message_id"])
        by_gate = (record for record in records if record["stage"] not in LATER)
        return {record["agent"]: _noted(record, is_question(entry["content"])) for record in by_gate}

    def _history(self) -> list[Entry]:
        return self._record.store.recent(self._key, GUARD_HISTORY).entries


def _concerns(entry: Entry, agent: AgentProfile, history: Sequence[Entry]) -> bool:
    """True when a bot's message mentions the agent or replies to it."""
    target = entry.get("reply_to")
    return addresses(entry, agent) or any(target in ids_of(one) and wrote(agent, one) for one in history)


def _noted(record: dict[str, object], asks: bool) -> Noted:
    respond, is_open, stage = bool(record["respond"]), bool(record["open"]), record["stage"]
    return Noted(
        respond=respond,
        reason=str(record["reason"]),
        score=float(str(record["score"])),
        open=is_open,
        answers=respond or (is_open and asks and stage == "score"),
        shared=stage in ("score", "judge"),
    )


def _profile(app: App) -> AgentProfile:
    return AgentProfile(app.name, ids=frozenset({app.name, app.app_id}), account=app.app_id)
