"""Posts of the outbox from a bot's side: sent to its chats, and the answers returned to the poster."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from nanobot_transcript.conversation.ports import CardAction, OutboundMessage, SentMessage
from nanobot_transcript.entry import Entry
from nanobot_transcript.outbox import Action, Job, OutboxServer, Postbox, Receipt, Revision
from nanobot_transcript.session_key import split

__all__ = ["Posts", "Speaker"]

_LOOK_EVERY: Final = 1.0
"""Seconds between two looks for posts that failed, or whose signal was lost."""


class Speaker(Protocol):
    """One bot that says something without having been asked, and records it."""

    async def send(self, message: OutboundMessage) -> SentMessage:
        """Raises DeliveryError and PlatformError kinds."""
        ...

    async def revise(self, session_key: str, message_id: str, card: Mapping[str, Any]) -> None:
        """Replace one of its own cards. Raises PlatformError kinds."""
        ...


class Posts:
    """The posts in an outbox, for the bots of a process.

    ``longest_wait`` (seconds) bounds how long ``is_answer`` and ``pressed`` wait for other writers; None leaves that to
    the outbox.
    """

    def __init__(self, outbox: Postbox, *, longest_wait: float | None = None) -> None:
        self._outbox: Postbox = outbox
        self._longest_wait: float | None = longest_wait

    def is_answer(self, session_key: str, entry: Entry) -> bool:
        """True when a message answers a post: then it is kept for the poster, and no turn begins. For a thread, before
        the platform is acknowledged. Raises StoreError kinds.
        """
        return self._outbox.offer_reply(entry, session_key, max_wait=self._longest_wait)

    def pressed(self, action: CardAction) -> None:
        """Give a pressed button to the poster. For a thread. Raises StoreError kinds."""
        if not action.message_id:
            return
        chat = action.session_key if split(action.session_key)[1] else None  # None: the platform did not say which chat
        who = action.sender, action.sender_name
        told = Action(action.message_id, action.value, *who, action.form, action.action_id, chat)
        self._outbox.offer_action(told, max_wait=self._longest_wait)

    async def serve(self, agent: str, speaker: Speaker, may_post: Callable[[str], bool]) -> None:
        """Send the posts for chats in which this agent may post, without end."""

        async def send(job: Job) -> Receipt:
            sent = await speaker.send(_message_of(job, agent))
            return Receipt(sent.message_id, sent.thread_id, sent.message_ids)

        async def revise(revision: Revision) -> None:
            await speaker.revise(revision.session_key, revision.message_id, revision.card)

        await OutboxServer(
            self._outbox, send, agent=agent, sits_in=may_post, revise=revise, look_every=_LOOK_EVERY
        ).serve()


def _message_of(job: Job, agent: str) -> OutboundMessage:
    """A post as a message of ``agent``; its uuid keeps the platform from showing it twice."""
    return OutboundMessage(
        job.session_key,
        job.content or "",
        reply_to=job.reply_to,
        idempotency_key=job.uuid,
        agent=agent,
        card=job.card,
    )
