"""The page of statistics: messages per day and member, what bots did and why, answer times, and API budgets.

Counts like the command ``stats`` and the System page. Since that reads a lot, one request at a time is answered, in a
thread, and the answer says how much was read.
"""

import asyncio
import heapq
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from aiohttp import web

from nanobot_transcript.coordination.contract import HOUR
from nanobot_transcript.entry import Entry
from nanobot_transcript.relevance.decision import sentence_of
from nanobot_transcript.relevance.decision_log import DecisionLog
from nanobot_transcript.relevance.judge import QUESTIONS
from nanobot_transcript.relevance.tally import NotedVerdict, verdicts_since
from nanobot_transcript.settings import Settings
from nanobot_transcript.store.contract import Chat
from nanobot_transcript.store.gaps import HISTORY
from nanobot_transcript.store.message_counts import MessageCount, Spoken
from nanobot_transcript.store.names import shown_name
from nanobot_transcript.threads import in_thread
from transcript_mcp.page import PageCall, WebPage, as_json
from transcript_mcp.transcript.page import Chats
from transcript_mcp.transcript.positions import said_at

if TYPE_CHECKING:
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["Latest", "StatisticsPage"]

_DAYS: Final = 14
_MOST_DAYS: Final = 100
_MOST_MESSAGES: Final = 20_000
_MOST_VERDICTS: Final = 20_000
_MEMBERS: Final = 12
"""Members with counts of their own; the others are only in the sum of a day."""
_WHYS: Final = 5
_WITHIN: Final = (5, 15, 30, 60, 180, 600)
"""Upper bounds of answer times in seconds; longer ones are counted after the last."""


class Latest:
    """The latest messages of several chats, up to ``most``. Can be iterated once.

    Always continues with the chat that may have the newest unread message, so everything left out is older than
    ``whole_since``.
    """

    def __init__(self, store: "GroupTranscriptStore", chats: Iterable[Chat], since_ms: float, most: int) -> None:
        self._store = store
        self._since = since_ms
        self._most = most
        self._rests = [_Rest(-chat.last_write_ms, chat.session_key, None) for chat in chats]
        heapq.heapify(self._rests)
        self.read = 0
        """Messages read so far."""

    @property
    def whole_since(self) -> float | None:
        """The time (ms) since which nothing was left out; None if nothing was left out at all."""
        return -self._rests[0].newest if self._rests else None

    def __iter__(self) -> Iterator[tuple[str, Entry]]:
        """Messages with the session keys of their chats."""
        while self._rests and self.read < self._most:
            rest = heapq.heappop(self._rests)
            page = self._store.read_back(rest.chat, rest.cursor, _PAGE)
            self.read += len(page.entries)
            for entry in page.entries:
                if said_at(entry) >= self._since:
                    yield rest.chat, entry
            # Messages fetched late may be recorded after newer ones, so only a page of nothing but older messages
            # ends the chat.
            if len(page.entries) == _PAGE and max(map(said_at, page.entries)) >= self._since:
                heapq.heappush(self._rests, _Rest(-said_at(page.entries[0]), rest.chat, page.cursor))


class StatisticsPage(WebPage):
    """The page with the record in numbers."""

    def __init__(self, chats: Chats, settings: Settings) -> None:
        self._record = chats.record
        self._store = chats.record.store
        self._limits = dict(_limits(settings))
        self._alone = asyncio.Lock()

    def routes(self) -> list[web.RouteDef]:
        """``/api/statistics``."""
        return [web.get("/api/statistics", self.statistics)]

    async def statistics(self, request: web.Request) -> web.StreamResponse:
        """All numbers, of one ``chat`` or of all. ``days``: the starts of days (ms), by default of the last 14."""
        asked = PageCall(request.query)
        days, chat = _beginnings(asked), asked.optional("chat")
        async with self._alone:
            return as_json(await in_thread(self._counted, days, chat))

    def _counted(self, days: Sequence[int], chat: str | None) -> dict[str, Any]:
        chats = [
            each
            for each in sorted(self._store.chats(), key=lambda each: -each.last_write_ms)
            if each.last_write_ms >= days[0] and chat in (None, each.session_key)
        ]
        verdicts, looked_at = _verdicts(self._record.decisions, days[0], chats)
        answered = {(each.chat, each.message_id) for each in verdicts if each.done == "answered"}
        latest = Latest(self._store, chats, days[0], _MOST_MESSAGES)
        spoken, asked = self._spoken(latest, days, answered)
        return {
            "messages": {"read": latest.read, "whole_since": latest.whole_since, **_by_day(days, spoken)},
            "answers": {
                "chats_left_out": len(chats) - looked_at,
                "within": _WITHIN,
                "bots": list(_by_bot(verdicts, asked)),
            },
            "budgets": [
                {"name": name, "used": self._record.budgets.used(name, window=HOUR), "limit": limit}
                for name, limit in self._limits.items()
            ],
        }

    def _spoken(
        self, latest: Latest, days: Sequence[int], wanted: set[tuple[str, str]]
    ) -> tuple[list[Spoken], dict[tuple[str, str], float]]:
        """The messages of each day, and the times (ms) of the ``wanted`` messages."""
        spoken, names, when = [Spoken() for _ in days], dict[str, str](), dict[tuple[str, str], float]()
        for chat, entry in latest:
            sender, at = entry["sender"], said_at(entry)
            name = names.get(sender) or names.setdefault(sender, shown_name(self._store, entry))
            spoken[bisect_right(days, at) - 1].add(entry, name)
            if (chat, str(entry["message_id"])) in wanted:
                when[chat, str(entry["message_id"])] = at
        return spoken, when


