"""How members and messages are shown in a prompt: one JSON object per line, which no text or name can break out of.

An entry has ``id``, ``time``, ``from``, then, where they apply, ``you`` (the agent's own words), ``bot`` (another
bot's), ``person``, ``thread``, ``reply_to``, ``edited``, and ``text``. ``person`` is a mark derived from the stable
sender. It is added when the name alone could be mistaken: two people share it, a bot has it, or it is one of our
keywords. Names that look the same count as the same.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any, Final, TypeAlias

from nanobot_transcript.entry import Entry, well_formed
from nanobot_transcript.identity import AgentProfile, is_bot, wrote
from nanobot_transcript.unicode_text import appearance, on_one_line

__all__ = ["ShownLine", "Voices", "encode", "fit", "length_of", "name_in"]

ShownLine: TypeAlias = dict[str, Any]

_LINE_BREAKS: Final = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"})
_LONGEST_NAME: Final = 120
_LONGEST_DESCRIPTION: Final = 300
_SHORTEST: Final = 80
_NOTICE: Final = 32
_OURS: Final = frozenset({"you", "bot", "person", "system", "assistant", "user", "tool", "everyone", "all", "somebody"})
"""Keywords of these lines, which a name must not imitate."""
_NOBODY: Final = "somebody"


class Voices:
    """The members of a group and the senders of entries, as ``agent`` is told them.

    ``called`` names the sender of an entry, by default the member's name, else the name in the entry. ``clean`` is
    applied to every text of others. ``where`` is the time zone of the times (None: this machine's).
    """

    def __init__(
        self,
        agent: AgentProfile,
        members: Sequence[AgentProfile],
        entries: Iterable[Entry],
        *,
        called: Callable[[Entry], str] | None = None,
        clean: Callable[[str], str] = well_formed,
        where: tzinfo | None = None,
    ) -> None:
        self.agent: AgentProfile = agent
        self._members: Sequence[AgentProfile] = members
        self._names: dict[str, str] = {known: member.name for member in members for known in member.ids}
        self._called: Callable[[Entry], str] = called or self._by_members
        self._clean: Callable[[str], str] = clean
        self._where: tzinfo | None = where
        self._unclear: set[str] = self._names_in_doubt(entries)

    def line(self, entry: Entry) -> ShownLine:
        """An entry."""
        return self.header(entry) | {"text": self._clean(str(entry.get("content") or ""))}

    def header(self, entry: Entry) -> ShownLine:
        """An entry without its text: who said it, when, and where."""
        line: ShownLine = {"id": self._short(entry.get("message_id")), "time": _time(entry.get("ts"), self._where)}
        line["from"] = name = self._name(entry)
        if wrote(self.agent, entry):
            line["you"] = True
        elif is_bot(entry):
            line["bot"] = True
        elif appearance(name) in self._unclear:
            line["person"] = _mark(str(entry.get("sender") or ""))
        line["thread"] = self._short(entry.get("thread_id"))
        line["reply_to"] = self._short(entry.get("reply_to"))
        line["edited"] = entry.get("edited") or None
        return {key: value for key, value in line.items() if value is not None}

    def member(self, member: AgentProfile) -> ShownLine:
        """A member."""
        name = self._shown(member.name)
        line: ShownLine = {"name": name, "kind": member.kind}
        if member.kind == "bot" and (member is self.agent or member.name == self.agent.name):
            line["you"] = True
        if member.kind == "human" and appearance(name) in self._unclear:
            line["person"] = _mark(min(member.ids, default=member.name))
        if member.description:
            line["description"] = self._clean(member.description)[:_LONGEST_DESCRIPTION]
        return line

    def members(self) -> list[ShownLine]:
        """All members, in order."""
        return [self.member(member) for member in self._members]

    def _name(self, entry: Entry) -> str:
        return self._shown(self._called(entry)) or _NOBODY

    def _shown(self, name: str) -> str:
        """A name on one line, without invisible characters."""
        return self._clean(
            on_one_line(name, _LONGEST_NAME)
        ).strip()  # cleaned last: invisible characters may hide a marker

    def _by_members(self, entry: Entry) -> str:
        return self._names.get(str(entry.get("sender") or "")) or name_in(entry)

    def _names_in_doubt(self, entries: Iterable[Entry]) -> set[str]:
        """Names that more than one member has, or that people could borrow from bots or from our keywords."""
        people: defaultdict[str, set[str]] = defaultdict(set)
        bots: set[str] = set()
        for member in (self.agent, *self._members):
            names = {appearance(self._shown(name)) for name in (member.name, *member.aliases)}
            if member.kind == "bot":
                bots |= names
            else:
                people[appearance(self._shown(member.name))].add(min(member.ids, default=member.name))
        for entry in entries:
            name = appearance(self._name(entry))
            if is_bot(entry):
                bots.add(name)
            else:
                people[name].add(str(entry.get("sender") or ""))
        return {name for name, senders in people.items() if len(senders) > 1 or name in bots or name in _OURS}

    def _short(self, value: object) -> str | None:
        """An id; other programs may write anything there."""
        return self._clean(value)[:_LONGEST_NAME] if isinstance(value, str) and value else None


def name_in(entry: Mapping[str, Any]) -> str:
    """The sender's name in an entry itself, on one line."""
    name = str(entry.get("sender_name") or entry.get("sender") or "")
    return on_one_line(well_formed(name), _LONGEST_NAME) or _NOBODY


def fit(lines: Iterable[ShownLine], max_chars: int, longest: int = 0) -> tuple[list[ShownLine], int]:
    """As many of the newest lines, encoded, as fit into ``max_chars`` characters, and how many were left out.

    A line longer than ``longest`` (0: half of all) is shortened, with a notice; the newest line is always included, at
    least with a part of its text.
    """
    kept: list[ShownLine] = []
    waiting, left = list(lines), max_chars
    while waiting:
        line = _shortened(waiting[-1], longest or max_chars // 2)
        length = length_of(line)
        if kept and length > left:
            break
        left -= length
        kept.append(line)
        waiting.pop()
    return kept[::-1], len(waiting)


def encode(line: Mapping[str, Any]) -> str:
    """One line of JSON that stays one line wherever it is pasted."""
    return json.dumps(line, ensure_ascii=False, separators=(", ", ": ")).translate(_LINE_BREAKS)


def length_of(line: Mapping[str, Any]) -> int:
    """The characters a line takes in a prompt, with its line end."""
    return len(encode(line)) + 1


def _shortened(line: ShownLine, limit: int) -> ShownLine:
    text, surplus = line["text"], length_of(line) - limit
    if surplus <= 0:
        return line
    kept = max(_SHORTEST, len(text) - surplus - _NOTICE)  # encoding makes no character shorter
    return line | {"text": f"{text[:kept]}… ({len(text) - kept} more characters)"} if kept < len(text) else line


def _mark(sender: str) -> str:
    return hashlib.sha256(sender.encode("utf-8", "surrogatepass")).hexdigest()[:4]


def _time(ts: Any, where: tzinfo | None) -> str | None:
    try:
        return datetime.fromtimestamp(float(ts) / 1000, where).astimezone(where).strftime("%Y-%m-%d %H:%M")
    except (TypeError, ValueError, OverflowError, OSError):
        return None
