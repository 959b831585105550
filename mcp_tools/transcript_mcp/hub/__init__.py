"""The hub: one HTTP process for all servers of the product."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transcript_mcp.hub.app import create_app

__all__ = ["create_app"]


def __getattr__(name: str) -> object:
    # Imported on first use: serving stdio imports this package, too, and needs no HTTP server.
    if name == "create_app":
        from transcript_mcp.hub.app import create_app

        return create_app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
