"""What runs beside a channel for as long as it runs: hearing other bots, and serving the outbox."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from nanobot_transcript.errors import TranscriptError
from transcript_channels.nanobot_host.clients import load
from transcript_channels.nanobot_host.relaying import Relaying
from transcript_channels.nanobot_host.speaking import FeishuSpeaker

if TYPE_CHECKING:
    from transcript_channels.nanobot_host.host import Bot, Host

__all__ = ["Beside"]

logger = logging.getLogger(__name__)

_AGAIN: Final = 30.0


class Beside:
    """The work of one bot. ``gated``: see ``Relaying``."""

    def __init__(self, host: "Host", bot: "Bot", *, gated: bool) -> None:
        self._host: Host = host
        self._bot: Bot = bot
        self._relaying: Relaying = Relaying(host, bot, gated=gated)

    async def run(self) -> None:
        """Begin once the platform has said who the bot is. Ends only by being cancelled, and never by a failure."""
        await self._bot.known.wait()
        await asyncio.gather(_kept_up("Hearing other bots", self._relaying.run), _kept_up("The outbox", self._serve))

    async def _serve(self) -> None:
        """Where nobody has heard of the bot yet, the platform is asked whether it sits there."""
        host, bot = self._host, self._bot
        await load()
        from transcript_channels.feishu.channel import FeishuChannel

        client = host.clients.of(bot.app_id)
        if host.posting is None or client is None:
            return
        agent = host.conversation.profile(bot.app_id)
        channel = FeishuChannel(agent, client, host.conversation.people)

        def may_post(key: str) -> bool:
            return host.conversation.records(key) and (host.sits_in(bot, key) or channel.sits_in(key))

        await host.posting.serve(agent.name, FeishuSpeaker(agent, channel, host.outbound.recorder), may_post)


async def _kept_up(what: str, work: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            return await work()
        except TranscriptError as error:
            logger.warning("%s goes on in %g s: %s %s", what, _AGAIN, error, error.hint)
        except Exception:
            logger.exception("%s broke off and goes on in %g s", what, _AGAIN)
        await asyncio.sleep(_AGAIN)
