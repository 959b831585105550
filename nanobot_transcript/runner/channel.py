"""What a channel must do: the border between a chat platform and the runner."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, runtime_checkable

from nanobot_transcript.runner.messages import CardAction, InboundMessage, OutboundMessage, Recalled, SentMessage

__all__ = ["Channel", "LiveMessage", "Publish", "RevisingChannel", "StreamingChannel"]


class Publish(Protocol):
    """Where a channel brings what the platform tells it. To be called before the platform is acknowledged."""

    async def __call__(self, event: InboundMessage | Recalled | CardAction) -> Mapping[str, Any] | None:
        """Record the event and hand it on. The answer to a card action, if there is one.

        Raises StoreError when it could not be recorded: then the platform should push it again. The agent has it
        nevertheless, and does not answer it twice.
        """
        ...


class Channel(Protocol):
    """One bot on one platform."""

    async def start(self, publish: Publish) -> None:
        """Connect, and bring events to ``publish`` from now on. Raises TranscriptError kinds when that cannot be."""
        ...

    async def send(self, message: OutboundMessage) -> SentMessage:
        """Send a message and return what the platform says about it.

        Raises DeliveryError or PlatformError; another attempt uses the same ``idempotency_key``. Where a part of the
        message arrived, ``arrived`` of the error is that part, a SentMessage with its ``text``.
        """
        ...

    def sits_in(self, session_key: str) -> bool:
        """True when this bot is known to be a member of the chat."""
        ...

    async def stop(self) -> None:
        """Disconnect. Nothing is published afterwards."""
        ...


@runtime_checkable
class RevisingChannel(Channel, Protocol):
    """A channel that can change a card that stands in a chat."""

    async def revise(self, message_id: str, card: Mapping[str, Any]) -> str:
        """Show another card in the place of this bot's own; returns the text that it shows. Raises PlatformError."""
        ...


class LiveMessage(Protocol):
    """A message that is shown while it is being written."""

    async def update(self, text: str) -> None:
        """Show the text so far; the last one before the end of the block is the final one."""
        ...

    @property
    def sent(self) -> SentMessage | None:
        """After the block: the message as it stands there; None when nothing stands there."""
        ...


@runtime_checkable
class StreamingChannel(Channel, Protocol):
    """A channel that can show a text while it is being written."""

    def stream(self, message: OutboundMessage) -> AbstractAsyncContextManager[LiveMessage]:
        """Open a live message. A block that ends with an exception takes back what was shown, if it can."""
        ...
