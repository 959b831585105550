"""Output to the terminal: JSON, notices, numbers, progress; never a control character from a chat."""

import json
import os
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import typer

from nanobot_transcript.cli.terminal.language import is_translated, said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.console import Console

    from nanobot_transcript.store.contract import Progress

__all__ = [
    "LOG_FORMAT",
    "amount",
    "console",
    "emit_json",
    "emit_line",
    "listed",
    "notice",
    "number",
    "printable",
    "progress_bar",
    "size",
]

# Escape sequences, other control characters, and marks that turn the direction of text around.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_NO_WRAPPING: Final = 10_000

LOG_FORMAT: Final = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
"""Of commands that run until they are stopped."""

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")


def printable(text: str) -> str:
    """Text without what a terminal would obey; line ends and tabs stay.

    >>> printable("\\x1b[31mred")
    '\ufffd[31mred'
    """
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def notice(text: str) -> None:
    """A line for the person, on stderr."""
    typer.echo(printable(text), err=True)


def emit_json(document: Any) -> None:
    """One JSON document on stdout, over several lines for a person and on one for a program."""
    indent = 2 if sys.stdout.isatty() else None
    _write(json.dumps(document, ensure_ascii=not _is_utf8(), indent=indent, default=str))


def emit_line(document: Any) -> None:
    """One JSON object on a line of its own, at once."""
    _write(json.dumps(document, ensure_ascii=not _is_utf8(), separators=(",", ":"), default=str))
    sys.stdout.flush()


def console() -> "Console":
    """Standard output for people: with colours only where they are wanted, and without markup."""
    from rich.console import Console

    class _Output(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    made = _Output(
        color_system=None if os.environ.get("NO_COLOR") else "auto", markup=False, highlight=False, emoji=False
    )
    if not made.is_terminal:
        made.width = _NO_WRAPPING
    return made


@contextmanager
def progress_bar(label: str, told: "Callable[[], str] | None" = None) -> "Iterator[Progress | None]":
    """A progress bar on stderr at a terminal, None elsewhere. ``told`` gives a text that is shown behind it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    more = (TextColumn("{task.fields[told]}"),) if told is not None else ()
    with Progress(*columns, *more, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None, told="")

        def advance(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total, told=told() if told is not None else "")

        yield advance


def number(value: int) -> str:
    """
    >>> number(1234567)
    '1,234,567'
    """
    return f"{value:,}"


def amount(value: int, noun: str) -> str:
    """
    >>> amount(1, "message"), amount(2000, "message")
    ('1 message', '2,000 messages')
    """
    one, several = f"{{count}} {noun}", f"{{count}} {noun}s"
    return said(one if value == 1 and is_translated(one) else several, count=number(value))  # Chinese has one form


def listed(names: "Iterable[str]") -> str:
    """
    >>> listed(["Alpha", "Beta"])
    'Alpha, Beta'
    """
    return said(", ").join(names)


def size(value: int) -> str:
    """
    >>> size(70000)
    '68.4 KiB'
    """
    amount, unit = float(value), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.1f} {_UNITS[unit]}" if unit else f"{value} B"


def _write(text: str) -> None:
    from nanobot_transcript.entry import well_formed

    sys.stdout.write(well_formed(text) + "\n")


def _is_utf8() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
