"""The transcript server: what was said in the groups, for any agent that speaks MCP."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from transcript_mcp.transcript.server import build_server

__all__ = ["build_server"]

_WHERE: Final = {
    "build_server": "server",
}


def __getattr__(name: str) -> object:
    # Imported on first use: every command imports room.py, and with it this package, but few need the server.
    if name in _WHERE:
        return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
