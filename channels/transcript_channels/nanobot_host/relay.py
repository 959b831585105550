"""What other bots said becomes a turn of this process's bots: out of the record, through nanobot's own bus.

nanobot drops what bots say. So this is the only way in which a bot causes a turn, whether the platform pushed its
message or not, and the loop guard stands before it.
"""

import logging
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


class Relaying:
    """Follows the transcripts for one bot. ``gated``: in mode ``gate`` the gate decides about bots' messages, too."""

    def __init__(self, host: "Host", bot: "Bot", *, gated: bool) -> None:
        self._host: Host = host
        self._bot: Bot = bot
        self._gated: bool = gated

    async def run(self) -> None:
        """Hand on what comes, without end. Returns at once when that is switched off."""
        conversation = self._host.conversation
        relay = conversation.relay(conversation.profile(self._bot.app_id), seen=self._bot.turns.began)
        relay.on_stop = self._stopped
        await relay.run(self._take)

    def _stopped(self, session_key: str, entry: Entry, reason: str) -> None:
        if self._chat_of(session_key) is not None:
            self._host.gatekeeper.decider(self._bot.app_id).stopped(session_key, entry, reason)

    async def _take(self, session_key: str, entry: Entry) -> None:
        try:
            chat_id = self._chat_of(session_key)
            if chat_id is None:
                return
            turn = PossibleTurn(self._bot, session_key, entry, partial(self._begin, chat_id, entry), recorded=True)
            if self._gated and self._host.conversation.policy.gates(chat_id):
                await self._host.gatekeeper.admit(turn)
            else:
                await self._host.gatekeeper.relay(turn)
        except Exception:
            logger.exception("%s could not be handed on", entry.get("message_id"))

    def _chat_of(self, session_key: str) -> str | None:
        """The chat, if the bot sits in it and may answer there."""
        may = self._host.conversation.shares(session_key) and self._host.sits_in(self._bot, session_key)
        return split(session_key)[1] if may else None

    async def _begin(self, chat_id: str, entry: Entry, admitted: bool) -> None:
        channel = self._bot.channel()
        if admitted and channel is not None:
            session = _session(channel, chat_id, entry)
            self._bot.turns.confirm(entry["message_id"] or "", session)
            await self._host.forgetting.before_turn(session)
            await publish(channel, chat_id, entry)


async def publish(channel: Any, chat_id: str, entry: Entry) -> None:
    """Put a bot's message on nanobot's bus, as the channel does with a person's; the answer goes to its place."""
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
        # With a line before it nothing a bot says can be one of nanobot's commands.
        content=f"{_BOT_SAYS}\n{safe(entry['content'])}",
        metadata=metadata,
        session_key_override=_session(channel, chat_id, entry),
    )
    await channel.bus.publish_inbound(message)


def _session(channel: Any, chat_id: str, entry: Entry) -> str:
    """The session to which nanobot would give the message."""
    topic = f":{entry.get('root_id') or entry['message_id']}" if channel.config.topic_isolation else ""
    return f"{channel.name}:{chat_id}{topic}"
