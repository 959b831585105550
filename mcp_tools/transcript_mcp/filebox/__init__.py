"""FileBox: Markdown mailboxes of agents on one file system. Free of MCP; the tools on top are in ``server``."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from transcript_mcp.filebox.config import BoxAgents, ConfigSource
    from transcript_mcp.filebox.filebox import FileBox
    from transcript_mcp.filebox.hooks import Hooks, MailEvent
    from transcript_mcp.filebox.mailbox import Mailbox, Outcome, Thread
    from transcript_mcp.filebox.options import TYPES, FileBoxOptions
    from transcript_mcp.filebox.search import FoundMail, MailQuery
    from transcript_mcp.filebox.values import BOXES, Draft, Mail, Page, Reading, Sent, ThreadEntry
    from transcript_mcp.filebox.wait import wait_for_mail

__all__ = [
    "BOXES",
    "TYPES",
    "BoxAgents",
    "ConfigSource",
    "Draft",
    "FileBox",
    "FileBoxOptions",
    "FoundMail",
    "Hooks",
    "Mail",
    "MailEvent",
    "MailQuery",
    "Mailbox",
    "Outcome",
    "Page",
    "Reading",
    "Sent",
    "Thread",
    "ThreadEntry",
    "wait_for_mail",
]

_WHERE: Final = {
    "BOXES": "values",
    "TYPES": "options",
    "ConfigSource": "config",
    "Draft": "values",
    "FileBox": "filebox",
    "FileBoxOptions": "options",
    "FoundMail": "search",
    "Hooks": "hooks",
    "Mail": "values",
    "MailEvent": "hooks",
    "Mailbox": "mailbox",
    "Outcome": "mailbox",
    "Page": "values",
    "MailQuery": "search",
    "Reading": "values",
    "BoxAgents": "config",
    "Sent": "values",
    "Thread": "mailbox",
    "ThreadEntry": "values",
    "wait_for_mail": "wait",
}


def __getattr__(name: str) -> object:
    # Fetched when it is asked for: what a room says of itself is read by commands that need none of it.
    if name in _WHERE:
        return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
