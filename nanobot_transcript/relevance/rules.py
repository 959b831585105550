"""Rules that need no score: messages that are never answered, certainly for the agent, or certainly for
somebody else.
"""

import re
from collections.abc import Sequence
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile, wrote
from nanobot_transcript.relevance.decision import Reason
from nanobot_transcript.relevance.dialogue import NEVER
from nanobot_transcript.relevance.mentions import begins_with_call
from nanobot_transcript.relevance.message_history import Past
from nanobot_transcript.relevance.name_calls import call_of
from nanobot_transcript.relevance.names import Roster
from nanobot_transcript.relevance.observation import Observation, content_of
from nanobot_transcript.relevance.request_words import tells_to_stop, wording
from nanobot_transcript.store.lines.ops import hides
from nanobot_transcript.turns.claim import is_answered
from nanobot_transcript.turns.courtesy import is_consent, is_greeting, is_thanks, is_wordless
from nanobot_transcript.turns.message_age import age_ms
from nanobot_transcript.turns.owner import owner_of

__all__ = [
    "begins_with_other",
    "calls_person",
    "certain",
    "for_other_bot",
    "goes_on",
    "goes_on_with_other",
    "in_thread",
    "is_called",
    "is_clearly_called",
    "never",
    "others",
    "thread_owner",
    "wants_no_answer",
]

_COMMAND: Final = re.compile(r"\s*[/!][^\W\d][\w-]{0,40}(?:@([^\s@]{1,100}))?")
_COMMANDS_LOOKED_AT: Final = 300
_CONTINUE: Final = re.compile(
    r"\W{0,9}(?:(?:请|你|那|好)?(?:继续|接着)(?:吧|说|讲|写|做|来|啊|呀|下去)?"
    r"|(?:please\s)?(?:go on|continue|carry on))(?=\W|$)",
    re.IGNORECASE,
)
_ASKED_LINES: Final = 4


def never(
    message: Entry,
    past: Past,
    agent: AgentProfile,
    now_ms: float | None,
    stale_ms: float,
) -> Reason | None:
    """Why a message is never answered, judged by itself; ``command_for_other`` needs the scene and comes later."""
    if not isinstance(message, dict) or not (isinstance(message.get("content"), str) or message.get("op")):
        return Reason.INVALID
    if hides(message) or _recalled(message, past):
        return Reason.RECALLED
    if wrote(agent, message):
        return Reason.OWN
    if is_answered(message, past.entries, by=agent):
        return Reason.DUPLICATE
    if age_ms(message, past.entries, now_ms) > stale_ms:
        return Reason.STALE
    return None


def certain(seen: Observation) -> Reason | None:
    """Why a person is certainly addressed, leaving threads aside."""
    if seen.me in seen.mentioned:
        return Reason.MENTIONED
    if seen.reply_author == seen.me:
        return Reason.REPLIED_TO
    return None


def others(seen: Observation, message: Entry, agent: AgentProfile, owner: str | None) -> tuple[Reason, bool] | None:
    """(Reason, True for "answer") when the message mentions or replies to somebody else, or belongs to a thread."""
    if seen.mentioned:
        return Reason.OTHER_MENTIONED, False
    if seen.reply_author is not None and seen.reply_author != seen.speaker:
        return Reason.OTHER_REPLIED_TO, False
    if owner and in_thread(message, seen):
        return (Reason.OWN_THREAD, True) if owner == agent.name else (Reason.OTHERS_THREAD, False)
    return None


def thread_owner(message: Entry, lines: Sequence[Entry], members: Sequence[AgentProfile]) -> str | None:
    """Who owns the message's thread, as every process finds it in the record; None outside of threads."""
    thread_id, root_id = message.get("thread_id"), message.get("root_id")
    if not thread_id or not isinstance(thread_id, str):
        return None
    entries = [entry for entry in lines if _is_whole(entry)]
    return owner_of(entries, thread_id, root_id=root_id if isinstance(root_id, str) else None, bots=members)


def is_called(seen: Observation, who: int) -> bool:
    """True when a bot is named (a score then says whether it is spoken to), or replied to."""
    spelled = seen.named if seen.mentioned else seen.spelled  # another bot that is mentioned may have the same name
    return who in spelled or seen.reply_author == who


