"""Keeps what the SDK logs useful: no tracebacks for clients that left, no contents of messages.

The SDK writes messages and errors that quote them into its records, at every level and as finished text. Nothing tells
a harmless record from such a one, so only the place in the SDK is kept, and of an error its kind and its frames.
"""

import logging
import sys
import traceback

import anyio

__all__ = ["quiet"]

_LEFT = (anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError)


def quiet() -> None:
    """Called once by the backends, when the SDK is imported and its loggers are made."""
    for name in [*logging.root.manager.loggerDict]:
        if name.partition(".")[0] in ("mcp", "mcp_types"):
            logging.getLogger(name).addFilter(_without_contents)
    logging.getLogger().addFilter(_from_elsewhere)


def _without_contents(record: logging.LogRecord) -> bool:
    """False for what is said of a client that has gone; any other record loses its words."""
    error = record.exc_info[1] if record.exc_info else sys.exc_info()[1]
    if isinstance(error, _LEFT):
        return False
    record.msg = f"The MCP SDK says something at {record.module}.{record.funcName}, line {record.lineno}"
    record.args = None
    if record.exc_info and error is not None:
        frames = "".join(traceback.format_tb(error.__traceback__))
        record.exc_text = f"{frames}{type(error).__name__}"
        record.exc_info = None
    return True


def _from_elsewhere(record: logging.LogRecord) -> bool:
    """SDK 1.x logs some of it on the root logger."""
    return "/mcp/shared/" not in record.pathname.replace("\\", "/") or _without_contents(record)
