"""Incoming messages: recorded first, then offered to posts that wait for answers, and only then given to the agent."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from nanobot_transcript.conversation.arrivals import Arrivals
from nanobot_transcript.conversation.policy import Policy
from nanobot_transcript.conversation.ports import CardAction, InboundMessage, MessageChange, Recalled
from nanobot_transcript.conversation.posts import Posts
from nanobot_transcript.identity import is_bot
from nanobot_transcript.runner.bus import MessageBus
from nanobot_transcript.session_key import split
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore

__all__ = ["Intake"]

logger = logging.getLogger(__name__)


class Intake:
    """``publish`` for the channel of one agent. ``forget`` is called for recalled messages; ``posts`` is offered
    messages that may answer a post; ``relayed`` tells that a relay brings the messages of other bots.
    """

    def __init__(
        self,
        bus: MessageBus,
        transcript_store: AsyncGroupTranscriptStore | None = None,
        *,
        forget: Callable[[str, str], None] = lambda key, message_id: None,
        posts: Posts | None = None,
        policy: Policy | None = None,
        relayed: bool = False,
    ) -> None:
        self._bus: MessageBus = bus
        self._store: AsyncGroupTranscriptStore | None = transcript_store
        self._loop: asyncio.AbstractEventLoop | None = None
        store = transcript_store.sync if transcript_store is not None else None
        is_answer = posts.is_answer if posts is not None else None
        self._arrivals: Arrivals = Arrivals(store, policy=policy, is_answer=is_answer, first_heard=self._first_heard)
        self._forget: Callable[[str, str], None] = forget
        self._posts: Posts | None = posts
        self._policy: Policy = policy or Policy()
        self._relayed: bool = relayed

    async def publish(self, event: InboundMessage | MessageChange | CardAction) -> Mapping[str, Any] | None:
        """See ``Publish``."""
        self._loop = asyncio.get_running_loop()
        if isinstance(event, InboundMessage):
            await self._message(event)
        elif isinstance(event, CardAction):
            await self._pressed(event)
        else:
            await self._changed(event)
        return None

    async def _message(self, message: InboundMessage) -> None:
        taken, failure = await self._arrivals.take(message)
        if taken is not None and self._is_for_the_agent(taken):
            self._hand_on(taken)
        if failure is not None:
            raise failure

    def _is_for_the_agent(self, message: InboundMessage) -> bool:
        """False for messages of bots when there is a relay: it brings them, whether the platform pushes them or
        not.
        """
        return message.relayed or message.private or not self._relayed or not is_bot(message.entry)

    async def _pressed(self, action: CardAction) -> None:
        """The card stays as it is; the poster may replace it."""
        if self._posts is not None and self._policy.records(split(action.session_key)[1]):
            await asyncio.to_thread(self._posts.pressed, action)

    def _first_heard(self, session_key: str, since_ms: float | None, heard_ms: float) -> None:
        """Called in the thread that records."""
        if self._store is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(self._store.missed, session_key, since_ms, heard_ms)

    def _hand_on(self, message: InboundMessage) -> None:
        if not self._bus.publish_inbound(message):
            logger.warning("Too many messages are waiting; %s is recorded but not answered", message.message_id)

    async def _changed(self, change: MessageChange) -> None:
        if isinstance(change, Recalled):
            self._forget(change.session_key, change.message_id)
        failure = await self._arrivals.take_change(change)
        if failure is not None:
            raise failure
