"""One answer from beginning to end: shows that it is being written, and logs what became of it."""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from typing import Final, TypeAlias

from nanobot_transcript.conversation.decision import Choice, Decider, before
from nanobot_transcript.conversation.delivery import answer_entry
from nanobot_transcript.conversation.ports import InboundMessage, MaySend, OutboundMessage
from nanobot_transcript.conversation.prompt import ContextLimits, Prompt, build_messages
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import ResponderError, StoreError, TranscriptError, WithheldError
from nanobot_transcript.identity import AgentProfile, is_bot
from nanobot_transcript.runner.bus import MessageBus
from nanobot_transcript.runner.memory import Sessions
from nanobot_transcript.runner.reply_stream import Replies
from nanobot_transcript.sql.outage import level_of
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore
from nanobot_transcript.turns.addressees import id_at, ids_of
from nanobot_transcript.turns.claim import Claim

__all__ = ["Answering", "Working"]

logger = logging.getLogger(__name__)

_ADDRESSED: Final = frozenset({"mentioned", "named", "replied_to", "addressed", "private"})
"""Reasons for which a message is for this agent and no other."""
_ENDS: Final = (".", "!", "?", "…", "。", "！", "？")

Working: TypeAlias = Callable[[str], AbstractAsyncContextManager[None]]
"""Shows on a message, by its id, that it is being answered. Does not wait and never raises."""


