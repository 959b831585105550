"""Thanks and consent of people get no answer, and a reaction where that is wanted: from the bot that they are for."""

import logging
from collections import OrderedDict
from typing import Final

from nanobot_transcript.conversation.ports import InboundMessage, React
from nanobot_transcript.turns.addressees import ids_of

__all__ = ["Thanks"]

logger = logging.getLogger(__name__)

_REMEMBERED: Final = 4096


class Thanks:
    """Reacts for the bots of this process, once to each message; for one event loop.

    ``reaction`` is the platform's name of it; where it is empty nothing is done. A bot that cannot react, because its
    platform has no reactions, stays silent.
    """

    def __init__(self, reaction: str = "") -> None:
        self._reaction: str = reaction
        self._reacting: dict[str, React] = {}
        self._reacted: OrderedDict[tuple[str, str, str], None] = OrderedDict()

    def attend(self, account: str, react: React) -> None:
        """Let a bot react by this from now on."""
        self._reacting[account] = react

    def take(self, account: str, message: InboundMessage) -> None:
        """A bot was thanked. Never raises, and waits for nothing."""
        react, message_id = self._reacting.get(account), message.message_id
        if not self._reaction or react is None or not message_id or not self._is_new(account, message):
            return
        logger.debug("A reaction takes the place of an answer to %s", message_id)
        try:
            react(message_id, self._reaction)
        except Exception:  # a channel is somebody else's code
            logger.exception("A reaction could not be put on %s", message_id)

    def _is_new(self, account: str, message: InboundMessage) -> bool:
        """False for what the platform pushed before."""
        taken = [(account, message.session_key, known) for known in ids_of(message.entry)]
        if any(one in self._reacted for one in taken):
            return False
        self._reacted.update(dict.fromkeys(taken))
        while len(self._reacted) > _REMEMBERED:
            self._reacted.popitem(last=False)
        return True
