"""Tasks that run as long as nanobot's channel does: hearing other bots, and serving the outbox."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from nanobot_transcript.conversation.delivery import Recorder
from nanobot_transcript.conversation.ports import OutboundMessage, SentMessage
from nanobot_transcript.errors import DeliveryError, PlatformError, TranscriptError
from nanobot_transcript.identity import AgentProfile
from transcript_channels.nanobot_host.feishu_clients import load
from transcript_channels.nanobot_host.relay import Relaying

if TYPE_CHECKING:
    from transcript_channels.feishu.channel import FeishuChannel
    from transcript_channels.nanobot_host.bot import Bot
    from transcript_channels.nanobot_host.host import Host

__all__ = ["ChannelTasks", "FeishuSpeaker"]

logger = logging.getLogger(__name__)

_AGAIN: Final = 30.0


class ChannelTasks:
    """The tasks of one bot. ``gated``: see ``Relaying``."""

    def __init__(self, host: "Host", bot: "Bot", *, gated: bool) -> None:
        self._host: Host = host
        self._bot: Bot = bot
        self._relaying: Relaying = Relaying(host, bot, gated=gated)

    async def run(self) -> None:
        """Start once the platform has said who the bot is. Runs until cancelled; a task that fails is restarted."""
        await self._bot.known.wait()
        await asyncio.gather(_kept_up("Hearing other bots", self._relaying.run), _kept_up("The outbox", self._serve))

    async def _serve(self) -> None:
        """Send posts of the outbox into chats where the bot sits. Where it has not been heard of yet, the platform is
        asked.
        """
        host, bot = self._host, self._bot
        await load()
        from transcript_channels.feishu.channel import FeishuChannel

        client = host.clients.of(bot.app_id)
        if host.posts is None or client is None:
            return
        agent = host.conversation.profile(bot.app_id)
        channel = FeishuChannel(agent, client, host.conversation.people)

        def may_post(key: str) -> bool:
            return host.conversation.records(key) and (host.sits_in(bot, key) or channel.sits_in(key))

        await host.posts.serve(agent.name, FeishuSpeaker(agent, channel, host.outbound.recorder), may_post)


@dataclass(slots=True, eq=False)
class FeishuSpeaker:
    """See ``Speaker``. Sends posts without nanobot, over a client of our own, and records them like answers."""

    agent: AgentProfile
    channel: "FeishuChannel"
    recorder: Recorder

    async def send(self, message: OutboundMessage) -> SentMessage:
        """See ``Speaker``. What arrived of a message that could not be sent as a whole is recorded, too."""
        try:
            sent = await self.channel.send(message)
        except PlatformError as error:
            await self.recorder.said_in_part(self.agent, message, error)
            raise
        if not sent.message_id:
            raise DeliveryError("The platform confirmed a post without an id.", hint="Check the chat.")
        await self.recorder.said(self.agent, message, sent, "send")
        return sent

    async def revise(self, session_key: str, message_id: str, card: Mapping[str, Any]) -> None:
        """See ``Speaker``."""
        text = await self.channel.revise(message_id, card)
        await self.recorder.changed(self.agent, session_key, message_id, text)


async def _kept_up(what: str, work: Callable[[], Awaitable[None]]) -> None:
    """Do the work until it returns; after a failure start it again."""
    while True:
        try:
            return await work()
        except TranscriptError as error:
            logger.warning("%s does not work; trying again in %g s: %s %s", what, _AGAIN, error, error.hint)
        except Exception:
            logger.exception("%s failed; trying again in %g s", what, _AGAIN)
        await asyncio.sleep(_AGAIN)
