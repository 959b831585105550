"""One bot that says what others want said: posts of the outbox go out beside nanobot, and are recorded like answers."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nanobot_transcript.conversation.delivery import Recorder
from nanobot_transcript.conversation.ports import OutboundMessage, SentMessage
from nanobot_transcript.errors import DeliveryError, PlatformError
from nanobot_transcript.identity import AgentProfile

if TYPE_CHECKING:
    from transcript_channels.feishu.channel import FeishuChannel

__all__ = ["FeishuSpeaker"]


class FeishuSpeaker:
    """See ``Speaker``."""

    def __init__(self, agent: AgentProfile, channel: "FeishuChannel", recorder: Recorder) -> None:
        self._agent: AgentProfile = agent
        self._channel: FeishuChannel = channel
        self._recorder: Recorder = recorder

    async def send(self, message: OutboundMessage) -> SentMessage:
        """See ``Speaker``. What arrived of a message that could not be sent as a whole is recorded, too."""
        try:
            sent = await self._channel.send(message)
        except PlatformError as error:
            await self._recorder.said_in_part(self._agent, message, error)
            raise
        if not sent.message_id:
            raise DeliveryError("The platform confirmed a post without an id.", hint="Look into the chat.")
        await self._recorder.said(self._agent, message, sent, "send")
        return sent

    async def revise(self, session_key: str, message_id: str, card: Mapping[str, Any]) -> None:
        """See ``Speaker``."""
        text = await self._channel.revise(message_id, card)
        await self._recorder.changed(self._agent, session_key, message_id, text)
