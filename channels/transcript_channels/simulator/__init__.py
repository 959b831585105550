"""A Feishu/Lark platform on loopback, and a scripted OpenAI-compatible endpoint beside it.

It knows nothing of the rest of this product, so that it cannot agree with the product's mistakes. The real
``lark-oapi`` and the real nanobot run against it unchanged.
"""

from transcript_channels.simulator import scopes
from transcript_channels.simulator.changes import Notice
from transcript_channels.simulator.connections import ClientConfig
from transcript_channels.simulator.faults import Fault
from transcript_channels.simulator.model import ModelRequest, Reply, ScriptedModel, ToolCall
from transcript_channels.simulator.rest import Call
from transcript_channels.simulator.simulator import FeishuSimulator
from transcript_channels.simulator.webhooks import Webhook
from transcript_channels.simulator.world import (
    App,
    Attempt,
    Card,
    Chat,
    Connection,
    Member,
    Mention,
    Message,
    Person,
    Push,
    Reaction,
)

__all__ = [
    "App",
    "Attempt",
    "Call",
    "Card",
    "Chat",
    "ClientConfig",
    "Connection",
    "Fault",
    "FeishuSimulator",
    "Member",
    "Mention",
    "Message",
    "ModelRequest",
    "Notice",
    "Person",
    "Push",
    "Reaction",
    "Reply",
    "ScriptedModel",
    "ToolCall",
    "Webhook",
    "scopes",
]
