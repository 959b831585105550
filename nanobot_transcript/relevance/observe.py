"""Reads entries as the gate sees them: who spoke, to whom, about what. Garbage is left out, never raised at.

What a line says is worked out once and remembered, as the same lines come again with every message.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.relevance.features import Message
from nanobot_transcript.relevance.names import Naming, Roster, speaker_of, strangers
from nanobot_transcript.relevance.scene import Scene, Turn
from nanobot_transcript.relevance.text import TEXT_LIMIT, breadth, is_question, terms

__all__ = ["HISTORY_LINES", "Observation", "Observer", "before", "content_of", "usable"]

HISTORY_LINES: Final = 100
_REMEMBERED_LINES: Final = 2000
_REMEMBERED_ROSTERS: Final = 32
_MINUTE: Final = 60_000


class Observation(NamedTuple):
    """A message in its scene; members by position in the roster.

    ``me`` is the agent, ``reply_author`` who wrote what the message replies to, where that is known.
    """

    roster: Roster
    scene: Scene
    message: Message
    speaker: int
    me: int
    mentioned: frozenset[int]
    named: frozenset[int]
    reply_author: int | None


class _Line(NamedTuple):
    """What a line says by itself, for one roster."""

    turn: Turn
    naming: Naming
    mentioned: frozenset[int]


class _Group:
    """The rosters of one set of members: with strangers who spoke, in the order they were met."""

    def __init__(self, members: tuple[AgentProfile, ...]) -> None:
        self.members = members
        self.roster = Roster(members)
        self.lines: dict[Any, _Line] = {}

    def read(self, entries: Sequence[Entry]) -> list[_Line]:
        """The lines of entries; the same object for the same entry. Who is unknown joins the roster first."""
        known = self.lines
        try:
            return [known[entry["message_id"], entry["content"]] for entry in entries]
        except (KeyError, TypeError):  # a line that is new, or has something odd where a string belongs
            lines = [self._line(entry) for entry in entries]
        if None in lines:
            self._admit(entries)
            lines = [self._line(entry) for entry in entries]
        return [line for line in lines if line is not None]

    def _line(self, entry: Entry) -> _Line | None:
        """None when its writer is not in the roster."""
        message_id, content = entry.get("message_id"), entry.get("content")
        known = isinstance(message_id, str) and message_id and isinstance(content, str)
        line = self.lines.get((message_id, content)) if known else None
        if line is None:
            line = self._read(entry)
            if line is not None and known:
                self._remember(message_id, content, line)
        return line

    def _remember(self, message_id: Any, content: Any, line: _Line) -> None:
        if len(self.lines) >= _REMEMBERED_LINES:
            for old in list(islice(self.lines, _REMEMBERED_LINES // 2)):
                del self.lines[old]
        self.lines[message_id, content] = line

    def _admit(self, entries: Sequence[Entry]) -> None:
        met = self.roster.members[len(self.members) :] if len(self.roster) < 4 * HISTORY_LINES else ()
        self.roster = Roster((*self.members, *met, *strangers(entries, self.roster)))
        self.lines = {}

    def _read(self, entry: Entry) -> _Line | None:
        roster, text = self.roster, content_of(entry)
        who = _known(entry, roster)
        if who is None:
            return None
        naming = roster.naming(text)
        mentioned = roster.mentioned(entry.get("mentions")) - {who}
        to = (naming.named | mentioned) - {who}
        turn = Turn(who, to, is_question(text), _minute(entry), terms(text), breadth(text))
        return _Line(turn, naming, mentioned)


class Observer:
    """Turns entries into observations. One for each gate; what it remembers is bounded and never changes an answer."""

    def __init__(self) -> None:
        self._groups: dict[tuple[int, ...], _Group] = {}
        self._latest: tuple[Any, list[Turn], Scene] | None = None

    def observe(
        self, message: Entry, history: Sequence[Entry], agent: AgentProfile, members: Sequence[AgentProfile]
    ) -> Observation:
        """The message as the one after ``history``, which is as ``before`` leaves it."""
        group = self._group(_with_agent(members, agent))
        lines = group.read([*history, message])
        now = lines.pop()
        turns, authors = self._turns(lines, history, message)
        turn, author = _with_reply(now.turn, message, authors)
        naming = now.naming
        return Observation(
            group.roster,
            self._scene(group, turns, turn.who),
            Message(turn, naming.first, naming.hinted - {turn.who}, naming.stranger),
            turn.who,
            next(at for at, member in enumerate(group.members) if member is agent),
            now.mentioned,
            naming.named - {turn.who},
            author,
        )

    def _group(self, members: Sequence[AgentProfile]) -> _Group:
        key = tuple(map(id, members))  # the group keeps the profiles, so that no id is given twice
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= _REMEMBERED_ROSTERS:
                del self._groups[next(iter(self._groups))]
            group = self._groups[key] = _Group(tuple(members))
        return group

    @staticmethod
    def _turns(lines: Sequence[_Line], entries: Sequence[Entry], message: Entry) -> tuple[list[Turn], dict[Any, int]]:
        """The turns, replies counted as addressing, and who wrote which message."""
        turns = [line.turn for line in lines]
        replies = [at for at, entry in enumerate(entries) if "reply_to" in entry]
        authors: dict[Any, int] = {}
        if replies or "reply_to" in message:
            for entry, turn in zip(entries, turns, strict=True):
                if isinstance(message_id := entry.get("message_id"), str):
                    authors[message_id] = turn.who
        for at in replies:
            turns[at], _ = _with_reply(turns[at], entries[at], authors)
        return turns, authors

    def _scene(self, group: _Group, turns: list[Turn], speaker: int) -> Scene:
        latest = self._latest
        if latest and latest[0] is group.roster and latest[2].speaker == speaker and latest[1] == turns:
            return latest[2]
        scene = Scene(turns, speaker)
        self._latest = (group.roster, turns, scene)
        return scene


def usable(history: Sequence[Entry]) -> list[Entry]:
    """The last entries of a history without what is none."""
    return [entry for entry in history[-2 * HISTORY_LINES :] if isinstance(entry, dict)]


def before(entries: Sequence[Entry], message_id: Any) -> list[Entry]:
    """The last lines before a message: without its own copy and what follows it, without edits and recalls."""
    ids = [entry.get("message_id") for entry in entries]
    if message_id and message_id in ids:
        entries = entries[: ids.index(message_id)]
    return [entry for entry in entries if "op" not in entry][-HISTORY_LINES:]


def content_of(entry: Mapping[str, Any]) -> str:
    """The text of an entry, as far as it is looked at; empty when it has none."""
    content = entry.get("content")
    return content[:TEXT_LIMIT] if isinstance(content, str) else ""


def _with_agent(members: Sequence[AgentProfile], agent: AgentProfile) -> Sequence[AgentProfile]:
    """The members with this very profile of the agent among them, once."""
    if any(member is agent for member in members):
        return members
    return (agent, *(member for member in members if member.name != agent.name))


def _known(entry: Entry, roster: Roster) -> int | None:
    at = roster.by_id(speaker_of(entry))
    if at is None:
        at = roster.by_id(entry.get("sender"))
    return at


def _with_reply(turn: Turn, entry: Entry, authors: Mapping[Any, int]) -> tuple[Turn, int | None]:
    reply_to = entry.get("reply_to")
    author = authors.get(reply_to) if reply_to and isinstance(reply_to, str) else None
    if author is None or author == turn.who or author in turn.to:
        return turn, author
    return turn._replace(to=turn.to | {author}), author


def _minute(entry: Entry) -> int:
    ts = entry.get("ts")
    return int(ts // _MINUTE) if isinstance(ts, int | float) and math.isfinite(ts) else 0
