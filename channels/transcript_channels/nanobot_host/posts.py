"""The outbox at this process's bots: what others want said in their groups, and the answers they wait for."""

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from nanobot_transcript.conversation.delivery import Recorder
from nanobot_transcript.conversation.people import People
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import DeliveryError, PlatformError
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.outbox import Action, Job, OutboxServer, Postbox, Receipt, Revision
from nanobot_transcript.runner.posting import chat_of, message_of
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore

if TYPE_CHECKING:
    from transcript_channels.feishu.client import FeishuClient

__all__ = ["Posts"]

logger = logging.getLogger(__name__)

_LOOK_EVERY: Final = 1.0
"""Seconds after which posts are tried again that failed, or that nobody told of."""

_LONGEST_WAIT: Final = 0.2  # seconds; the platform pushes again after three


class Posts:
    """``served`` is False where the outbox is switched off: then nothing is sent, and nothing counts as an answer."""

    def __init__(self, outbox: Postbox, people: People, *, served: bool) -> None:
        self._people: People = people
        self.served: bool = served
        self._outbox: Postbox = outbox

    def is_answer(self, session_key: str, entry: Entry) -> bool:
        """True when a message of a chat answers a post: it is kept for whoever posted. Raises StoreError kinds.

        For the thread of the long connection, before the platform is acknowledged.
        """
        return self.served and self._outbox.offer_reply(entry, session_key, max_wait=_LONGEST_WAIT)

    def pressed(self, event: Mapping[str, Any]) -> None:
        """A button of a card was pressed. Raises StoreError kinds; then the platform says so to the person."""
        from transcript_channels.feishu.channel import action_from_event

        action = action_from_event(event)
        if self.served and action.message_id:
            who = action.sender, action.sender_name
            told = Action(action.message_id, action.value, *who, action.form, action.action_id, chat_of(action))
            self._outbox.offer_action(told, max_wait=_LONGEST_WAIT)

    async def serve(
        self,
        agent: AgentProfile,
        client: "FeishuClient",
        store: AsyncGroupTranscriptStore,
        may_post: Callable[[str], bool],
        sits_in: Callable[[str], bool],
    ) -> None:
        """Send what lies there for the chats of a bot, without end. Where nobody has heard of the bot yet, the
        platform is asked whether it sits there.
        """
        from transcript_channels.feishu.channel import FeishuChannel

        channel, recorder = FeishuChannel(agent, client, self._people), Recorder(store)

        async def send(job: Job) -> Receipt:
            message = message_of(job, agent.name)
            try:
                sent = await channel.send(message)
            except PlatformError as error:
                await recorder.said_in_part(agent, message, error)
                raise
            if not sent.message_id:
                raise DeliveryError("The platform confirmed a post without an id.", hint="Look into the chat.")
            await recorder.said(agent, message, sent, "send")
            return Receipt(sent.message_id, sent.thread_id, sent.message_ids)

        async def revise(revision: Revision) -> None:
            text = await channel.revise(revision.message_id, revision.card)
            await recorder.changed(agent, revision.session_key, revision.message_id, text)

        def seated(key: str) -> bool:
            return may_post(key) and (sits_in(key) or channel.sits_in(key))

        await OutboxServer(
            self._outbox, send, agent=agent.name, sits_in=seated, revise=revise, look_every=_LOOK_EVERY
        ).serve()
