"""Who is named in a text: names, aliases and at-nodes, in any script.

A name of letters and digits counts only as a whole word; its neighbour may be a Chinese character or a mark, but not a
letter or digit. A name of several words, or in a script without spaces, is searched literally, longest first, so that
小明明 does not name 小明, nor "Alpha Bot" Alpha.
"""

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any, Final, NamedTuple

from nanobot_transcript.identity import AgentProfile, account_of, is_bot
from nanobot_transcript.relevance.text import is_dense, words
from nanobot_transcript.unicode_text import folded

__all__ = ["NOBODY", "STRANGER", "Naming", "Roster", "beside_names", "hint_of", "speaker_of", "strangers", "whole_word"]

NOBODY: Final[frozenset[int]] = frozenset()
"""No member. One shared object for all cached lines, because an empty set takes as much memory as one of four."""
STRANGER: Final = -1
"""The position of somebody who is mentioned but is not a known member."""

_MARKS: Final = "-[]\\`^{}|"
_PARTING: Final = {ord(mark): " " for mark in _MARKS}
_OPENING: Final = " \t@＠,，:：>-"
_ABBREVIATION: Final = 3
_LONG_NAME: Final = 6
_NAME_LIMIT: Final = 100
_SENDERS: Final = ("sender", "agent", "sender_name")
_NAMES: Final = ("sender_name", "agent", "sender")


class Naming(NamedTuple):
    """Whom a text names, by position in the roster.

    ``named``: all, unordered; ``first``: the one the text begins with (or None); ``hinted``: those whose name begins
    like the first word, when that is not a name; ``stranger``: True when the text begins by addressing an unknown name.
    """

    named: frozenset[int]
    first: int | None
    hinted: frozenset[int]
    stranger: bool


class Roster:
    """The members of a group, searchable by id and by name. Positions are those of ``members``."""

    def __init__(self, members: Sequence[AgentProfile]) -> None:
        self.members: tuple[AgentProfile, ...] = ()
        self._by_id: dict[str, int] = {}
        self._called: dict[str, int] = {}
        self._words: dict[str, int] = {}
        self._phrases: list[tuple[str, frozenset[str], int]] = []
        self._take_in(members)

    def joined(self, newcomers: Sequence[AgentProfile]) -> "Roster":
        """The roster with ``newcomers`` added; the others keep their positions, ids and names."""
        roster = Roster(())
        roster.members = self.members
        roster._by_id, roster._called, roster._words = self._by_id.copy(), self._called.copy(), self._words.copy()
        roster._phrases = self._phrases.copy()
        roster._take_in(newcomers)
        return roster

    def __len__(self) -> int:
        return len(self.members)

    @property
    def called(self) -> frozenset[str]:
        """All names and aliases in search form."""
        return frozenset(self._called)

    def by_id(self, identity: Any) -> int | None:
        """The member with this id or, if there is none, with exactly this name."""
        return self._by_id.get(identity) if isinstance(identity, str) else None

    def holds(self, node: Any) -> bool:
        """True when an at-node refers to a member by id."""
        return isinstance(node, Mapping) and any(self.by_id(node.get(key)) is not None for key in ("account", "id"))

    def mentioned(self, mentions: Any) -> frozenset[int]:
        """The members behind the at-nodes of a message: by id, else by name; ``STRANGER`` for an id nobody has."""
        if not isinstance(mentions, list | tuple):
            return frozenset()
        return frozenset(at for node in mentions if (at := self._node(node)) is not None)

    def ordered(self, some: Set[int]) -> tuple[int, ...]:
        """Some members by name, ``STRANGER`` first: in the same order in each process, however members are listed."""
        return tuple(some) if len(some) < 2 else tuple(sorted(some, key=self._place))

    def naming(self, text: str) -> Naming:
        """Whom a text names."""
        text = folded(text)
        lead = text.lstrip(_OPENING)
        named: set[int] = set()
        first = None
        if self._phrases:
            first, text = self._take_phrases(text, lead, named)
        found = words(text)
        named |= self._of_words(set(found))
        starts = bool(found) and lead.startswith(found[0])
        if first is None and starts:
            first = self._word(found[0])
        hinted = NOBODY
        vocative = first is None and starts and lead[len(found[0]) :].lstrip(" ")[:1] in (":", "：", ",", "，")
        if first is None and starts and (vocative or len(found[0]) > _ABBREVIATION):
            hinted = self._hinted(found[0])
        colon = vocative and lead[len(found[0]) :].lstrip(" ")[:1] in (":", "：")
        return Naming(frozenset(named) or NOBODY, first, hinted, colon and not hinted)

    def _place(self, at: int) -> tuple[str, str]:
        if at == STRANGER:
            return "", ""
        member = self.members[at]
        return member.name, min(member.ids, default="")

    def _take_in(self, newcomers: Sequence[AgentProfile]) -> None:
        for at, member in enumerate(newcomers, len(self.members)):
            self._add(at, member)
        self.members += tuple(newcomers)
        self._phrases.sort(key=lambda phrase: -len(phrase[0]))

    def _add(self, at: int, member: AgentProfile) -> None:
        for identity in (*member.ids, member.name):
            self._by_id.setdefault(identity, at)
        for called in (member.name, *member.aliases):
            name = folded(called.strip())
            if not name:
                continue
            self._called.setdefault(name, at)
            if words(name) == [name]:
                self._words.setdefault(name, at)
            else:
                self._phrases.append((name, frozenset(name), at))

    def _node(self, node: Any) -> int | None:
        if not isinstance(node, Mapping):
            return None
        for identity in (node.get("account"), node.get("id")):
            if (by_id := self.by_id(identity)) is not None:
                return by_id
        name, identity = node.get("name"), node.get("id")
        at = self._called.get(folded(name.strip()), self._by_id.get(name)) if isinstance(name, str) else None
        return STRANGER if at is None and isinstance(identity, str) and identity else at

    def _word(self, word: str) -> int | None:
        at = self._words.get(word)
        return at if at is not None else self._words.get(word.strip(_MARKS))

    def _of_words(self, found: set[str]) -> set[int]:
        """The members called by these words; by parts of a word that is not a name itself (``bob-style`` names
        bob).
        """
        named = {self._words[word] for word in found & self._words.keys()}
        for word in found - self._words.keys():
            if word.isalnum():
                continue
            if (at := self._word(word)) is not None:
                named.add(at)
                continue
            parts = [part for part in word.translate(_PARTING).split() if len(part) >= _ABBREVIATION]
            named.update(at for part in parts if (at := self._words.get(part)) is not None)
        return named

    def _take_phrases(self, text: str, lead: str, named: set[int]) -> tuple[int | None, str]:
        """Adds members whose names are more than a single word; returns the one the text begins with, and the rest of
        the text.

        A longer name uses up its place: no other name is found within it.
        """
        first, there = None, set(text)
        for phrase, characters, at in self._phrases:
            if not characters <= there:  # rules out most names, faster than searching for each in every line
                continue
            left = _without(text, phrase)
            if left is text:
                continue
            named.add(at)
            if first is None and lead.startswith(phrase):
                first = at
            text = left
        return first, text

    def _hinted(self, word: str) -> frozenset[int]:
        if len(word) < _ABBREVIATION:
            return frozenset()
        return frozenset(
            at
            for name, at in self._words.items()
            if name.startswith(word) or (len(name) > _ABBREVIATION and word.startswith(name)) or _is_slip(word, name)
        )


