"""The IO bridge: inputs for agents that wait, and their outputs, between MCP tools and a small HTTP interface."""

from transcript_mcp.io_bridge.bridge import Bridge, Handed
from transcript_mcp.io_bridge.contract import QueueStore
from transcript_mcp.io_bridge.store import SqlQueueStore
from transcript_mcp.io_bridge.values import Direction, Item, Limits, Put, Queued, SessionState

__all__ = [
    "Bridge",
    "Direction",
    "Handed",
    "Item",
    "Limits",
    "Put",
    "QueueStore",
    "Queued",
    "SessionState",
    "SqlQueueStore",
]
