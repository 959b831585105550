"""Outgoing messages: sent in order per chat, retried where that may help, recorded once they are out."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from nanobot_transcript.conversation.delivery import Recorder, Source
from nanobot_transcript.conversation.ports import (
    Channel,
    LiveMessage,
    OutboundMessage,
    RevisingChannel,
    SentMessage,
    StreamingChannel,
)
from nanobot_transcript.errors import (
    DeliveryError,
    NoAnswerError,
    PlatformError,
    RateLimitedError,
    RequestRefusedError,
    TranscriptError,
    WithheldError,
)
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.runner.bus import MessageBus, QueuedMessage
from nanobot_transcript.runner.chat_queues import Lanes
from nanobot_transcript.runner.live_text import LiveText
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore

__all__ = ["ChannelManager"]

logger = logging.getLogger(__name__)

_DELAYS: Final = (0.5, 2.0, 8.0)  # seconds
_LONGEST_WAIT: Final = 60.0
_PARALLEL: Final = 64
_ASK_EVERY: Final = 2.0


class ChannelManager:
    """Takes an agent's messages from the bus to its channel.

    ``transcript_store`` None means that nothing is recorded. ``delays`` are the seconds before each retry after a
    failure that may pass; a delay that the platform asks for is respected, up to a minute.
    """

    def __init__(
        self,
        bus: MessageBus,
        channel: Channel,
        agent: AgentProfile,
        transcript_store: AsyncGroupTranscriptStore | None = None,
        *,
        delays: Sequence[float] = _DELAYS,
    ) -> None:
        self._bus: MessageBus = bus
        self._channel: Channel = channel
        self._delays: Sequence[float] = delays
        self._recorder: Recorder | None = Recorder(transcript_store) if transcript_store is not None else None
        self._agent: AgentProfile = agent
        self._lanes: Lanes[QueuedMessage] = Lanes(self._dispatch, parallel=_PARALLEL)

    async def run(self) -> None:
        """Dispatch until the bus is closed and everything is sent."""
        try:
            await self._dispatch_outbound()
            await self._lanes.finish()
        finally:
            await self._lanes.finish(0)
            if self._recorder is not None:
                await self._recorder.close()

    async def revise(self, session_key: str, message_id: str, card: Mapping[str, Any]) -> None:
        """Replace one of the agent's own cards, and record its text. Raises PlatformError, and RequestRefusedError when
        the channel cannot.
        """
        if not isinstance(self._channel, RevisingChannel):
            raise RequestRefusedError("Cards cannot be changed in this chat.")
        text = await self._channel.revise(message_id, card)
        if self._recorder is not None:
            await self._recorder.changed(self._agent, session_key, message_id, text)

    async def _dispatch_outbound(self) -> None:
        async for delivery in self._bus.outbound():
            dropped = self._lanes.put(delivery.message.session_key, delivery)
            if dropped is not None:
                dropped.fail(
                    DeliveryError("Too many messages are waiting for this chat.", hint="Post less to one chat.")
                )

    async def _dispatch(self, delivery: QueuedMessage) -> None:
        try:
            sent, source = await self._sent(delivery)
        except TranscriptError as error:
            delivery.fail(error)
        except BaseException as error:
            delivery.fail(DeliveryError(f"The message was not sent: {type(error).__name__}."))
            raise
        else:
            await self._record(delivery, sent, source)
            delivery.succeed(sent)

    async def _sent(self, delivery: QueuedMessage) -> tuple[SentMessage, Source]:
        message, text = delivery.message, delivery.live
        if text is None:
            return await self._send(message), "send"
        if isinstance(self._channel, StreamingChannel):
            return await self._stream(self._channel, delivery, text), "stream"
        return await self._send(replace(message, content=await text.whole())), "send"

    async def _stream(self, channel: StreamingChannel, delivery: QueuedMessage, text: LiveText) -> SentMessage:
        """Show the text as it grows. If that fails, it is sent when it is finished."""
        message = delivery.message
        shown: LiveMessage | None = None
        try:
            await _check_may_send(message)
            async with channel.stream(message) as shown:
                await _show(message, text, shown)
                await _check_may_send(message)  # minutes may have passed: ask again before the final text
        except BaseException as error:
            if shown is not None and shown.sent is not None:  # it broke off, and could not be removed
                await self._record(delivery, shown.sent, "stream")
            elif isinstance(error, DeliveryError | PlatformError):
                logger.warning("Streaming failed, sending the answer as a whole: %s %s", error, error.hint)
                key = f"{message.idempotency_key}-whole" if message.idempotency_key else ""
                return await self._send(replace(message, content=await text.whole(), idempotency_key=key))
            raise
        if shown.sent is None:
            raise DeliveryError("The platform did not say what became of a streamed message.")
        return shown.sent

    async def _send(self, message: OutboundMessage) -> SentMessage:
        """Send it, with retries. A part that arrived is recorded even when sending failed: the group has seen it."""
        partly: TranscriptError | None = None
        try:
            for delay in (*self._delays, None):
                await _check_may_send(message)
                try:
                    return await self._channel.send(message)
                except (DeliveryError, PlatformError) as error:
                    partly = error if error.arrived is not None else partly
                    if delay is None or not _may_pass(error):
                        raise
                    wanted = getattr(error, "retry_after", None)
                    logger.warning("Sending a message failed, trying again: %s %s", error, error.hint)
                await asyncio.sleep(delay if wanted is None else min(max(wanted, 0.0), _LONGEST_WAIT))
        except BaseException:
            if partly is not None and self._recorder is not None:
                await self._recorder.said_in_part(self._agent, message, partly)
            raise
        raise AssertionError("the last attempt returns or raises")

    async def _record(self, delivery: QueuedMessage, sent: SentMessage, source: Source) -> None:
        message, text = delivery.message, delivery.live
        if self._recorder is not None and not message.private:
            said = message if text is None else replace(message, content=text.text)
            await self._recorder.said(self._agent, said, sent, source)


async def _show(message: OutboundMessage, text: LiveText, shown: LiveMessage) -> None:
    """Show the text as it grows. Raises WithheldError when it may no longer be sent."""
    now = asyncio.get_running_loop().time
    due = now() + _ASK_EVERY
    async for state in text.states():
        if now() >= due:
            await _check_may_send(message)
            due = now() + _ASK_EVERY
        await shown.update(state)


def _may_pass(error: DeliveryError | PlatformError) -> bool:
    """True for a failure after which a retry may succeed."""
    if isinstance(error, DeliveryError):
        return error.retryable
    return isinstance(error, NoAnswerError | RateLimitedError)


async def _check_may_send(message: OutboundMessage) -> None:
    if message.may_send is not None and not await message.may_send():
        raise WithheldError("The message is not sent: it is not this bot's turn any more.")
