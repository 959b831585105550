"""Entries as people read them: time, name and text in columns on a terminal, one greppable line elsewhere."""

import sys
import time
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from nanobot_transcript.cli.terminal.chat_names import shown_name
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.message_names import SHORT, short_id
from nanobot_transcript.cli.terminal.moments import local
from nanobot_transcript.cli.terminal.output import console, printable
from nanobot_transcript.cli.terminal.tables import shortened
from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import is_bot
from nanobot_transcript.store.lines.ops import hides, is_edit, is_op
from nanobot_transcript.store.names import short_name

if TYPE_CHECKING:
    from datetime import date

    from rich.console import Console

    from nanobot_transcript.store.front import GroupTranscriptStore
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from nanobot_transcript.cli.terminal.exit_codes import NEGATIVE
from nanobot_transcript.cli.terminal.output import emit_line, notice

if TYPE_CHECKING:
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["EntryPrinter", "labelled", "nothing_found", "printer"]

_COLOURS: Final = ("cyan", "green", "magenta", "yellow", "blue", "bright_red", "bright_cyan", "bright_green")
_TIME_WIDTH: Final = 5
_NAME_WIDTH: Final = 14
_LEAST_WIDTH: Final = 20
_REMEMBERED: Final = 2000
_NAMES_HOLD: Final = 1.0


class EntryPrinter:
    """Prints entries of one chat, or of ``several``; ``live`` flushes after each; ``ids`` adds their short ids.

    On a terminal the chat's title and a short name that commands take stand above its messages, wherever the chat
    changes. Elsewhere, with several chats, the whole key stands on every line. The columns are formatted here: rich
    takes many times as long, and a chat may have years of messages.
    """

    def __init__(
        self,
        store: "GroupTranscriptStore",
        *,
        several: bool,
        live: bool = False,
        ids: bool = False,
        out: "Console | None" = None,
    ) -> None:
        self._store: GroupTranscriptStore = store
        self._several: bool = several
        self._live: bool = live
        self._ids: bool = ids
        self._console: Console = out if out is not None else console()
        self._terminal: bool = self._console.is_terminal
        self._width: int = self._console.width
        self._codes: dict[str, tuple[str, str]] = {}
        self._day: date | None = None
        self._chat: str = ""
        self._names: dict[tuple[str, str], str] = {}
        self._senders: dict[tuple[str, str | None], str] = {}
        self._titles: dict[str, str] = {}
        self._keys: list[str] = []
        self._forget_at: float = 0.0

    def entry(self, session_key: str, entry: Entry) -> None:
        """Print one message, or what an edit or recall did."""
        self._look_again()
        name = _on_one_line(self._name_for(session_key, entry))
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

    def _look_again(self) -> None:
        """Forget names, titles and the width once a second: they may have changed."""
        now = time.monotonic()
        if now >= self._forget_at:
            self._senders.clear()
            self._titles.clear()
            self._keys.clear()
            self._width = self._console.width
            self._forget_at = now + _NAMES_HOLD

    def _sender(self, entry: Entry) -> str:
        told = entry.get("sender_name")
        known = (entry["sender"], told if isinstance(told, str) else None)
        return self._senders.get(known) or self._senders.setdefault(known, shown_name(self._store, entry))

    def _title(self, session_key: str) -> str:
        """The chat's title, empty if it is unknown."""
        known = self._titles.get(session_key)
        if known is None:
            told = self._store.members.title_of(session_key) or ""
            known = self._titles[session_key] = _on_one_line(told)
        return known

    def _text(self, session_key: str, entry: Entry) -> str:
        if hides(entry):
            return said("⌫ took a message back")
        if is_op(entry) and not is_edit(entry):
            return f"({entry.get('op')})"
        from nanobot_transcript.turns.addressees import id_at  # that room takes a while to import

        mark = "✎ " if is_edit(entry) or entry.get("edited") else ""
        replied = self._names.get((session_key, id_at(entry, "reply_to") or ""))
        head = f"↪ {replied}: " if replied else ""
        return printable(head + mark + (entry["content"] or f"({entry.get('msg_type') or said('empty')})"))

    def _on_a_line(self, session_key: str, entry: Entry, name: str, text: str) -> None:
        short = f"{_short(entry):<{SHORT}}  " if self._ids else ""
        chat = f"{printable(session_key)} {self._title(session_key)}".rstrip() + "  " if self._several else ""
        body = text.replace("\n", "\n    ")
        sys.stdout.write(f"{local(entry['ts']):%Y-%m-%d %H:%M:%S}  {short}{chat}{name}: {body}\n")
        if self._live:
            sys.stdout.flush()

    def _in_columns(self, session_key: str, entry: Entry, name: str, text: str) -> None:
        from nanobot_transcript.cli.terminal.line_breaks import wrap

        when = local(entry["ts"])
        self._headings(session_key, when.date())
        short = f" {self._painted(_in_column(_short(entry), SHORT), 'dim')}" if self._ids else ""
        taken = _TIME_WIDTH + (SHORT + 1 if self._ids else 0) + _NAME_WIDTH + 2
        lines = wrap(text.expandtabs(), max(self._width - taken, _LEAST_WIDTH))
        if entry.get("op"):
            lines = [self._painted(line, "dim") for line in lines]
        column = self._painted(_in_column(name, _NAME_WIDTH), _style(entry))
        head = f"{self._painted(f'{when:%H:%M}', 'dim')}{short} {column} "
        gap = "\n" + " " * taken
        self._console.file.write(f"{head}{gap.join(lines)}\n")
        if self._live:
            self._console.file.flush()

    def _headings(self, session_key: str, day: "date") -> None:
        from rich.text import Text

        if session_key != self._chat:
            self._chat = session_key
            self._keys = self._keys or [chat.session_key for chat in self._store.chats()]
            short = printable(short_name(session_key, self._keys))
            title = shortened(self._title(session_key), max(self._width - len(short) - 2, _LEAST_WIDTH))
            told = [(title, "bold"), "  ", (short, "dim")] if title else [(short, "bold")]
            self._console.print(Text.assemble(*told), soft_wrap=True)
        if day != self._day:
            self._day = day
            self._console.rule(Text(f"{day:%Y-%m-%d}"), style="dim", align="left")

    def _painted(self, text: str, style: str) -> str:
        if style not in self._codes:
            from rich.text import Text

            with self._console.capture() as captured:
                self._console.print(Text("|", style=style), end="")
            before, _, after = captured.get().partition("|")
            self._codes[style] = before, after
        before, after = self._codes[style]
        return f"{before}{text}{after}" if text else ""


