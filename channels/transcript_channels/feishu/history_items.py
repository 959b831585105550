"""Messages as the history lists them (``GET /open-apis/im/v1/messages``), as values.

Fields: https://open.feishu.cn/document/server-docs/im-v1/message/list
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from transcript_channels.feishu.content import text_of
from transcript_channels.feishu.events import Message
from transcript_channels.feishu.fields import ids_of, mentions_of, milliseconds, part, position, string

__all__ = ["FORWARDED", "HistoryItem", "item_from_api"]

FORWARDED: Final = "merge_forward"
"""The type of a bundle of forwarded messages; its content has to be asked for."""

_SYSTEM: Final = "system"


@dataclass(frozen=True, slots=True)
class HistoryItem:
    """One listed message. ``deleted``: it was recalled and its text is gone. ``changed_ms``: when it last changed, in
    milliseconds since 1970. ``upper_id``: the bundle of forwarded messages that it is part of.
    """

    message: Message
    sender_name: str = ""
    deleted: bool = False
    edited: bool = False
    changed_ms: float | None = None
    upper_id: str = ""

    @property
    def is_said(self) -> bool:
        """False for lines that nobody said, such as "Ada invited Bo"."""
        return self.deleted or (self.message.msg_type != _SYSTEM and bool(self.message.sender_type))

    @property
    def order(self) -> tuple[float, int]:
        """The key by which a chat's messages are sorted."""
        return self.message.ts_ms or 0.0, self.message.pos or 0


def item_from_api(value: Any, app_id: str, chat_id: str) -> HistoryItem | None:
    """One element of ``items`` as ``app_id`` sees it; None without a message id or a time."""
    item = value if isinstance(value, Mapping) else {}
    message_id, ts_ms = string(item, "message_id"), milliseconds(item.get("create_time"))
    if not message_id or ts_ms is None:
        return None
    sender, kind = part(item, "sender"), string(item, "msg_type") or "message"
    deleted = item.get("deleted") is True
    mentions = item.get("mentions")
    message = Message(
        app_id=app_id,
        chat_id=string(item, "chat_id") or chat_id,
        chat_type="",
        message_id=message_id,
        msg_type=kind,
        text="" if deleted else text_of(kind, part(item, "body").get("content"), mentions),
        sender_type=string(sender, "sender_type"),
        sender_ids=ids_of(sender.get("id"), sender.get("id_type")),
        ts_ms=ts_ms,
        mentions=mentions_of(mentions),
        root_id=string(item, "root_id") or None,
        parent_id=string(item, "parent_id") or None,
        thread_id=string(item, "thread_id") or None,
        pos=position(item.get("message_position")),
    )
    return HistoryItem(
        message,
        string(sender, "sender_name").strip(),
        deleted,
        item.get("updated") is True,
        milliseconds(item.get("update_time")),
        string(item, "upper_message_id"),
    )
