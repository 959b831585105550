"""Posts to a chat through the outbox, from which a bot of the chat sends them."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.outbox import Postbox, PostStatus
from nanobot_transcript.relevance.gate_input import bot_called
from nanobot_transcript.store.names import chat_to_be, in_words
from nanobot_transcript.threads import in_thread
from transcript_mcp.transcript.chats import everybody, present
from transcript_mcp.transcript.reading import View
from transcript_mcp.transcript.waits import Tell

__all__ = ["PostRequest", "post"]

_TELL_EVERY: Final = 10.0
_AMONG: Final = 200
_WAITING: Final = "It is saved; the first bot in the chat that serves the outbox will send it."
_NO_BOT: Final = "No bot has been seen in this chat yet; the post waits until one comes."
_NEVER: Final = "Nothing has been recorded in this chat; is it the right one?"


@dataclass(frozen=True, slots=True)
class PostRequest:
    """A requested post. ``chat``: as people name it. ``agent``: name or alias of the only bot that may send it."""

    chat: str
    text: str
    agent: str | None = None
    idempotency_key: str | None = None
    reply_to: str | None = None


async def post(
    view: View, outbox: Postbox, wanted: PostRequest, agents: Iterable[AgentProfile], *, wait: float, tell: Tell
) -> dict[str, Any]:
    """Queue a post, and wait up to ``wait`` seconds for a bot to send it.

    Keys: ``id``, ``state`` (``queued``, ``sent``, ``failed`` or ``expired``), ``session_key``, ``message_id`` once it
    is sent, ``error`` if it failed, ``after`` (the cursor after which answers will come), and ``note``. Raises
    UnknownNameError, OutboxError and StoreError.
    """
    session_key, after, post_id = await in_thread(_queue, view, outbox, wanted, agents)
    status = await _outcome(outbox, post_id, wait, tell)
    notes = await in_thread(_notes, view, session_key) if status.state == "queued" else []
    answer = {
        "id": status.id,
        "state": status.state,
        "session_key": session_key,
        "message_id": status.message_id,
        "error": status.error,
        "after": after,
        "note": " ".join(notes) or None,
    }
    return {key: value for key, value in answer.items() if value is not None}


def _queue(view: View, outbox: Postbox, wanted: PostRequest, agents: Iterable[AgentProfile]) -> tuple[str, str, str]:
    """Session key, the end of the chat before the post, and the post's id."""
    session_key = chat_to_be(view.store, wanted.chat)
    agent = _only(view, session_key, wanted.agent, agents) if wanted.agent else None
    after = view.store.end(session_key)
    post_id = outbox.post(
        session_key,
        wanted.text,
        idempotency_key=wanted.idempotency_key,
        agent=agent,
        reply_to=wanted.reply_to,
        wants_answers=False,  # replies are ordinary messages of the chat
    )
    return session_key, after, post_id


def _only(view: View, session_key: str, name: str, agents: Iterable[AgentProfile]) -> str:
    """The full name of the bot; any name is accepted while the chat has no bot. Raises UnknownNameError."""
    known = everybody(view, session_key, view.store.recent(session_key, _AMONG).entries, agents)
    return bot_called(known, name).name if any(one.kind == "bot" for one in known) else name


def _notes(view: View, session_key: str) -> list[str]:
    """Remarks on a post that is still queued."""
    if not view.store.recent(session_key, 1).entries:
        return [_WAITING, _NEVER]
    seen = any(one.kind == "bot" for one in present(view, session_key))
    return [_WAITING] if seen else [_WAITING, _NO_BOT]


async def _outcome(outbox: Postbox, post_id: str, wait: float, tell: Tell) -> PostStatus:
    loop = asyncio.get_running_loop()
    began = loop.time()
    while True:
        waited = loop.time() - began
        status = await outbox.wait_sent(post_id, max(0.0, min(_TELL_EVERY, wait - waited)))
        waited = loop.time() - began
        if status.state != "queued" or waited >= wait:
            return status
        await tell(waited, wait, f"Post {in_words(post_id)} is waiting for a bot to send it.")