def _style(entry: Entry) -> str:
    """The colour of the sender's name."""
    colour = _COLOURS[zlib.crc32(entry["sender"].encode("utf-8", "replace")) % len(_COLOURS)]
    return f"bold {colour}" if is_bot(entry) else colour


def _short(entry: Entry) -> str:
    """The short id of the message, or of the one that an edit or recall is about; a dash where there is none."""
    message_id = entry.get("target") if entry.get("op") else entry["message_id"]
    known = short_id(message_id) if isinstance(message_id, str) else ""
    return _on_one_line(known) or "-"


def _on_one_line(text: str) -> str:
    return printable(text).replace("\n", " ")


@lru_cache(_REMEMBERED)
def _in_column(text: str, width: int) -> str:
    """The text in a column of this width, at the right."""
    from rich.text import Text

    shown = Text(text)
    shown.truncate(width, overflow="ellipsis")
    shown.align("right", width)
    return shown.plain


def nothing_found() -> NoReturn:
    """Say so, and end with exit code 1."""
    notice(said("Nothing found."))
    raise typer.Exit(NEGATIVE)


def labelled(key: str, entry: Entry) -> dict[str, Any]:
    """An entry with the key of its chat, for JSON."""
    return {"session_key": key, **entry}


def printer(store: "GroupTranscriptStore", *, jsonl: bool, several: bool, ids: bool, live: bool = False) -> Any:
    if jsonl:
        return lambda key, entry: emit_line(labelled(key, entry))
    return EntryPrinter(store, several=several, live=live, ids=ids).entry
