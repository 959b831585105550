"""FileBox: Markdown mailboxes of agents on one file system. Free of MCP; the tools on top are in ``server``."""

from transcript_mcp.filebox.config import ConfigSource, Roster
from transcript_mcp.filebox.filebox import FileBox
from transcript_mcp.filebox.hooks import Hooks, MailEvent
from transcript_mcp.filebox.mailbox import Mailbox, Outcome, Thread
from transcript_mcp.filebox.options import TYPES, FileBoxOptions
from transcript_mcp.filebox.searching import Found, Query
from transcript_mcp.filebox.values import BOXES, Draft, Mail, Page, Reading, Sent, ThreadEntry
from transcript_mcp.filebox.waiting import wait_for_mail

__all__ = [
    "BOXES",
    "TYPES",
    "ConfigSource",
    "Draft",
    "FileBox",
    "FileBoxOptions",
    "Found",
    "Hooks",
    "Mail",
    "MailEvent",
    "Mailbox",
    "Outcome",
    "Page",
    "Query",
    "Reading",
    "Roster",
    "Sent",
    "Thread",
    "ThreadEntry",
    "wait_for_mail",
]
