"""What the relevance gate would decide about a message that was not sent yet."""

import time
from collections.abc import Iterable
from typing import Any, Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.relevance.explanations import in_words
from nanobot_transcript.relevance.gate import RelevanceGate
from nanobot_transcript.relevance.gate_input import bot_called
from nanobot_transcript.relevance.options import GateOptions
from transcript_mcp.transcript.chats import everybody
from transcript_mcp.transcript.reading import View

__all__ = ["relevance"]

_HISTORY: Final = 200
_STRONGEST: Final = 3
_NOBODY: Final = "\N{WORD JOINER}"
"""The sender where none is given: it has never written, and no text contains it by chance."""


def relevance(
    view: View,
    session_key: str,
    text: str,
    agent: str,
    *,
    sender: str | None,
    agents: Iterable[AgentProfile],
    options: GateOptions | None,
) -> dict[str, Any]:
    """Whether ``agent`` (a name or alias) should answer ``text`` now, and why. Raises UnknownNameError.

    Keys: ``agent``, ``respond``, ``reason`` (a code), ``sentence``, ``score`` (0 to 1), ``stage``, ``open`` (addressed
    to nobody in particular), and, if the score decided, ``because``: the strongest features in words.
    """
    history = view.store.recent(session_key, _HISTORY).entries
    known = everybody(view, session_key, history, agents)
    me = bot_called(known, agent)
    message = _message(text, sender, known)
    gate = RelevanceGate(options)
    decision = gate.decide(message, history, me, known, session_key=session_key)
    answer: dict[str, Any] = {
        "agent": decision.agent,
        "respond": decision.respond,
        "reason": decision.reason.value,
        "sentence": decision.sentence,
        "score": round(decision.score, 4),
        "stage": decision.stage.value,
        "open": decision.open,
    }
    if decision.stage == "score":
        features, reasons = gate.explain(message, history, me, known)
        answer["because"] = [in_words(name, features[name]) for name, _ in reasons[:_STRONGEST]]
    return answer


def _message(text: str, name: str | None, known: Iterable[AgentProfile]) -> Entry:
    """The text as an entry from the member with this name; an unknown name is used as the sender."""
    now = int(time.time() * 1000)
    message: Entry = {"role": "user", "content": text, "sender": _NOBODY, "message_id": None, "ts": now, "rts": now}
    if not name or not name.strip():
        return message
    wanted = name.strip().removeprefix("@").casefold()
    found = next((one for one in known if wanted in (called.casefold() for called in (one.name, *one.ids))), None)
    if found is None:
        message["sender"] = name.strip()
    elif found.kind == "bot":
        message["role"], message["sender_kind"] = "assistant", "bot"
        message["sender"] = message["agent"] = found.name
    else:
        message["sender"] = min(found.ids, default=found.name)
    return message
