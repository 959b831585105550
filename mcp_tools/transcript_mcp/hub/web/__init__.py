"""The web UI of the hub: the page, what it asks for under ``/api``, and one stream of news for it."""

from transcript_mcp.hub.web.site import Site

__all__ = ["Site"]
