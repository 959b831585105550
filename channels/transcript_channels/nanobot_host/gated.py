"""The part of our channel class that asks the gate before nanobot does anything about a message."""

import logging
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

from transcript_channels.feishu import Message
from transcript_channels.nanobot_host.core import Core
from transcript_channels.nanobot_host.gatekeeper import Turn
from transcript_channels.nanobot_host.inbound import Heard, heard_in

__all__ = ["Gated"]

logger = logging.getLogger(__name__)

_ADMITTED: Final[ContextVar[str]] = ContextVar("transcript_admitted", default="")
"""The message that the gate let pass: nanobot's own group policy is not asked about it."""


class Gated(Core):
    """A message that is not for this bot ends here: no reaction, no download, no token."""

    async def _on_message(self, data: Any) -> None:
        try:
            heard = self._transcript_gated(data)
        except Exception:
            logger.exception("It could not be decided whether a message is for this bot")
            heard = None
        if heard is None or heard.inbound is None:
            return await super()._on_message(data)
        host, bot = self._transcript_host, self._transcript_bot
        message, inbound = heard.message, heard.inbound
        turn = Turn(bot, inbound.session_key, inbound.entry, partial(self._transcript_begin, data, message))
        try:
            await host.gatekeeper.admit(turn)
        finally:
            bot.turns.settle(message.message_id)
        return None

    def _is_group_message_for_bot(self, message: Any) -> bool:
        if _ADMITTED.get() == getattr(message, "message_id", None):
            return True
        return super()._is_group_message_for_bot(message)

    async def _transcript_begin(self, data: Any, message: Message, admitted: bool) -> None:
        token = _ADMITTED.set(message.message_id if admitted else "")
        try:
            await super()._on_message(data)
        finally:
            _ADMITTED.reset(token)

    def _transcript_gated(self, data: Any) -> Heard | None:
        """The event, if the gate has a say in it; None for what nanobot drops or handles by itself."""
        heard = heard_in(data)
        if heard is None or not heard.message.in_group or heard.message.from_bot:
            return None
        if not self._transcript_host.conversation.policy.gates(heard.message.chat_id):
            return None
        return heard if self.is_allowed(heard.message.sender_ids.get("open_id", "unknown")) else None
