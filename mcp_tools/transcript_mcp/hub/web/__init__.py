"""The web UI of the hub: the page, its API below ``/api``, and a stream of news."""

from transcript_mcp.hub.web.site import Site

__all__ = ["Site"]
