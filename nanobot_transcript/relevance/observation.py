"""Entries as the gate sees them: who spoke, to whom, about what. Invalid entries are skipped, never raised for.

What a line says is computed once and cached, because the same lines come again with every message.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.relevance.dialogue import NEVER, Dialogue, DialogueLine
from nanobot_transcript.relevance.features import JudgedMessage
from nanobot_transcript.relevance.mentions import at_nodes, called_beside, is_for_everyone
from nanobot_transcript.relevance.message_history import HISTORY_LINES
from nanobot_transcript.relevance.names import NOBODY, STRANGER, Naming, Roster, hint_of, speaker_of, strangers
from nanobot_transcript.relevance.opening_words import opening
from nanobot_transcript.relevance.reply_links import Links, links
from nanobot_transcript.relevance.text import breadth, clipped, is_question, terms
from nanobot_transcript.relevance.trees import Trees
from nanobot_transcript.unicode_text import TEXT_LIMIT, folded

__all__ = ["Observation", "Observer", "content_of"]

_LINE_LIMIT: Final = 600
"""Characters read of a line of the history, so that long answers of bots cost no more than they tell."""
_REMEMBERED_LINES: Final = 3 * HISTORY_LINES
"""Cached lines of a group. Half of them are dropped at once, and the rest must still hold a whole history."""
_REMEMBERED_GISTS: Final = 2000
_REMEMBERED_GROUPS: Final = 128
"""Cached groups. One takes 0.2 MB with a hundred short lines, 0.5 MB with lines of 200 characters; reading one again
takes about five times as long as a decision.
"""
_JUST_BEFORE: Final = 3
_SAME_MINUTES: Final = 2


class Observation(NamedTuple):
    """A message in its scene; members by position in the roster.

    ``mentioned`` are members behind at-nodes (``STRANGER`` for somebody unknown), ``named`` those called by name;
    ``everyone``: the whole group is mentioned. ``found`` tells what the message answers, ``me`` is the agent,
    ``reply_author`` the author of the message that is replied to, if known. ``awaited`` are members whom the speaker
    mentioned in the line just before, and who have not spoken since. ``spelled`` are members whose names occur in
    ``text``, called or not; ``names`` are all names of members.
    """

    roster: Roster
    scene: Dialogue
    message: JudgedMessage
    found: Links
    speaker: int
    me: int
    mentioned: frozenset[int]
    named: frozenset[int]
    everyone: bool
    reply_author: int | None
    awaited: frozenset[int]
    text: str
    spelled: frozenset[int]
    names: frozenset[str]


class _Line(NamedTuple):
    """What a line says by itself, for one roster.

    ``text`` is its folded text; ``settled``: everybody it mentions is known by id.
    """

    turn: DialogueLine
    naming: Naming
    mentioned: frozenset[int]
    called: frozenset[int]
    everyone: bool
    text: str
    settled: bool


class _Group:
    """The rosters of one set of members, including strangers who spoke, in order of appearance."""

    def __init__(self, members: tuple[AgentProfile, ...]) -> None:
        self.members = members
        self.places = {id(member): at for at, member in enumerate(members)}
        self.roster = Roster(members)
        self.names = self.roster.called
        self.lines: dict[Any, _Line] = {}

    def read(self, entries: Sequence[Entry]) -> list[_Line]:
        """The lines of entries; the same object for the same entry. Unknown writers first join the roster."""
        known = self.lines
        try:
            return [known[entry["message_id"], entry["content"]] for entry in entries]
        except (KeyError, TypeError):  # a new line, or one with an unhashable value where a string belongs
            unknown = [entry for entry in entries if _known(entry, self.roster) is None]
            if unknown:
                self._admit(unknown, entries)
        return [line for entry in entries if (line := self._line(entry)) is not None]

    def whole(self, message: Entry, line: _Line) -> _Line:
        """The line of the message to decide about, of which more characters are read."""
        is_long = len(content_of(message)) > _LINE_LIMIT
        return (self._read(message, TEXT_LIMIT) or line) if is_long else line

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

    def _admit(self, unknown: Sequence[Entry], entries: Sequence[Entry]) -> None:
        """Let unknown writers join. Cached lines that read the same with and without them are kept."""
        if len(self.roster) >= 4 * HISTORY_LINES:
            self.roster, self.lines, unknown = Roster(self.members), {}, entries
        newcomers = strangers(unknown, self.roster)
        self.roster = self.roster.joined(newcomers)
        hints = {hint_of(newcomer.name) for newcomer in newcomers} - {""}
        self.lines = {key: line for key, line in self.lines.items() if line.settled and not _holds(line.text, hints)}

    def _read(self, entry: Entry, limit: int = _LINE_LIMIT) -> _Line | None:
        roster, text = self.roster, content_of(entry, limit)
        who = _known(entry, roster)
        if who is None:
            return None
        naming = roster.naming(text)
        nodes = entry.get("mentions")
        mentioned = roster.mentioned(nodes) - {who}
        everyone = is_for_everyone(text)
        called = naming.named - mentioned
        if called and _is_addressed(roster, naming, mentioned, everyone):
            others = at_nodes(nodes, [roster.members[at] for at in mentioned if at != STRANGER])
            called = called_beside(text, called, roster, others)
        called, mentioned = called - {who} or NOBODY, mentioned or NOBODY
        to = called | mentioned or NOBODY
        asks, about, length, opens = _gist(text)
        hinted = naming.hinted - {who} or NOBODY
        turn = DialogueLine(who, roster.ordered(to), asks, _ts(entry), about, length, opens, hinted)
        settled = not nodes or (isinstance(nodes, list) and all(roster.holds(node) for node in nodes))
        return _Line(turn, naming, mentioned, called, everyone, folded(text), settled)


class Observer:
    """Turns entries into observations; ``model`` tells how likely a line answers another one. One for each gate; its
    caches are bounded, and separate for each chat, because names of strangers and ids of messages may repeat in another
    chat.
    """

    def __init__(self, model: Trees) -> None:
        self._model = model
        self._groups: dict[tuple[str, *tuple[int, ...]], _Group] = {}
        self._given: tuple[str, *tuple[AgentProfile, ...]] = ("",)
        self._group_of: _Group | None = None
        self._latest: tuple[Any, list[DialogueLine], Dialogue] | None = None
        self._linked: tuple[Dialogue, DialogueLine, Links] | None = None

    def observe(
        self,
        message: Entry,
        history: Sequence[Entry],
        agent: AgentProfile,
        members: Sequence[AgentProfile],
        session_key: str = "",
    ) -> Observation:
        """The message as the one after ``history``, which holds only messages."""
        group = self._group(session_key, members, agent)
        lines = group.read([*history, message])
        now = group.whole(message, lines.pop())
        turns, authors = self._turns(group.roster, lines, history, message)
        turn, author = _with_reply(group.roster, now.turn, message, authors)
        scene = self._scene(group, turns, turn.who)
        return Observation(
            group.roster,
            scene,
            JudgedMessage(turn, now.naming.first),
            self._links(scene, turn),
            turn.who,
            group.places[id(agent)],
            now.mentioned,
            now.called,
            now.everyone,
            author,
            _awaited(scene, lines, turn),
            content_of(message),
            now.naming.named - {turn.who},
            group.names,
        )

    def _group(self, chat: str, members: Sequence[AgentProfile], agent: AgentProfile) -> _Group:
        given = (chat, *members)
        if given != self._given or self._group_of is None or id(agent) not in self._group_of.places:
            self._given, self._group_of = given, self._remembered(chat, _with_agent(members, agent))
        return self._group_of

    def _remembered(self, chat: str, members: Sequence[AgentProfile]) -> _Group:
        key = (chat, *map(id, members))  # the group keeps the profiles alive, so that no id() is reused
        group = self._groups.pop(key, None) or _Group(tuple(members))
        if len(self._groups) >= _REMEMBERED_GROUPS:
            del self._groups[next(iter(self._groups))]
        self._groups[key] = group  # moved to the end: the first one is the least recently used
        return group

    @staticmethod
    def _turns(
        roster: Roster, lines: Sequence[_Line], entries: Sequence[Entry], message: Entry
    ) -> tuple[list[DialogueLine], dict[Any, int]]:
        """The turns, with replies counted as addressing, and who wrote which message."""
        turns = [line.turn for line in lines]
        replies = [at for at, entry in enumerate(entries) if "reply_to" in entry]
        authors: dict[Any, int] = {}
        if replies or "reply_to" in message:
            for entry, turn in zip(entries, turns, strict=True):
                if isinstance(message_id := entry.get("message_id"), str):
                    authors[message_id] = turn.who
        for at in replies:
            turns[at], _ = _with_reply(roster, turns[at], entries[at], authors)
        return turns, authors

    def _scene(self, group: _Group, turns: list[DialogueLine], speaker: int) -> Dialogue:
        latest = self._latest
        if latest and latest[0] is group.roster and latest[2].speaker == speaker and latest[1] == turns:
            return latest[2]
        scene = Dialogue(turns, speaker)
        self._latest = (group.roster, turns, scene)
        return scene

    def _links(self, scene: Dialogue, turn: DialogueLine) -> Links:
        """What the message answers: the same for all members in question."""
        known = self._linked
        if known and known[0] is scene and known[1] == turn:
            return known[2]
        found = links(scene.turns, scene.size, turn, self._model)
        self._linked = (scene, turn, found)
        return found


def content_of(entry: Mapping[str, Any], limit: int = TEXT_LIMIT) -> str:
    """The text of an entry, as far as it is read; empty when it has none."""
    content = entry.get("content")
    return clipped(content, limit) if isinstance(content, str) else ""


@lru_cache(maxsize=_REMEMBERED_GISTS)
def _gist(text: str) -> tuple[bool, frozenset[str], int, int]:
    """What a text says whoever reads it. Cached separately, because a new speaker invalidates everything else."""
    return is_question(text), terms(text), breadth(text), opening(text)


def _holds(text: str, pieces: Iterable[str]) -> bool:
    return any(piece in text for piece in pieces)


def _with_agent(members: Sequence[AgentProfile], agent: AgentProfile) -> Sequence[AgentProfile]:
    """The members including exactly this profile of the agent, once."""
    if any(member is agent for member in members):
        return members
    return (agent, *(member for member in members if member.name != agent.name))


def _awaited(scene: Dialogue, lines: Sequence[_Line], now: DialogueLine) -> frozenset[int]:
    own = scene.last.get(now.who, NEVER)
    if scene.size - own > _JUST_BEFORE or not 0 <= now.minutes_since(lines[own].turn) <= _SAME_MINUTES:
        return NOBODY
    return frozenset(at for at in lines[own].mentioned if scene.last.get(at, NEVER) < own)


def _is_addressed(roster: Roster, naming: Naming, mentioned: frozenset[int], everyone: bool) -> bool:
    """True when at-nodes tell whom a text is for, so that a name in it may be talk about somebody.

    A bot is mentioned in order to speak to it; a person often because the text is about them, unless it begins with
    that.
    """
    if everyone or (mentioned and naming.first in mentioned):
        return True
    return any(at != STRANGER and roster.members[at].kind == "bot" for at in mentioned)


def _known(entry: Entry, roster: Roster) -> int | None:
    at = roster.by_id(speaker_of(entry))
    if at is None:
        at = roster.by_id(entry.get("sender"))
    return at


def _with_reply(
    roster: Roster, turn: DialogueLine, entry: Entry, authors: Mapping[Any, int]
) -> tuple[DialogueLine, int | None]:
    reply_to = entry.get("reply_to")
    author = authors.get(reply_to) if reply_to and isinstance(reply_to, str) else None
    if author is None or author == turn.who or author in turn.to:
        return turn, author
    return turn._replace(to=roster.ordered({*turn.to, author})), author


def _ts(entry: Entry) -> float:
    ts = entry.get("ts")
    try:
        return float(ts) if isinstance(ts, int | float) and math.isfinite(ts) else 0.0
    except OverflowError:  # an integer too large for a float
        return 0.0
