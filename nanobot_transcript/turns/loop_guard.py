"""Keeps bots from talking in circles, without a word between them: every process counts in the same record."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile, is_bot, is_person, speaker, wrote
from nanobot_transcript.turns.addressees import hop_of, ids_of, talk_of
from nanobot_transcript.turns.courtesy import fingerprint, is_courtesy

__all__ = ["GUARD_HISTORY", "LoopGuard", "LoopLimits", "Verdict", "bot_turns"]

GUARD_HISTORY: Final = 60
"""How many of the newest entries the guard should be shown: enough for a pair budget among other talk."""

_BEGINNING: Final = 60
_UNSETTLED: Final = 4


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """``hops`` bot turns in a row since a person spoke; ``exchanges`` between two bots within ``exchange_seconds``,
    then silence between them for ``cool_down`` seconds. After ``idle`` seconds without a word a count begins anew.
    """

    hops: int = 4
    exchanges: int = 20
    exchange_seconds: float = 60.0
    cool_down: float = 60.0
    idle: float = 600.0


class Verdict(NamedTuple):
    """May this agent answer this message?

    ``reason`` is one of ``person``, ``in_limits`` (allowed), ``own``, ``no_turn``, ``courtesy``, ``echo``,
    ``hop_limit``, ``pair_budget`` (not allowed). ``hops`` counts the bot turns in a row up to now; an answer is
    recorded with ``hop=hops + 1``.
    """

    allowed: bool
    reason: str
    hops: int


class LoopGuard:
    """Derives from the record alone whether an agent may answer a message.

    People are always answered. For a bot's message the turns since a person last spoke are counted in the same chat
    and thread, and the larger of that number and of the ``hop`` that the writers recorded counts. So the limit holds
    whatever the timing; processes that decide at the same moment can pass it by the turns that none of them could
    see yet, and the ``hop`` of those ends what they began.
    """

    def __init__(self, limits: LoopLimits | None = None) -> None:
        self.limits: LoopLimits = limits or LoopLimits()

    def allows(self, message: Entry, history: Sequence[Entry], agent: AgentProfile) -> Verdict:
        """The verdict about ``message`` (in ``history`` or not; history is oldest first, ``GUARD_HISTORY`` entries)."""
        if is_person(message):
            return Verdict(True, "person", 0)
        if not is_bot(message):
            return Verdict(False, "no_turn", 0)
        before, after = _around(message, talk_of(message, history))
        hops = bot_turns(message, before, after, self.limits.idle)
        reason = self._objection(message, before, agent) or ("hop_limit" if hops >= self.limits.hops else "")
        return Verdict(not reason, reason or "in_limits", hops)

    def _objection(self, message: Entry, before: Sequence[Entry], agent: AgentProfile) -> str:
        if wrote(agent, message):
            return "own"
        if is_courtesy(message["content"], _names(message, agent)):
            return "courtesy"
        if self._is_echo(message, before):
            return "echo"
        return "pair_budget" if self._is_cooling_down(message, before, agent) else ""

    def _is_echo(self, message: Entry, before: Sequence[Entry]) -> bool:
        said = fingerprint(message["content"])
        recent = message["ts"] - self.limits.idle * 1000
        return any(entry["ts"] >= recent and _says(entry, said) for entry in before)

    def _is_cooling_down(self, message: Entry, before: Sequence[Entry], agent: AgentProfile) -> bool:
        """True when this message uses up the exchanges of the pair, and for ``cool_down`` seconds after one did."""
        times = _exchanges([*before, message], agent, message)
        allowed = self.limits.exchanges
        window, pause = self.limits.exchange_seconds * 1000, self.limits.cool_down * 1000
        return any(
            last - first <= window and message["ts"] - last < pause
            for first, last in zip(times, times[allowed - 1 :], strict=False)
        )


def bot_turns(message: Entry, before: Sequence[Entry], after: Sequence[Entry] = (), idle: float = 600.0) -> int:
    """How many turns bots had in a row around a bot's message, or the largest hop any of these was given.

    ``before`` and ``after`` are what its talk holds, oldest first. ``idle`` is in seconds.
    """
    run = [*reversed(list(_run(message, reversed(before), idle))), message, *_run(message, after, idle)]
    turns = 0
    last = None
    for entry in run:
        if speaker(entry) != last:
            turns, last = turns + 1, speaker(entry)  # several messages of one bot in a row are one turn
    return max(turns, *map(hop_of, run))


def _run(message: Entry, neighbours: Iterable[Entry], idle: float) -> Iterator[Entry]:
    """The bot entries next to a message, up to a person's or a long silence."""
    last = message
    for entry in neighbours:
        if is_person(entry) or abs(entry["ts"] - last["ts"]) > idle * 1000:
            return
        if is_bot(entry):
            yield entry
        last = entry


def _says(entry: Entry, said: str) -> bool:
    """Most texts differ at the beginning; its last letters may yet change with what follows."""
    beginning = fingerprint(entry["content"][:_BEGINNING])[:-_UNSETTLED]
    return said.startswith(beginning) and fingerprint(entry["content"]) == said


def _exchanges(talk: Iterable[Entry], agent: AgentProfile, message: Entry) -> list[float]:
    """The times at which one of the two bots spoke right after the other."""
    times: list[float] = []
    last = ""
    for entry in talk:
        if not is_bot(entry):
            continue
        now = "me" if wrote(agent, entry) else ("other" if speaker(entry) == speaker(message) else "")
        if now and last and now != last:
            times.append(entry["ts"])
        last = now
    return times


def _around(message: Entry, talk: Sequence[Entry]) -> tuple[Sequence[Entry], Sequence[Entry]]:
    """What was said before and after a message, by its place in the record, else by its time."""
    wanted = ids_of(message)
    for at, entry in enumerate(talk):
        if entry is message or (wanted and wanted & ids_of(entry)):
            return talk[:at], talk[at + 1 :]
    at = sum(entry["ts"] <= message["ts"] for entry in talk)
    return talk[:at], talk[at:]


def _names(message: Entry, agent: AgentProfile) -> set[str]:
    mentions = message.get("mentions")
    known = mentions if isinstance(mentions, list) else []  # lines that other programs wrote may hold anything there
    named = [mention.get("name") for mention in known if isinstance(mention, dict)]
    return {agent.name, *agent.aliases, *(name for name in named if isinstance(name, str))}
