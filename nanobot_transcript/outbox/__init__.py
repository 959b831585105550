"""Messages into a group from any process: durable posts that a bot of the chat sends, and the answers to them."""

from nanobot_transcript.outbox.contract import Postbox
from nanobot_transcript.outbox.outbox import Outbox
from nanobot_transcript.outbox.server import OutboxServer, Revise, Send
from nanobot_transcript.outbox.values import (
    Action,
    Answer,
    Job,
    OutboxLimits,
    PostState,
    PostStatus,
    Receipt,
    Revision,
    post_id_for,
)

__all__ = [
    "Action",
    "Answer",
    "Job",
    "Outbox",
    "OutboxLimits",
    "OutboxServer",
    "PostState",
    "PostStatus",
    "Postbox",
    "Receipt",
    "Revise",
    "Revision",
    "Send",
    "post_id_for",
]
