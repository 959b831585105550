"""Requests that are no HTTP, or whose body cannot be unpacked: a line in the log each, not aiohttp's twenty.

Anybody can send them, also without a token.
"""

import logging
from collections.abc import AsyncIterator

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

__all__ = ["told_in_a_line"]


class _Short(logging.Filter):
    """Leaves out where aiohttp was when it noticed, and the sender's bytes."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, (HttpProcessingError, web.RequestPayloadError)):
            record.levelno, record.levelname = logging.WARNING, "WARNING"
            record.msg, record.args = "A request cannot be read: %s", (type(error).__name__,)
            record.exc_info = record.exc_text = None
        return True


async def told_in_a_line(_app: web.Application) -> AsyncIterator[None]:
    """From the application's start to its end."""
    server, short = logging.getLogger("aiohttp.server"), _Short()
    server.addFilter(short)
    yield
    server.removeFilter(short)
