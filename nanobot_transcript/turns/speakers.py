"""Who said an entry, to whom, and in which talk: the questions that every rule about turns asks.

A *talk* is what is said in one chat outside of threads, or in one thread. A thread's first message belongs to both.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile

__all__ = [
    "addresses",
    "hop_of",
    "ids_of",
    "is_bot",
    "is_person",
    "same_talk",
    "says_at",
    "speaker",
    "talk_of",
    "wrote",
]

_MOST_HOPS: Final = 1_000_000
_LETTERS: Final = 4_000


def is_bot(entry: Entry) -> bool:
    """True for what a bot said."""
    return entry["role"] == "assistant" or (entry["role"] == "user" and entry.get("sender_kind") == "bot")


def is_person(entry: Entry) -> bool:
    """True for what a person said."""
    return entry["role"] == "user" and entry.get("sender_kind") != "bot"


def speaker(entry: Entry) -> str:
    """The name under which the speaker is counted: the agent of a bot, the stable sender of a person."""
    return entry.get("agent") or entry["sender"]


def wrote(agent: AgentProfile, entry: Entry) -> bool:
    """True when this agent said it. An app id decides where there is one; a name can be given twice."""
    if not is_bot(entry):
        return False
    ids = entry.get("ids")
    app_id = ids.get("app_id") if isinstance(ids, dict) else None
    if app_id and app_id in agent.ids:
        return True
    return speaker(entry) == agent.name or entry["sender"] in agent.ids


def addresses(entry: Entry, agent: AgentProfile) -> bool:
    """True when the entry mentions the agent: by a real mention, or by ``@Name`` in what it says."""
    mentions = entry.get("mentions")
    for mention in mentions if isinstance(mentions, list) else ():
        if isinstance(mention, dict) and _is_mention_of(mention.get("id"), mention.get("name"), agent):
            return True
    return says_at(entry, (agent.name, *agent.aliases))


def says_at(entry: Entry, names: tuple[str, ...]) -> bool:
    """True when ``@Name`` stands in what the entry says, with any of these names."""
    said = entry["content"][:_LETTERS]
    return "@" in said and bool(_at(names).search(said))


def ids_of(entry: Entry) -> set[str]:
    """All ids of a message, those of its parts included."""
    parts = entry.get("message_ids")
    known = [entry.get("message_id"), *(parts if isinstance(parts, list) else ())]
    return {known_id for known_id in known if isinstance(known_id, str) and known_id}


def hop_of(entry: Entry) -> int:
    """How many bot turns in a row the writer counted, this one included; 0 when it did not."""
    hop = entry.get("hop")
    return min(hop, _MOST_HOPS) if type(hop) is int and hop > 0 else 0


def same_talk(entry: Entry, thread_id: str | None, root_id: str | None = None) -> bool:
    """True for entries of a thread (its first message has ``root_id``), or outside of threads without one.

    ``root_id`` alone makes no thread: a quoted answer has one, too.
    """
    if thread_id is None:
        return entry.get("thread_id") is None
    return entry.get("thread_id") == thread_id or (root_id is not None and root_id in ids_of(entry))


def talk_of(message: Entry, history: Iterable[Entry]) -> list[Entry]:
    """The entries of the talk in which a message stands, in the order of ``history``."""
    thread_id, root_id = message.get("thread_id"), message.get("root_id")
    return [entry for entry in history if same_talk(entry, thread_id, root_id)]


def _is_mention_of(mention_id: object, name: object, agent: AgentProfile) -> bool:
    if isinstance(mention_id, str) and mention_id and mention_id in agent.ids:
        return True
    names = {known.casefold() for known in (agent.name, *agent.aliases)}
    return any(isinstance(word, str) and word.strip().casefold() in names for word in (mention_id, name))


@lru_cache(maxsize=512)
def _at(names: tuple[str, ...]) -> "re.Pattern[str]":
    longest_first = sorted((re.escape(name) for name in names if name), key=len, reverse=True)
    # A name that ends in a Latin letter must not go on with another one; Chinese sets no spaces after a name.
    return re.compile(rf"@(?:{'|'.join(longest_first) or '(?!)'})(?![A-Za-z0-9_])", re.IGNORECASE)
