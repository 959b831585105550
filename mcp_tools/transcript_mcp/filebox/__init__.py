"""FileBox: Markdown mailboxes of agents on one file system. Knows no MCP, except in ``server`` and ``tools``."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from transcript_mcp.filebox.config import ConfigSource
    from transcript_mcp.filebox.filebox import FileBox
    from transcript_mcp.filebox.hooks import Hooks, MailEvent
    from transcript_mcp.filebox.mailbox import Mailbox, Outcome, Thread
    from transcript_mcp.filebox.options import FileBoxOptions
    from transcript_mcp.filebox.values import Draft, Mail, Page, Sent, ThreadEntry

__all__ = [
    "ConfigSource",
    "Draft",
    "FileBox",
    "FileBoxOptions",
    "Hooks",
    "Mail",
    "MailEvent",
    "Mailbox",
    "Outcome",
    "Page",
    "Sent",
    "Thread",
    "ThreadEntry",
]

_WHERE: Final = {
    "ConfigSource": "config",
    "Draft": "values",
    "FileBox": "filebox",
    "FileBoxOptions": "options",
    "Hooks": "hooks",
    "Mail": "values",
    "MailEvent": "hooks",
    "Mailbox": "mailbox",
    "Outcome": "mailbox",
    "Page": "values",
    "Sent": "values",
    "Thread": "mailbox",
    "ThreadEntry": "values",
}


def __getattr__(name: str) -> object:
    # Imported on first use: every command imports room.py, and with it this package, but few need the mailboxes.
    if name in _WHERE:
        return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
