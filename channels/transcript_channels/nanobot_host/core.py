"""What the parts of our channel class share."""

import logging
from typing import TYPE_CHECKING, Any

from transcript_channels.feishu.platform import FEISHU
from transcript_channels.nanobot_host.deliveries import Deliveries, Outgoing
from transcript_channels.nanobot_host.host import Bot, Host
from transcript_channels.nanobot_host.outbound import Streams

if TYPE_CHECKING:
    from transcript_channels.nanobot_host.nanobot_channel import NanobotChannel
else:
    NanobotChannel = object

__all__ = ["Core"]

logger = logging.getLogger(__name__)


class Core(NanobotChannel):
    """Makes the channel known to the host, and keeps what was delivered."""

    _transcript_host: Host
    _transcript_bot: Bot

    def __init__(self, *args: Any, **options: Any) -> None:
        self._transcript_platform_name = ""
        self._transcript_deliveries = Deliveries(self._transcript_learn)
        self._transcript_streams = Streams()
        super().__init__(*args, **options)
        self._transcript_bot = self._transcript_host.register(self)

    def _transcript_learn(self, bot: dict[str, Any]) -> None:
        self._transcript_platform_name = str(bot.get("app_name") or "").strip()

    async def _transcript_objects(self, outgoing: Outgoing) -> bool:
        """True when an answer must not go out any more: another bot gives it, or bots have said enough."""
        objection = await self._transcript_bot.answers.objection(outgoing.trigger)
        if objection is not None:
            outgoing.refused = True
            logger.info("An answer to %s is not sent: %s", outgoing.trigger, objection.sentence)
            bot, key = self._transcript_bot, FEISHU.key(outgoing.chat_id)
            self._transcript_host.outcomes.withheld(bot.app_id, key, outgoing.trigger, objection)
        return outgoing.refused

    def _transcript_sent(self, outgoing: Outgoing, *, complete: bool, streamed: bool = False) -> None:
        """Note what did not arrive, and what nanobot says of a turn that failed, which is never streamed."""
        outcomes, app_id = self._transcript_host.outcomes, self._transcript_bot.app_id
        key = FEISHU.key(outgoing.chat_id)
        if not outgoing.text.strip():
            return
        if not complete or not outgoing.delivered:
            outcomes.unsent(app_id, key, outgoing.trigger, partly=bool(outgoing.delivered))
        elif not streamed:
            outcomes.told(app_id, key, outgoing.trigger, outgoing.text)
