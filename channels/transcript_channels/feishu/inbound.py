"""A message as it was received becomes an entry as the record holds it."""

import time
from typing import Any, Final, cast

from nanobot_transcript.entry import Entry
from transcript_channels.feishu.content import text_of
from transcript_channels.feishu.events import Message
from transcript_channels.feishu.identities import Identities

__all__ = ["entry_of", "is_complete"]

_BARE_CARD: Final = text_of("interactive", None)


def entry_of(message: Message, identities: Identities) -> Entry:
    """The entry, with senders and mentions that are the same for every app."""
    sender = identities.sender_of(message)
    known: dict[str, Any] = {
        **message.entry_fields(),
        "ids": sender.ids,
        "sender_name": sender.name,
        "mentions": identities.mentions_of(message),
        "agent": sender.name if message.from_bot else None,
    }
    entry: dict[str, Any] = {
        "role": "assistant" if message.from_bot else "user",
        "content": message.text,
        "sender": sender.sender,
        "message_id": message.message_id,
        "ts": message.ts_ms if message.ts_ms is not None else time.time_ns() // 1_000_000,
    }
    said = {key: value for key, value in known.items() if value or (key == "pos" and value is not None)}
    return cast("Entry", entry | said)


def is_complete(message: Message) -> bool:
    """False for another bot's card that is still being written; its bot puts the text into the record when it is."""
    return not (message.from_bot and message.msg_type == "interactive" and message.text == _BARE_CARD)
