"""Whom an entry was said to, and in which talk: the questions that every rule about turns asks.

A *talk* is everything said in one chat outside of threads, or in one thread. A thread's first message belongs to both.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, Literal

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.unicode_text import DENSE, TEXT_LIMIT, folded

__all__ = [
    "addresses",
    "hop_of",
    "id_at",
    "ids_of",
    "same_talk",
    "says_at",
    "talk_of",
]

_MOST_HOPS: Final = 1_000_000
_NODES: Final = 50


def addresses(entry: Entry, agent: AgentProfile, others: Iterable[AgentProfile] = ()) -> bool:
    """True when the entry mentions the agent: by a real mention, or by ``@Name`` in its text.

    Longer names of ``others`` and of members the entry mentions win: ``@小阿姨`` is not for 小阿.
    """
    called = (agent.name, *agent.aliases)
    mentions = entry.get("mentions")
    if isinstance(mentions, list) and mentions:
        names = {_name(name) for name in called}
        if any(isinstance(mention, dict) and _is_mention_of(mention, agent, names) for mention in mentions):
            return True
    return says_at(entry, called, (name for other in others for name in (other.name, *other.aliases)))


def says_at(entry: Entry, names: tuple[str, ...], others: Iterable[str] = ()) -> bool:
    """True when the text contains ``@Name`` with one of these names, and not a longer name of ``others`` at
    that place.

    Members whom the entry mentions count as others.
    """
    said = entry["content"][:TEXT_LIMIT]
    if "@" not in said and "＠" not in said:
        return False
    mine = _spelled(names)
    longer = {name for name in map(_name, (*others, *_shown(entry))) if name not in mine and name.startswith(mine)}
    return any(found[1] in mine for found in _at(mine, frozenset(longer)).finditer(folded(said)))


def ids_of(entry: Entry) -> set[str]:
    """All ids of a message, including those of its parts."""
    parts = entry.get("message_ids")
    known = [entry.get("message_id"), *(parts if isinstance(parts, list) else ())]
    return {known_id for known_id in known if isinstance(known_id, str) and known_id}


def id_at(entry: Entry, field: Literal["reply_to", "root_id", "thread_id"]) -> str | None:
    """The id by which an entry refers to another one, or to its thread; None when it is not a text: other programs may
    write anything.
    """
    value = entry.get(field)
    return value if value and isinstance(value, str) else None


def hop_of(entry: Entry) -> int:
    """The number of bot turns in a row that the writer counted, including this one; 0 when it did not."""
    hop = entry.get("hop")
    return min(hop, _MOST_HOPS) if type(hop) is int and hop > 0 else 0


def same_talk(entry: Entry, thread_id: str | None, root_id: str | None = None) -> bool:
    """True for entries of a thread (its first message has ``root_id``), or, without a thread, outside of threads.

    ``root_id`` alone makes no thread: a quoted answer has one, too.
    """
    if thread_id is None:
        return id_at(entry, "thread_id") is None
    return id_at(entry, "thread_id") == thread_id or (root_id is not None and root_id in ids_of(entry))


def talk_of(message: Entry, history: Iterable[Entry]) -> list[Entry]:
    """The entries of the talk that a message belongs to, in the order of ``history``."""
    thread_id, root_id = id_at(message, "thread_id"), id_at(message, "root_id")
    return [entry for entry in history if same_talk(entry, thread_id, root_id)]


def _is_mention_of(mention: Mapping[str, object], agent: AgentProfile, names: set[str]) -> bool:
    mention_id, name, account = mention.get("id"), mention.get("name"), mention.get("account")
    if account and agent.account:
        return account == agent.account
    if isinstance(mention_id, str) and mention_id and mention_id in agent.ids:
        return True
    return any(isinstance(word, str) and _name(word) in names for word in (mention_id, name))


def _shown(entry: Entry) -> Iterable[str]:
    """The names by which an entry's mentions appear in its text."""
    mentions = entry.get("mentions")
    nodes = mentions[:_NODES] if isinstance(mentions, list) else ()
    return (name for node in nodes if isinstance(node, dict) and isinstance(name := node.get("name"), str))


@lru_cache(maxsize=512)
def _spelled(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(spelled for name in names if (spelled := _name(name)))


@lru_cache(maxsize=512)
def _at(names: tuple[str, ...], others: frozenset[str]) -> "re.Pattern[str]":
    longest_first = sorted(map(re.escape, {*names, *others}), key=len, reverse=True)
    letter = rf"[^\W{DENSE}]"
    # No letter may follow the name, nor a mark that makes it part of a longer one: GPT-4, C++. In Chinese, text follows
    # a name without a space.
    return re.compile(rf"@({'|'.join(longest_first) or '(?!)'})(?![-.·]?{letter}|[+#])")


def _name(name: str) -> str:
    return folded(name).strip()
