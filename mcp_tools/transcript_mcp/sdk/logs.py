"""Cleans up what the SDK logs: no contents of messages, no tracebacks for clients that disconnected.

The SDK formats messages, and errors that quote them, into its log records at every level. Such records cannot be told
from harmless ones, so all text is dropped; what stays is the place in the SDK, and of an error its type and frames.
"""

import logging
import sys
import traceback

import anyio

__all__ = ["quiet"]

_LEFT = (anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError)


def quiet() -> None:
    """Install the filters. Called once by the backends, after the SDK's import has created its loggers."""
    for name in [*logging.root.manager.loggerDict]:
        if name.partition(".")[0] in ("mcp", "mcp_types"):
            logging.getLogger(name).addFilter(_without_contents)
    logging.getLogger().addFilter(_from_elsewhere)


def _without_contents(record: logging.LogRecord) -> bool:
    """Drops records about disconnected clients; replaces the text of all others."""
    error = record.exc_info[1] if record.exc_info else sys.exc_info()[1]
    if isinstance(error, _LEFT):
        return False
    record.msg = f"The MCP SDK logged a message at {record.module}.{record.funcName}, line {record.lineno}"
    record.args = None
    if record.exc_info and error is not None:
        frames = "".join(traceback.format_tb(error.__traceback__))
        record.exc_text = f"{frames}{type(error).__name__}"
        record.exc_info = None
    return True


def _from_elsewhere(record: logging.LogRecord) -> bool:
    """The same for records that SDK 1.x logs on the root logger."""
    return "/mcp/shared/" not in record.pathname.replace("\\", "/") or _without_contents(record)
