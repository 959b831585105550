"""Entries as people read them: time, name and text in columns on a terminal, one greppable line elsewhere."""

import sys
import time
import zlib
from typing import TYPE_CHECKING, Final

from nanobot_transcript.cli.moments import local
from nanobot_transcript.cli.naming import shown_name
from nanobot_transcript.cli.output import console, printable
from nanobot_transcript.cli.tables import shortened
from nanobot_transcript.entry import Entry
from nanobot_transcript.session_key import split

if TYPE_CHECKING:
    from datetime import date

    from rich.text import Text

    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["View"]

_COLOURS: Final = ("cyan", "green", "magenta", "yellow", "blue", "bright_red", "bright_cyan", "bright_green")
_NAME_WIDTH: Final = 14
_CHAT_WIDTH: Final = 20
_REMEMBERED: Final = 2000
_NAMES_HOLD: Final = 1.0


class View:
    """Prints entries of one chat, or of several with the chat's key before each; ``live`` ones at once."""

    def __init__(self, store: "GroupTranscriptStore", *, several: bool, live: bool = False) -> None:
        self._store: GroupTranscriptStore = store
        self._several: bool = several
        self._live: bool = live
        self._console = console()
        self._terminal: bool = self._console.is_terminal
        self._day: date | None = None
        self._names: dict[tuple[str, str], str] = {}
        self._senders: dict[tuple[str, str | None], str] = {}
        self._forget_at: float = 0.0

    def entry(self, session_key: str, entry: Entry) -> None:
        """Print one message, or what an edit or recall did."""
        name = printable(self._name_for(session_key, entry)).replace("\n", " ")
        text = self._text(session_key, entry)
        if self._terminal:
            self._in_columns(session_key, entry, name, text)
        else:
            self._on_a_line(session_key, entry, name, text)

    def _name_for(self, session_key: str, entry: Entry) -> str:
        if entry.get("op") and not entry["sender"]:
            return self._names.get((session_key, entry.get("target") or ""), "·")
        name = self._sender(entry)
        if entry["message_id"]:
            self._names[session_key, entry["message_id"]] = name
            if len(self._names) > _REMEMBERED:
                del self._names[next(iter(self._names))]
        return name

    def _sender(self, entry: Entry) -> str:
        """What to call the sender, looked up at most once a second: names may be learned while we follow."""
        now = time.monotonic()
        if now >= self._forget_at:
            self._senders.clear()
            self._forget_at = now + _NAMES_HOLD
        known = (entry["sender"], entry.get("sender_name"))
        return self._senders.get(known) or self._senders.setdefault(known, shown_name(self._store, entry))

    def _text(self, session_key: str, entry: Entry) -> str:
        op = entry.get("op")
        if op in ("recall", "redact"):
            return "⌫ took a message back"
        if op is not None and op != "edit":
            return f"({op})"
        mark = "✎ " if op == "edit" or entry.get("edited") else ""
        replied = self._names.get((session_key, entry.get("reply_to") or ""))
        head = f"↪ {replied}: " if replied else ""
        return printable(head + mark + (entry["content"] or f"({entry.get('msg_type') or 'empty'})"))

    def _on_a_line(self, session_key: str, entry: Entry, name: str, text: str) -> None:
        chat = f"{printable(session_key)}  " if self._several else ""
        body = text.replace("\n", "\n    ")
        sys.stdout.write(f"{local(entry['ts']):%Y-%m-%d %H:%M:%S}  {chat}{name}: {body}\n")
        if self._live:
            sys.stdout.flush()

    def _in_columns(self, session_key: str, entry: Entry, name: str, text: str) -> None:
        from rich.table import Table
        from rich.text import Text

        when = local(entry["ts"])
        if when.date() != self._day:
            self._day = when.date()
            self._console.rule(Text(f"{self._day:%Y-%m-%d}"), style="dim", align="left")
        row = Table.grid(padding=(0, 1, 0, 0), expand=True)
        row.add_column(width=5, style="dim")
        cells = [Text(f"{when:%H:%M}")]
        if self._several:
            row.add_column(width=_CHAT_WIDTH, style="dim", no_wrap=True)
            cells.append(Text(shortened(printable(split(session_key)[1]), _CHAT_WIDTH)))
        row.add_column(width=_NAME_WIDTH, no_wrap=True, overflow="ellipsis", justify="right")
        row.add_column(ratio=1, overflow="fold")
        row.add_row(*cells, _styled(name, entry), Text(text, style="dim" if entry.get("op") else ""))
        self._console.print(row)


def _styled(name: str, entry: Entry) -> "Text":
    from rich.text import Text

    colour = _COLOURS[zlib.crc32(entry["sender"].encode("utf-8", "replace")) % len(_COLOURS)]
    bot = entry.get("sender_kind") == "bot" or entry["role"] == "assistant"
    return Text(name, style=f"bold {colour}" if bot else colour)
