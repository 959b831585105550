"""Builds the bridge and its MCP server from the settings."""

from typing import TYPE_CHECKING, Final

import nanobot_transcript
from transcript_mcp.io_bridge.bridge import Bridge
from transcript_mcp.io_bridge.store import SqlQueueStore
from transcript_mcp.io_bridge.tools import QueueTools
from transcript_mcp.io_bridge.values import Limits
from transcript_mcp.sdk import Server

if TYPE_CHECKING:
    from nanobot_transcript.settings import Settings
    from nanobot_transcript.settings.lazy_record import Opening

__all__ = ["bridge_from", "build_server"]

_DAY: Final = 86_400.0
_INSTRUCTIONS: Final = (
    "Exchanges inputs and outputs with the outside, by session. i_tool waits for the next input of a session and "
    "o_tool returns your result. Both may take any time, and a restart loses nothing. "
    "When i_tool says that there is no input yet, call it again."
)


def build_server(bridge: Bridge, tools: QueueTools | None = None) -> Server:
    """The server over a bridge; closing it closes the bridge. ``tools``: existing ones over this bridge."""
    server = Server("io", version=nanobot_transcript.__version__, title="IO bridge", instructions=_INSTRUCTIONS)
    (tools or QueueTools(bridge)).offer(server)
    server.on_close(bridge.close)
    return server


def bridge_from(settings: "Settings", opening: "Opening") -> Bridge:
    """The bridge that the settings describe, with its store in the hub's folder or the record's database."""
    chosen = settings.io
    limits = Limits(chosen.max_items, int(chosen.max_bytes), chosen.max_sessions, chosen.keep_days * _DAY)
    shelf = opening.shelf(settings.hub.data_dir)
    store = SqlQueueStore(shelf, limits, processes=opening.record.processes if shelf.is_remote else None)
    return Bridge(store, lease=chosen.lease, sessions=chosen.max_sessions)
