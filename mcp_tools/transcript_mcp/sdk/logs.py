"""Keeps what the SDK logs useful: no tracebacks for clients that left, no contents of messages."""

import logging
import sys

import anyio

__all__ = ["quiet"]

_LEFT = (anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError)


def quiet() -> None:
    """Called once by the backends, when the SDK is imported."""
    for name in ("mcp.server.streamable_http", "mcp.server.streamable_http_manager"):
        logging.getLogger(name).addFilter(_is_news)
    logging.getLogger().addFilter(_without_contents)


def _is_news(record: logging.LogRecord) -> bool:
    """False for the traceback of a stream whose client has gone."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, _LEFT)


def _without_contents(record: logging.LogRecord) -> bool:
    """SDK 1.x logs messages that it does not understand, on the root logger and in full; only the fact is kept."""
    if "/mcp/shared/" not in record.pathname.replace("\\", "/"):
        return True
    record.msg, record.args = "A message of an MCP client was not understood", None
    return not isinstance(sys.exc_info()[1], _LEFT)
