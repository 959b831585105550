"""The IO bridge: inputs for agents that wait, and their outputs, between MCP tools and a small HTTP interface."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
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

_WHERE: Final = {
    "Bridge": "bridge",
    "Direction": "values",
    "Handed": "bridge",
    "Item": "values",
    "Limits": "values",
    "Put": "values",
    "QueueStore": "contract",
    "Queued": "values",
    "SessionState": "values",
    "SqlQueueStore": "store",
}


def __getattr__(name: str) -> object:
    # Fetched when it is asked for: what a room says of itself is read by commands that need none of it.
    if name in _WHERE:
        return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
