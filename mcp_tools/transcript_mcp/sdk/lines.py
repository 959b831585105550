"""Whether somebody is still there to be answered."""

from aiohttp import web

__all__ = ["has_left"]


def has_left(request: web.BaseRequest) -> bool:
    """True when the connection of a request is closed."""
    return request.transport is None or request.transport.is_closing()