def is_clearly_called(seen: Observation, who: int) -> bool:
    """True when a bot is called by name beyond doubt, so that no score is needed. When others are mentioned with @,
    ``mentions`` has told calls from talk.
    """
    if seen.mentioned or seen.everyone:
        return who in seen.named
    if who not in seen.spelled:
        return False
    members = seen.roster.members
    beside = [name for at in sorted(seen.spelled - {who}) for name in (members[at].name, *members[at].aliases)]
    return call_of(seen.text, (members[who].name, *members[who].aliases), beside).is_clear


def in_thread(message: Entry, seen: Observation) -> bool:
    """True when a message belongs to its thread, because it does not begin by calling somebody else."""
    first = seen.message.first
    for_other = bool(seen.mentioned) or seen.everyone or (seen.reply_author not in (None, seen.speaker, seen.me))
    return bool(message.get("thread_id")) and not for_other and (first is None or first in (seen.speaker, seen.me))


def begins_with_other(seen: Observation) -> bool:
    """True when the text begins with somebody else's name. A name may be a common word, so a score is asked first."""
    return seen.message.first is not None and seen.message.first not in (seen.speaker, seen.me)


def calls_person(seen: Observation, message: Entry) -> bool:
    """True when the text begins by calling a person, as in "Ada, did you see it?" or "韩梅梅你觉得呢？"."""
    members, first = seen.roster.members, seen.message.first
    if first is None or first == seen.speaker or members[first].kind == "bot":
        return False
    return begins_with_call(content_of(message), (members[first].name, *members[first].aliases))


def wants_no_answer(seen: Observation) -> bool:
    """True for thanks, consent and the like, and for texts that say that no answer is wanted. Greeting or just calling
    a bot asks whether it is there; consent to what the bot has just asked is an answer.
    """
    text, names = seen.text, seen.names
    words = wording(text, names)
    if words.courtesy and is_consent(text, names) and _was_asked(seen):
        return False
    if words.courtesy and is_wordless(text, names):
        return is_thanks(text, names) or not (seen.mentioned or seen.spelled)
    if words.courtesy:
        return not is_greeting(text, names)
    return tells_to_stop(text, names) and not words.question


def _was_asked(seen: Observation) -> bool:
    """True when the agent has just asked the speaker something: then consent is an answer."""
    scene = seen.scene
    last, partner = scene.last.get(seen.me, NEVER), scene.partner.get(seen.speaker)
    if scene.size - last > _ASKED_LINES or not scene.turns[last].asks:
        return False
    return seen.reply_author == seen.me or (partner is not None and partner[0] == seen.me)


def goes_on(seen: Observation) -> bool:
    """True for a second message to the agent, sent before it could answer the first ("@Alpha look", "why is it red?"),
    and for one that tells it to continue, right behind its answer ("继续", "go on").

    The labelled logs have no such messages: there, nobody who has said nothing is an addressee.
    """
    if seen.message.turn.to or seen.message.first is not None:
        return False
    return seen.me in seen.awaited or _continues_with(seen) == seen.me


def _continues_with(seen: Observation) -> int | None:
    """The writer of the line just before, if it was for the speaker as far as known, who now tells them to
    continue.
    """
    scene = seen.scene
    partner = scene.partner.get(seen.speaker)
    if partner is None or _CONTINUE.match(seen.text) is None or scene.turns[-1].who != partner[0]:
        return None
    return partner[0]


def goes_on_with_other(seen: Observation) -> bool:
    """True for a second message to somebody else who was mentioned just before, unless it asks anybody, and for one
    that tells somebody else to continue.
    """
    if seen.me in seen.awaited or seen.message.turn.to or seen.message.first is not None:
        return False
    if seen.awaited:
        return not wording(seen.text, seen.names).anybody
    return _continues_with(seen) not in (None, seen.me)


def for_other_bot(message: Entry, seen: Observation) -> bool:
    """True for ``/command@other``, or a command in a message that mentions only other members."""
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
    return bool(message_id) and any(hides(entry) and entry.get("target") == message_id for entry in past.ops)


def _is_whole(entry: Entry) -> bool:
    texts = all(isinstance(entry.get(key), str) for key in ("role", "content", "sender"))
    return texts and isinstance(entry.get("ts"), int | float)
