"""What runs beside a channel for as long as it runs: hearing other bots, and serving the outbox."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from nanobot_transcript.errors import TranscriptError
from transcript_channels.nanobot_host.clients import load
from transcript_channels.nanobot_host.relaying import Relaying

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
        host, bot = self._host, self._bot
        await load()
        client = host.clients.of(bot.app_id)
        if host.posts.served and client is not None:
            profile = host.conversation.profile(bot.app_id)
            sits_in = partial(host.sits_in, bot)
            await host.posts.serve(profile, client, host.conversation.store, host.conversation.records, sits_in)


async def _kept_up(what: str, work: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            return await work()
        except TranscriptError as error:
            logger.warning("%s goes on in %g s: %s %s", what, _AGAIN, error, error.hint)
        except Exception:
            logger.exception("%s broke off and goes on in %g s", what, _AGAIN)
        await asyncio.sleep(_AGAIN)
