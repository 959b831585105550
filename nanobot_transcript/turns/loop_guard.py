"""Keeps bots from talking in circles. No process asks another one: each counts the turns in the shared record."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile, is_bot, is_person, speaker, wrote
from nanobot_transcript.turns.addressees import hop_of, ids_of, talk_of
from nanobot_transcript.turns.courtesy import fingerprint, is_courtesy

__all__ = ["GUARD_HISTORY", "LOOP_RULES", "LoopGuard", "LoopLimits", "LoopRule", "Verdict", "bot_turns"]

GUARD_HISTORY: Final = 60
"""How many of the newest entries the guard should be shown: enough for the exchanges of a pair among other talk."""

_BEGINNING: Final = 60
_UNSETTLED: Final = 4


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """What the rules allow. ``LOOP_RULES`` names the settings of each rule.

    At most ``hops`` bot turns in a row since a person spoke. At most ``exchanges`` between two bots within
    ``exchange_seconds``, then none between them for ``cool_down`` seconds. After ``idle`` seconds without a message
    counting starts again.
    """

    hops: int = 4
    exchanges: int = 20
    exchange_seconds: float = 60.0
    cool_down: float = 60.0
    idle: float = 600.0


class Verdict(NamedTuple):
    """May this agent answer this message?

    Allowed: ``reason`` is ``person`` or ``in_limits``. Not allowed: it is ``own``, ``no_turn``, or that of the first of
    ``LOOP_RULES`` which objects. ``hops`` counts the bot turns in a row up to now; record an answer with
    ``hop=hops + 1``.
    """

    allowed: bool
    reason: str
    hops: int


class LoopGuard:
    """Derives from the record alone whether an agent may answer a message.

    People are always answered. For a bot's message the turns since a person last spoke are counted in the same chat
    and thread, and the larger of that number and of the ``hop`` that the writers recorded counts. So the limit holds
    whatever the timing. Processes that decide at the same moment cannot see each other's turns yet and can exceed it by
    these; their ``hop`` then stops whatever follows.
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
        if wrote(agent, message):
            return Verdict(False, "own", hops)
        seen = _Seen(message, before, agent, hops)
        reason = next((rule.reason for rule in LOOP_RULES if rule.objects(seen, self.limits)), "")
        return Verdict(not reason, reason or "in_limits", hops)


# -- the rules


class _Seen(NamedTuple):
    """A bot's message, what was said before it in the same talk (oldest first), and who would answer."""

    message: Entry
    before: Sequence[Entry]
    agent: AgentProfile
    hops: int


@dataclass(frozen=True, slots=True)
class LoopRule:
    """Why a bot gets no answer from another one.

    All about a rule stands here: its stable ``reason``, the sentence that people read in English and Chinese (behind
    "The loop guard:"), the ``settings`` of its limits, and when it ``objects``. The gate's reasons, the page's Chinese
    and the table in docs/{en,zh}/turns.md are made of it.
    """

    reason: str
    sentence: str
    zh: str
    settings: tuple[str, ...]
    objects: Callable[[_Seen, LoopLimits], bool] = field(repr=False)


def _is_courtesy(seen: _Seen, _: LoopLimits) -> bool:
    return is_courtesy(seen.message["content"], _names(seen.message, seen.agent))


def _is_echo(seen: _Seen, limits: LoopLimits) -> bool:
    text = fingerprint(seen.message["content"])
    recent = seen.message["ts"] - limits.idle * 1000
    return any(entry["ts"] >= recent and _says(entry, text) for entry in seen.before)


def _is_cooling_down(seen: _Seen, limits: LoopLimits) -> bool:
    """True when this message uses up the exchanges of the pair, and for ``cool_down`` seconds after one did."""
    times = _exchanges([*seen.before, seen.message], seen.agent, seen.message)
    window, pause = limits.exchange_seconds * 1000, limits.cool_down * 1000
    return any(
        last - first <= window and seen.message["ts"] - last < pause
        for first, last in zip(times, times[limits.exchanges - 1 :], strict=False)
    )


def _is_at_hop_limit(seen: _Seen, limits: LoopLimits) -> bool:
    return seen.hops >= limits.hops


LOOP_RULES: Final = (
    LoopRule(
        "courtesy",
        "thanks and the like of a bot get no answer.",
        "机器人的道谢之类不用回应。",
        (),
        _is_courtesy,
    ),
    LoopRule(
        "echo",
        "the same was said just before.",
        "刚刚有人说过同样的话。",
        ("turns.idle_reset",),
        _is_echo,
    ),
    LoopRule(
        "pair_budget",
        "the two bots have said enough to each other for now.",
        "这两个机器人之间暂时说得够多了。",
        ("turns.pair_limit", "turns.pair_seconds", "turns.cool_down"),
        _is_cooling_down,
    ),
    LoopRule(
        "hop_limit",
        "bots have had enough turns in a row since a person spoke.",
        "自真人发言以来，机器人连续发言的轮数已满。",
        ("turns.max_hops", "turns.idle_reset"),
        _is_at_hop_limit,
    ),
)
"""Asked in this order; the first that objects gives the reason."""


# -- what they count


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
    """The bot entries next to a message, up to a person's message or a silence of ``idle`` seconds."""
    last = message
    for entry in neighbours:
        if is_person(entry) or abs(entry["ts"] - last["ts"]) > idle * 1000:
            return
        if is_bot(entry):
            yield entry
        last = entry


def _says(entry: Entry, said: str) -> bool:
    # Most texts differ at the beginning, so most need no fingerprint of the whole. The last letters of the beginning
    # are left out: what they fold to depends on what follows.
    beginning = fingerprint(entry["content"][:_BEGINNING])[:-_UNSETTLED]
    return said.startswith(beginning) and fingerprint(entry["content"]) == said


def _exchanges(talk: Iterable[Entry], agent: AgentProfile, message: Entry) -> list[float]:
    """The times, in ms, at which one of the two bots spoke right after the other."""
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
        if entry == message or wanted & ids_of(entry):
            return talk[:at], talk[at + 1 :]
    at = sum(entry["ts"] <= message["ts"] for entry in talk)
    return talk[:at], talk[at:]


def _names(message: Entry, agent: AgentProfile) -> set[str]:
    mentions = message.get("mentions")
    known = mentions if isinstance(mentions, list) else []  # lines that other programs wrote may hold anything there
    named = [mention.get("name") for mention in known if isinstance(mention, dict)]
    return {agent.name, *agent.aliases, *(name for name in named if isinstance(name, str))}
