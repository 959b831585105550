"""Turns other bots' messages into turns of this process's bots: from the record, over nanobot's own bus.

nanobot ignores messages of bots. So this is the only way in which a bot's message causes a turn, whether the platform
pushed it or not, and the loop guard is asked first.
"""

import logging
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import account_of
from nanobot_transcript.session_key import split
from transcript_channels.nanobot_host.context import safe
from transcript_channels.nanobot_host.gatekeeper import PossibleTurn

if TYPE_CHECKING:
    from transcript_channels.nanobot_host.bot import Bot
    from transcript_channels.nanobot_host.host import Host

__all__ = ["Relaying", "publish"]

logger = logging.getLogger(__name__)

_BOT_SAYS: Final = "Another bot of this group says:"


@dataclass(slots=True, eq=False)
class Relaying:
    """Follows the transcripts for one bot. ``gated``: the gate decides about bots' messages, too, in chats with mode
    ``gate``.
    """

    host: "Host"
    bot: "Bot"
    _: KW_ONLY
    gated: bool

    async def run(self) -> None:
        """Hand messages on, without end. Returns at once when relaying is switched off."""
        conversation = self.host.conversation
        relay = conversation.relay(conversation.profile(self.bot.app_id), seen=self.bot.turns.began)
        relay.on_stop = self._stopped
        await relay.run(self._take)

    def _stopped(self, session_key: str, entry: Entry, reason: str) -> None:
        if self._chat_of(session_key) is not None:
            self.host.gatekeeper.decider(self.bot.app_id).stopped(session_key, entry, reason)

    async def _take(self, session_key: str, entry: Entry) -> None:
        try:
            chat_id = self._chat_of(session_key)
            if chat_id is None:
                return
            turn = PossibleTurn(self.bot, session_key, entry, partial(self._begin, chat_id, entry), recorded=True)
            if self.gated and self.host.conversation.policy.gates(chat_id):
                await self.host.gatekeeper.admit(turn)
            else:
                await self.host.gatekeeper.relay(turn)
        except Exception:
            logger.exception("The bot's message %s could not be handed to nanobot", entry.get("message_id"))

    def _chat_of(self, session_key: str) -> str | None:
        """The chat, if the bot sits in it and may answer there."""
        may = self.host.conversation.shares(session_key) and self.host.sits_in(self.bot, session_key)
        return split(session_key)[1] if may else None

    async def _begin(self, chat_id: str, entry: Entry, admitted: bool) -> None:
        channel = self.bot.channel()
        if admitted and channel is not None:
            session = _session(channel, chat_id, entry)
            self.bot.turns.confirm(entry["message_id"] or "", session)
            await self.host.forgetting.before_turn(session)
            await publish(channel, chat_id, entry)


async def publish(channel: Any, chat_id: str, entry: Entry) -> None:
    """Put a bot's message on nanobot's bus, as the channel does with a person's; the answer goes where it was said."""
    from nanobot.bus.events import InboundMessage

    metadata = {
        "message_id": entry["message_id"],
        "chat_type": "group",
        "msg_type": "text",
        "parent_id": entry.get("reply_to"),
        "root_id": entry.get("root_id"),
        "thread_id": entry.get("thread_id"),
    }
    if channel.supports_streaming:
        metadata["_wants_stream"] = True
    message = InboundMessage(
        channel=channel.name,
        sender_id=account_of(entry) or str(entry["sender"]),
        chat_id=chat_id,
        # nanobot takes a message for a command by how it begins; with this line first, no bot can give one.
        content=f"{_BOT_SAYS}\n{safe(entry['content'])}",
        metadata=metadata,
        session_key_override=_session(channel, chat_id, entry),
    )
    await channel.bus.publish_inbound(message)


def _session(channel: Any, chat_id: str, entry: Entry) -> str:
    """The key of the session that nanobot would choose for the message."""
    topic = f":{entry.get('root_id') or entry['message_id']}" if channel.config.topic_isolation else ""
    return f"{channel.name}:{chat_id}{topic}"
