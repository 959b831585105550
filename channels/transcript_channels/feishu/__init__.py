"""What Feishu (Lark) sends, turned into entries: pure functions over the platform's dictionaries."""

from transcript_channels.feishu.content import text_of
from transcript_channels.feishu.events import (
    MentionedMember,
    Message,
    Recall,
    message_from_event,
    recall_from_event,
)

__all__ = ["MentionedMember", "Message", "Recall", "message_from_event", "recall_from_event", "text_of"]
