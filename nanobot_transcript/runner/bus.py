"""The bus of one agent: incoming messages wait for the agent, outgoing ones for the channel."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final, Generic, Self, TypeVar

from nanobot_transcript.conversation.ports import InboundMessage, OutboundMessage, SentMessage
from nanobot_transcript.errors import DeliveryError
from nanobot_transcript.runner.live_text import LiveText

__all__ = ["MessageBus", "Pipe", "QueuedMessage"]

_SIZE: Final = 1000
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class QueuedMessage:
    """An outbound message and the future on which its sender waits; ``live`` is its text while that is still being
    written.
    """

    message: OutboundMessage
    live: LiveText | None = None
    outcome: "asyncio.Future[SentMessage]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def succeed(self, sent: SentMessage) -> None:
        """It was sent."""
        if not self.outcome.done():
            self.outcome.set_result(sent)

    def fail(self, error: BaseException) -> None:
        """It was not sent."""
        if not self.outcome.done():
            self.outcome.set_exception(error)


class MessageBus:
    """Two bounded queues with a clean shutdown. All methods belong to one event loop."""

    def __init__(self, size: int = _SIZE) -> None:
        self._inbound: Pipe[InboundMessage] = Pipe(size)
        self._outbound: Pipe[QueuedMessage] = Pipe(size)

    def publish_inbound(self, message: InboundMessage) -> bool:
        """Give a message to the agent. False when the agent is too busy or stopping: then it is only recorded."""
        return self._inbound.offer(message)

    @property
    def waiting(self) -> int:
        """How many messages are waiting for the agent."""
        return len(self._inbound)

    def inbound(self) -> AsyncIterator[InboundMessage]:
        """Messages for the agent, until ``close_inbound``."""
        return self._inbound

    async def deliver(self, message: OutboundMessage, live: LiveText | None = None) -> SentMessage:
        """Give a message to the channel and wait until it was sent and recorded; ``live`` is a text that is still
        growing.

        Raises DeliveryError when it could not be sent.
        """
        delivery = QueuedMessage(message, live)
        if not await self._outbound.put(delivery):
            raise DeliveryError("The runner is stopping; nothing is sent any more.")
        return await delivery.outcome

    def outbound(self) -> AsyncIterator[QueuedMessage]:
        """Messages for the channel, until ``close_outbound``."""
        return self._outbound

    def close_inbound(self) -> None:
        """Accept no new messages for the agent; waiting ones are still taken."""
        self._inbound.close()

    def close_outbound(self) -> None:
        """Accept no new messages for the channel; waiting ones are still sent."""
        self._outbound.close()


class Pipe(Generic[_T]):
    """A bounded queue that can be closed, which ``asyncio.Queue`` cannot before Python 3.13.

    Items come in order. ``async for`` ends when the pipe is closed and empty.
    """

    def __init__(self, size: int) -> None:
        self._size: int = size
        self._items: deque[_T] = deque()
        self._closed: bool = False
        self._ready: asyncio.Event = asyncio.Event()
        self._room: asyncio.Event = asyncio.Event()
        self._room.set()

    def offer(self, item: _T) -> bool:
        """Put an item in without waiting. False when there is no room or the pipe is closed."""
        if self._closed or len(self._items) >= self._size:
            return False
        self._items.append(item)
        self._mark()
        return True

    async def put(self, item: _T) -> bool:
        """Put an item in as soon as there is room. False when the pipe is closed."""
        while not self.offer(item):
            if self._closed:
                return False
            await self._room.wait()
        return True

    def close(self) -> None:
        """Accept no more items; those inside can still be taken."""
        self._closed = True
        self._mark()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _T:
        while not self._items:
            if self._closed:
                raise StopAsyncIteration
            await self._ready.wait()
        item = self._items.popleft()
        self._mark()
        return item

    def __len__(self) -> int:
        return len(self._items)

    def _mark(self) -> None:
        for event, true in (
            (self._ready, self._closed or bool(self._items)),
            (self._room, self._closed or len(self._items) < self._size),
        ):
            if true:
                event.set()
            else:
                event.clear()
