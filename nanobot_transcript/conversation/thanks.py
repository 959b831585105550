"""Thanks and consent of people get no answer; where wanted, the bot they are for puts a reaction on them."""

import logging
from collections import OrderedDict
from typing import Final

from nanobot_transcript.conversation.ports import InboundMessage, React
from nanobot_transcript.turns.addressees import ids_of

__all__ = ["Thanks"]

logger = logging.getLogger(__name__)

_REMEMBERED: Final = 4096


class Thanks:
    """Reacts for the bots of this process, once per message; for one event loop.

    ``reaction`` is the platform's name of it; empty for none. A bot on a platform without reactions stays silent.
    """

    def __init__(self, reaction: str = "") -> None:
        self._reaction: str = reaction
        self._reacting: dict[str, React] = {}
        self._reacted: OrderedDict[tuple[str, str, str], None] = OrderedDict()

    def attend(self, account: str, react: React) -> None:
        """Use ``react`` for this bot from now on."""
        self._reacting[account] = react

    def take(self, account: str, message: InboundMessage) -> None:
        """A bot was thanked. Never raises, and does not wait."""
        react, message_id = self._reacting.get(account), message.message_id
        if not self._reaction or react is None or not message_id or not self._is_new(account, message):
            return
        logger.debug("%s gets a reaction instead of an answer", message_id)
        try:
            react(message_id, self._reaction)
        except Exception:  # a channel is somebody else's code
            logger.exception("Putting a reaction on %s failed", message_id)

    def _is_new(self, account: str, message: InboundMessage) -> bool:
        """False for a message that the platform has pushed before."""
        taken = [(account, message.session_key, known) for known in ids_of(message.entry)]
        if any(one in self._reacted for one in taken):
            return False
        self._reacted.update(dict.fromkeys(taken))
        while len(self._reacted) > _REMEMBERED:
            self._reacted.popitem(last=False)
        return True