def _verdicts(
    log: DecisionLog, since_ms: float, chats: Sequence[Chat], most: int = _MOST_VERDICTS
) -> tuple[list[NotedVerdict], int]:
    """What bots did, and the number of chats in which that was read; reading stops after ``most`` verdicts."""
    found: list[NotedVerdict] = []
    for done, chat in enumerate(chats):
        if len(found) >= most:
            return found, done
        found += verdicts_since(log, since_ms, [chat.session_key])
    return found, len(chats)


def _by_day(days: Sequence[int], spoken: Sequence[Spoken]) -> dict[str, Any]:
    """The members with the most messages, and their messages per day."""
    members: dict[str, MessageCount] = {}
    for speaker in (each for day in spoken for each in day.speakers.values()):
        one = members.setdefault(speaker.sender, MessageCount(speaker.sender, speaker.name, speaker.kind))
        one.messages += speaker.messages
    most = sorted(members.values(), key=lambda one: (-one.messages, one.name))[:_MEMBERS]
    counts = [
        [day.speakers[one.sender].messages if one.sender in day.speakers else 0 for one in most] for day in spoken
    ]
    return {
        "members": [{"name": one.name, "bot": one.kind == "bot", "messages": one.messages} for one in most],
        "others": len(members) - len(most),
        "days": [
            {"begins": begins, "messages": day.messages, "by": by}
            for begins, day, by in zip(days, spoken, counts, strict=True)
        ],
    }


def _by_bot(verdicts: Iterable[NotedVerdict], asked: dict[tuple[str, str], float]) -> Iterator[dict[str, Any]]:
    by_agent: dict[str, list[NotedVerdict]] = {}
    for each in verdicts:
        by_agent.setdefault(each.agent, []).append(each)
    for agent in sorted(by_agent):
        own = by_agent[agent]
        took = sorted(
            max(0.0, each.ts - asked[each.chat, each.message_id]) / 1000
            for each in own
            if each.done == "answered" and (each.chat, each.message_id) in asked
        )
        yield {"agent": agent, "verdicts": _by_reason(own), "took": _took(took)}


def _by_reason(verdicts: Iterable[NotedVerdict]) -> list[dict[str, Any]]:
    """Counts by reason, the most frequent first; of failures only the most frequent causes are listed apart."""
    whys = Counter(each.why for each in verdicts if each.done == "failed")
    told = {why for why, _ in whys.most_common(_WHYS)}
    counts = Counter(
        ("failed", "failed", each.why if each.why in told else "")
        if each.done == "failed"
        else (each.done, each.reason, "")
        for each in verdicts
    )
    return [
        {"done": done, "reason": reason, "sentence": sentence_of(reason), "why": why, "count": count}
        for (done, reason, why), count in counts.most_common()
    ]


def _took(seconds: Sequence[float]) -> dict[str, Any] | None:
    """Answer times: the median, the 90th percentile (``most``), and counts for each bound of ``_WITHIN``.

    None where nothing is known. ``seconds`` are sorted.
    """
    if not seconds:
        return None
    counts = [0] * (len(_WITHIN) + 1)
    for each in seconds:
        counts[bisect_left(_WITHIN, each)] += 1
    most = seconds[-(-len(seconds) * 9 // 10) - 1]
    return {"count": len(seconds), "median": round(median(seconds), 1), "most": round(most, 1), "counts": counts}


def _beginnings(asked: PageCall) -> list[int]:
    """The starts of the days (ms), the earliest first, limited to the latest ``_MOST_DAYS``."""
    given = sorted(set(asked.numbers("days")))
    if given:
        return given[-_MOST_DAYS:]
    today = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    return [int((today - timedelta(days=back)).timestamp() * 1000) for back in reversed(range(_DAYS))]


def _limits(settings: Settings) -> Iterator[tuple[str, int]]:
    """The calls that bots may make in an hour, by the name of the budget."""
    if settings.gate.judge.kind != "off":
        yield QUESTIONS, settings.gate.judge.per_hour
    if settings.history.enabled:
        yield HISTORY, settings.history.calls_per_hour


_PAGE: Final = 1000


class _Rest(NamedTuple):
    """The unread part of a chat, before ``cursor`` and no newer than ``-newest`` (ms). Negated for the min-heap."""

    newest: float
    chat: str
    cursor: str | None
