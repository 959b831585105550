"""The bus of one agent: what came in waits for its mind, what it says waits for the channel."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final

from nanobot_transcript.conversation.ports import InboundMessage, OutboundMessage, SentMessage
from nanobot_transcript.errors import DeliveryError
from nanobot_transcript.runner.pipe import Pipe

__all__ = ["Delivery", "MessageBus"]

_SIZE: Final = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Delivery:
    """An outbound message and the place where its sender waits for the outcome."""

    message: OutboundMessage
    outcome: "asyncio.Future[SentMessage]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def succeed(self, sent: SentMessage) -> None:
        """It is out."""
        if not self.outcome.done():
            self.outcome.set_result(sent)

    def fail(self, error: BaseException) -> None:
        """It is not out."""
        if not self.outcome.done():
            self.outcome.set_exception(error)


class MessageBus:
    """Two bounded queues with a clean end. All methods belong to one event loop."""

    def __init__(self, size: int = _SIZE) -> None:
        self._inbound: Pipe[InboundMessage] = Pipe(size)
        self._outbound: Pipe[Delivery] = Pipe(size)

    def publish_inbound(self, message: InboundMessage) -> bool:
        """Hand a message to the agent. False when it is too busy or stopping: the message is in the record only."""
        return self._inbound.offer(message)

    @property
    def waiting(self) -> int:
        """How many messages wait for the agent."""
        return len(self._inbound)

    def inbound(self) -> AsyncIterator[InboundMessage]:
        """Messages for the agent, until ``close_inbound``."""
        return self._inbound

    async def deliver(self, message: OutboundMessage) -> SentMessage:
        """Hand a message to the channel and wait until it was sent and recorded.

        Raises DeliveryError when it could not be sent.
        """
        delivery = Delivery(message)
        if not await self._outbound.put(delivery):
            raise DeliveryError("The runner is stopping; nothing is sent any more.")
        return await delivery.outcome

    def outbound(self) -> AsyncIterator[Delivery]:
        """Messages for the channel, until ``close_outbound``."""
        return self._outbound

    def close_inbound(self) -> None:
        """No new messages for the agent; those that wait are still taken."""
        self._inbound.close()

    def close_outbound(self) -> None:
        """No new messages for the channel; those that wait are still sent."""
        self._outbound.close()