def whole_word(text: str, phrase: str, start: int = 0) -> int:
    """Where a phrase occurs as a whole, or -1: no letter or digit may continue it."""
    place = text.find(phrase, start)
    while place >= 0:
        end = place + len(phrase)
        if not (_glued(text, place - 1, place) or _glued(text, end - 1, end)):
            return place
        place = text.find(phrase, place + 1)
    return -1


def _is_slip(word: str, name: str) -> bool:
    """True when a longer word is a name with one typo: a letter changed, added, missing, or two swapped."""
    if len(word) < _LONG_NAME or word[:_ABBREVIATION] != name[:_ABBREVIATION] or abs(len(word) - len(name)) > 1:
        return False
    at = next((at for at, (one, other) in enumerate(zip(word, name, strict=False)) if one != other), len(word))
    rest, other = word[at:], name[at:]
    exchanged = rest[:2] == other[1::-1] and rest[2:] == other[2:]
    return exchanged or rest[1:] == other or rest == other[1:] or rest[1:] == other[1:]


def beside_names(text: str, names: frozenset[str], put: str = " ") -> str:
    """The text with ``put`` in place of each of ``names``, both folded; a Latin name only as a whole word.

    >>> beside_names("alpha, in an instance", frozenset({"alpha", "an"}), "§")
    '§, in § instance'
    """
    return _any_of(names).sub(put, text)


@lru_cache(maxsize=64)
def _any_of(names: frozenset[str]) -> re.Pattern[str]:
    """Matches any of the names, longest first."""
    ordered = sorted(filter(None, names), key=lambda name: (-len(name), name))
    latin, dense = r"(?<![a-z0-9]){}(?![a-z0-9])", "{}"
    one = "|".join((latin if name.isascii() else dense).format(re.escape(name)) for name in ordered)
    return re.compile(one or "(?!)")


def _without(text: str, phrase: str) -> str:
    """The text with each whole phrase blanked out; the same object when there is none."""
    place = whole_word(text, phrase)
    while place >= 0:
        end = place + len(phrase)
        text = text[:place] + "\0" * len(phrase) + text[end:]
        place = whole_word(text, phrase, end)
    return text


def _glued(text: str, left: int, right: int) -> bool:
    if left < 0 or right >= len(text):
        return False
    pair = text[left] + text[right]
    return all((character.isalnum() or character == "_") and not is_dense(character) for character in pair)


def speaker_of(entry: Mapping[str, Any]) -> str:
    """The id by which the writer of an entry is known; for a bot its account, else its name."""
    return account_of(entry) or _first(entry, _SENDERS) or "?"


def strangers(entries: Iterable[Mapping[str, Any]], roster: Roster) -> list[AgentProfile]:
    """Profiles for writers of ``entries`` whom the roster does not know."""
    found: dict[str, AgentProfile] = {}
    for entry in entries:
        speaker = speaker_of(entry)
        if speaker not in found and roster.by_id(speaker) is None:
            name = _first(entry, _NAMES) or speaker
            kind, account = ("bot", account_of(entry)) if is_bot(entry) else ("human", "")
            found[speaker] = AgentProfile(name[:_NAME_LIMIT], ids=frozenset({speaker}), kind=kind, account=account)
    return list(found.values())


def hint_of(name: str) -> str:
    """A string that occurs in every folded text in which this name, or a word that begins like it, can be found."""
    return folded(name.strip())[:_ABBREVIATION]


def _first(entry: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    return next((value for key in keys if isinstance(value := entry.get(key), str) and value), None)
