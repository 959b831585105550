"""The outbox at an agent's side: what others want said in its chats, and the answers they wait for."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from nanobot_transcript.conversation.ports import CardAction, OutboundMessage
from nanobot_transcript.entry import Entry
from nanobot_transcript.outbox import Action, Job, OutboxServer, Postbox, Receipt, Revision
from nanobot_transcript.runner.hosting import HostedAgent
from nanobot_transcript.session_key import split

__all__ = ["Posting", "chat_of", "message_of"]

_LOOK_EVERY: Final = 1.0
"""Seconds after which posts are tried again that failed, or that nobody told of."""


class Posting:
    """Serves an outbox through one agent; its methods fit into ``Agent``."""

    def __init__(self, outbox: Postbox) -> None:
        self._outbox: Postbox = outbox

    async def serve(self, hosted: HostedAgent) -> None:
        """Send what lies there for the chats this agent sits in, as long as it runs."""

        async def send(job: Job) -> Receipt:
            sent = await hosted.send(message_of(job, hosted.name))
            return Receipt(sent.message_id, sent.thread_id, sent.message_ids)

        async def revise(revision: Revision) -> None:
            await hosted.revise(revision.session_key, revision.message_id, revision.card)

        def may_post(session_key: str) -> bool:
            """Not in a chat that is off: what is said there is not recorded, and no reply would come back."""
            return hosted.agent.policy.records(split(session_key)[1]) and hosted.agent.channel.sits_in(session_key)

        await OutboxServer(
            self._outbox, send, agent=hosted.name, sits_in=may_post, revise=revise, look_every=_LOOK_EVERY
        ).serve()

    def is_answer(self, session_key: str, entry: Entry) -> bool:
        """True when the message answers a post: then no turn begins. For a thread. Raises StoreError kinds."""
        return self._outbox.offer_reply(entry, session_key)

    async def offer_action(self, action: CardAction) -> Mapping[str, Any] | None:
        """Give a pressed button to the poster; the card stays as it is. Raises StoreError kinds."""
        who = action.sender, action.sender_name
        told = Action(action.message_id, action.value, *who, action.form, action.action_id, chat_of(action))
        await asyncio.to_thread(self._outbox.offer_action, told)
        return None


def chat_of(action: CardAction) -> str | None:
    """The chat in which it was pressed; None where the platform did not say."""
    return action.session_key if split(action.session_key)[1] else None


def message_of(job: Job, agent: str) -> OutboundMessage:
    """A post as the message that ``agent`` sends; its uuid keeps the platform from showing it twice."""
    return OutboundMessage(
        job.session_key,
        job.content or "",
        reply_to=job.reply_to,
        idempotency_key=job.uuid,
        agent=agent,
        card=job.card,
    )