class Answering:
    """Lets an agent's responder answer, one message after another; see ``AgentLoop`` for the parts.

    ``instructions``, ``context`` and ``failure_text``: see ``LoopOptions``.
    """

    def __init__(
        self,
        agent: AgentProfile,
        replies: Replies,
        bus: MessageBus,
        decider: Decider,
        sessions: Sessions,
        store: AsyncGroupTranscriptStore | None,
        *,
        instructions: str,
        context: ContextLimits,
        working: Working | None = None,
        failure_text: str = "",
    ) -> None:
        self._agent: AgentProfile = agent
        self._replies: Replies = replies
        self._bus: MessageBus = bus
        self._decider: Decider = decider
        self._sessions: Sessions = sessions
        self._store: AsyncGroupTranscriptStore | None = store
        self._instructions: str = instructions
        self._context: ContextLimits = context
        self._working: Working | None = working
        self._failure_text: str = failure_text.strip()

    async def answer(
        self, inbound: InboundMessage, history: Sequence[Entry], choice: Choice, claim: Claim | None
    ) -> None:
        """Let the responder answer. If it cannot, one log line says why, and another bot may try."""

        async def may_send() -> bool:
            mine = claim is None or await asyncio.to_thread(claim.holds)
            return mine and not await self._is_recalled(inbound)

        if await self._is_recalled(inbound):
            self._withdraw(inbound)
            return
        message = _outbound(self._agent, inbound, choice.hop, may_send)
        try:
            async with self._shown(inbound):
                said = await self._replies.reply(message, await self._prompt(inbound, history))
        except WithheldError:
            self._withdraw(inbound, lost=claim is not None and not claim.is_ours)
        except TranscriptError as error:
            logger.error("%s does not answer %s: %s", self._agent.name, inbound.message_id, _with_hint(error))
            self._decider.ended(inbound, "failed", str(error))
            if claim is not None:
                claim.release()
            elif isinstance(error, ResponderError) and _addressed_by_a_person(inbound, choice):
                await self._apologise(message)
        except BaseException as error:  # whoever cancelled, or catches this, logs it
            self._decider.ended(inbound, "failed", _broken_off(error))
            raise
        else:
            if said is None:
                logger.info("%s has nothing to say to %s", self._agent.name, inbound.message_id)
                self._decider.ended(inbound, "said_nothing")
            else:
                self._decider.ended(inbound, "answered")
                self._sessions.add(inbound.session_key, answer_entry(said.message, said.sent, self._agent))

    def _withdraw(self, inbound: InboundMessage, *, lost: bool = False) -> None:
        """Log that there will be no answer: the message was recalled, or (``lost``) another bot has it."""
        why = "another bot's now" if lost else "taken back"
        logger.info("%s does not answer %s: it is %s", self._agent.name, inbound.message_id, why)
        self._decider.ended(inbound, "lost_claim" if lost else "withdrawn")

    def _shown(self, inbound: InboundMessage) -> AbstractAsyncContextManager[None]:
        message_id = inbound.entry["message_id"]
        return self._working(message_id) if self._working is not None and message_id else nullcontext()

    async def _apologise(self, message: OutboundMessage) -> None:
        """Tell the chat that there will be no answer, where that is wanted."""
        if not self._failure_text:
            return
        word = replace(message, content=self._failure_text, idempotency_key=_digest(message.idempotency_key, "failed"))
        try:
            sent = await self._bus.deliver(word)
        except TranscriptError as error:
            logger.warning("%s could not send its failure text: %s", self._agent.name, _with_hint(error))
        else:
            self._sessions.add(message.session_key, answer_entry(word, sent, self._agent))

    async def _prompt(self, inbound: InboundMessage, history: Sequence[Entry]) -> Prompt:
        """The prompt for a message; ``history`` are the recent entries of its chat."""
        group = not inbound.private
        return build_messages(
            self._agent,
            inbound.session_key,
            inbound.entry,
            transcript_history=history if group else None,
            session_history=() if group else before(inbound.entry, history),
            members=self._decider.members(inbound.session_key) if group else (),
            quoted=await self._quoted(inbound, history) if group else None,
            instructions=self._instructions,
            limits=self._context,
        )

    async def _quoted(self, inbound: InboundMessage, shown: Sequence[Entry]) -> Entry | None:
        """The message that is replied to, when it is too old to be among those shown."""
        target = id_at(inbound.entry, "reply_to")
        newest = shown[-self._context.max_entries :]
        if self._store is None or not target or any(target in ids_of(entry) for entry in newest):
            return None
        return await self._store.get(inbound.session_key, target)

    async def _is_recalled(self, inbound: InboundMessage) -> bool:
        """True for a message that was recorded and is no longer in the record, as far as that can be found out."""
        if self._store is None or not inbound.recorded:
            return False
        try:
            found = [await self._store.get(inbound.session_key, known) for known in ids_of(inbound.entry)]
        except StoreError as error:
            logger.log(
                level_of(error, logging.ERROR),
                "Cannot find out whether %s was recalled: %s",
                inbound.message_id,
                _with_hint(error),
            )
            return False
        return bool(found) and not any(found)  # a message without an id was recorded, but cannot be looked up


def _with_hint(error: TranscriptError) -> str:
    """The error and what to do about it. Messages of programs and endpoints may lack the final full stop."""
    sentence = str(error).rstrip()
    return f"{sentence}{'' if sentence.endswith(_ENDS) else '.'} {error.hint}".rstrip()


def _outbound(agent: AgentProfile, inbound: InboundMessage, hop: int, may_send: MaySend) -> OutboundMessage:
    """The answer without its text. Its key is the same at every attempt, in every process of this agent."""
    message = inbound.entry
    return OutboundMessage(
        inbound.session_key,
        "",
        reply_to=message["message_id"],
        thread_id=id_at(message, "thread_id"),
        idempotency_key=_digest(agent.name, inbound.session_key, f"{message['message_id']}"),
        agent=agent.name,
        hop=hop,
        private=inbound.private,
        may_send=may_send,
    )


def _addressed_by_a_person(inbound: InboundMessage, choice: Choice) -> bool:
    return choice.reason in _ADDRESSED and not is_bot(inbound.entry)


def _broken_off(error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError):
        return "The process was stopped before the answer was complete."
    return f"The answer failed with a program error: {type(error).__name__}."


def _digest(*told: str) -> str:
    return hashlib.sha256("\0".join(told).encode("utf-8", "surrogatepass")).hexdigest()[:40]
