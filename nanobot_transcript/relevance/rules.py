"""What needs no score: messages that are never answered, surely for the agent, or surely for somebody else."""

import re
from collections.abc import Sequence
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile, wrote
from nanobot_transcript.relevance.addressing import begins_with_call
from nanobot_transcript.relevance.decision import Reason
from nanobot_transcript.relevance.names import Roster
from nanobot_transcript.relevance.observe import Observation, content_of
from nanobot_transcript.relevance.past import Past
from nanobot_transcript.turns.ageing import age_ms
from nanobot_transcript.turns.claim import is_answered
from nanobot_transcript.turns.owner import owner_of

__all__ = ["begins_with_other", "calls_other", "certain", "for_other_bot", "goes_on", "never", "others", "thread_owner"]

_COMMAND: Final = re.compile(r"\s*[/!][^\W\d][\w-]{0,40}(?:@([^\s@]{1,100}))?")
_COMMANDS_LOOKED_AT: Final = 300


def never(
    message: Entry,
    past: Past,
    agent: AgentProfile,
    now_ms: float | None,
    stale_ms: float,
) -> Reason | None:
    """Why a message is never answered, by itself; ``command_for_other`` needs the scene and comes later."""
    if not isinstance(message, dict) or not (isinstance(message.get("content"), str) or message.get("op")):
        return Reason.INVALID
    if message.get("op") in ("recall", "redact") or _recalled(message, past):
        return Reason.RECALLED
    if wrote(agent, message):
        return Reason.OWN
    if is_answered(message, past.entries, by=agent):
        return Reason.DUPLICATE
    if age_ms(message, past.entries, now_ms) > stale_ms:
        return Reason.STALE
    return None


def certain(seen: Observation) -> Reason | None:
    """Why the agent is meant for certain, without regard to threads."""
    if seen.me in seen.mentioned:
        return Reason.MENTIONED
    if seen.me in seen.named:
        return Reason.NAMED
    if seen.reply_author == seen.me:
        return Reason.REPLIED_TO
    return None


def others(seen: Observation, message: Entry, agent: AgentProfile, owner: str | None) -> tuple[Reason, bool] | None:
    """(Reason, True for "answer") when the message mentions or replies to somebody else, or belongs to a thread.

    Who is addressed, by name too, goes before whose thread it is.
    """
    if seen.mentioned:
        return Reason.OTHER_MENTIONED, False
    if seen.reply_author is not None and seen.reply_author != seen.speaker:
        return Reason.OTHER_REPLIED_TO, False
    if owner and message.get("thread_id") and not begins_with_other(seen):
        return (Reason.OWN_THREAD, True) if owner == agent.name else (Reason.OTHERS_THREAD, False)
    return None


def thread_owner(message: Entry, lines: Sequence[Entry], members: Sequence[AgentProfile]) -> str | None:
    """Whose thread the message stands in, as every process finds it in the record; None outside of threads."""
    thread_id, root_id = message.get("thread_id"), message.get("root_id")
    if not thread_id or not isinstance(thread_id, str):
        return None
    entries = [entry for entry in lines if _is_whole(entry)]
    return owner_of(entries, thread_id, root_id=root_id if isinstance(root_id, str) else None, bots=members)


def begins_with_other(seen: Observation) -> bool:
    """True when the text begins with the name of somebody else; a name may be a common word, so a score follows."""
    return seen.message.first is not None and seen.message.first != seen.speaker


def calls_other(seen: Observation, message: Entry) -> bool:
    """True when a bot other than the agent is called by name, and so is certain to answer; or when the text begins by
    calling a person, as in "Ada, did you see it?" or "韩梅梅你觉得呢？".
    """
    members = seen.roster.members
    if any(at != seen.me and members[at].kind == "bot" for at in seen.named):
        return True
    first = seen.message.first
    if first is None or first in (seen.speaker, seen.me) or members[first].kind == "bot":
        return False
    return begins_with_call(content_of(message), (members[first].name, *members[first].aliases))


def goes_on(seen: Observation) -> bool:
    """True for a second message to the agent, sent before it could answer the first: "@Alpha look", "why is it red?".

    The labelled logs know no such thing: there nobody is an addressee who has said nothing.
    """
    return seen.me in seen.awaited and not seen.message.turn.to and seen.message.first is None


def for_other_bot(message: Entry, seen: Observation) -> bool:
    """True for ``/command@other``, or a command in a message that mentions other members only."""
    match = _COMMAND.match(content_of(message)[:_COMMANDS_LOOKED_AT])
    if match is None:
        return False
    if match[1]:
        return _member(seen.roster, match[1]) != seen.me
    return bool(seen.mentioned) and seen.me not in seen.mentioned


def _member(roster: Roster, name: str) -> int | None:
    known = roster.by_id(name)
    return known if known is not None else roster.naming(name).first


def _recalled(message: Entry, past: Past) -> bool:
    message_id = message.get("message_id")
    return bool(message_id) and any(
        entry.get("op") in ("recall", "redact") and entry.get("target") == message_id for entry in past.ops
    )


def _is_whole(entry: Entry) -> bool:
    texts = all(isinstance(entry.get(key), str) for key in ("role", "content", "sender"))
    return texts and isinstance(entry.get("ts"), int | float)
