"""What the demo shows: the group as a chat, below it what each bot was given, and what that proves."""

import asyncio
import shlex
import sys
import time
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.output import console, notice, printable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractContextManager

    from rich.console import Console
    from rich.text import Text

    from nanobot_transcript.demo.bot import DemoBot
    from nanobot_transcript.demo.chronicle import Event
    from nanobot_transcript.demo.hosts import DemoHost
    from nanobot_transcript.demo.record import DemoPlace
    from nanobot_transcript.demo.tally import MessageTally

__all__ = ["NAME_WIDTH", "DemoScreen", "command"]

NAME_WIDTH: Final = 8
_WIDEST: Final = 100
_PLAIN_WIDTH: Final = 80
_MOST_GIVEN: Final = 4
_SPIN_SECONDS: Final = 0.5
_REMIND_SECONDS: Final = 10.0
_COLOURS: Final = {"Alpha": "bold cyan", "Beta": "bold magenta"}
_DATABASE: Final = "record: {url: 'postgresql://user:password@host:5432/name'}"
_MARGIN: Final = " " * (NAME_WIDTH + 1)


class DemoScreen:
    """Writes to standard output, with ``aside`` to standard error (where a program reads the output)."""

    def __init__(self, *, aside: bool = False) -> None:
        self._console: Console = console()
        if aside:
            self._console.file = sys.stderr
        self.live: bool = self._console.is_terminal
        self._console.width = min(self._console.width, _WIDEST) if self.live else _PLAIN_WIDTH
        self.typed_by: str = ""
        """Whose messages stand on the screen already, because they typed them there."""

        self.brief: bool = False
        """Say only how much a bot was given, and not what."""

        self.above: Callable[[], AbstractContextManager[None]] = nullcontext
        """Where to write what happens by itself, while the person may be typing."""

    @property
    def reading_seconds(self) -> float:
        """How long a person needs for a line."""
        return 0.8 if self.live else 0.0

    # -- before and after ------------------------------------------------------------------------------------

    def title(self, host: "DemoHost") -> None:
        """What this is."""
        self._line("nanobot-transcript demo", style="bold")
        what = said("{bots}, a simulated Feishu group, one shared record.", bots=said(host.title))
        self._line(what, style="dim")
        self._line()

    @asynccontextmanager
    async def starting(self, host: "DemoHost") -> "AsyncIterator[Callable[[str], None]]":
        """Progress on standard error while the bots start; call it with the name of one that is ready."""
        waiting = ["Alpha", "Beta"]
        began = time.monotonic()

        def text() -> str:
            seconds = round(time.monotonic() - began)
            names = said(" and ").join(waiting)
            starting = said("Starting {bots}, up to half a minute …", bots=names)
            return f"{starting} {seconds} s" if seconds else starting

        if self.live and sys.stderr.isatty():
            telling = asyncio.ensure_future(_spin(text))
        else:
            notice(text())
            telling = asyncio.ensure_future(_repeat(lambda: notice(text())))
        try:
            yield waiting.remove
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)

    def bot(self, bot: "DemoBot", version: str) -> None:
        """One bot is there."""
        seconds = f"{bot.started_in:.1f}"
        ready = said(
            "{version}, process {pid}, connected after {seconds} s", version=version, pid=bot.pid, seconds=seconds
        )
        self._labelled(bot.app.name, ready)

    def facts(self, model: str, record: str, page: str) -> None:
        """What else takes part."""
        self._labelled(said("model"), model)
        self._labelled(said("record"), record)
        if page:
            self._labelled(said("page"), said("{page}  (open it in a browser: the group, live)", page=page))

    def tally(self, tally: "MessageTally", place: "DemoPlace") -> None:
        """The numbers."""
        self._line()
        self._line(tally.sentence(in_a_file=not place.schema), style="bold green" if tally.exact else "bold red")

    def place(self, place: "DemoPlace", transcript: Path | None, *, follow: bool, kept: bool) -> None:
        """Where the transcript lies and how to look at it; ``follow``: while the demo goes on."""
        self._line()
        if place.schema:
            self._line(said("The transcript is in the database, in a schema of its own: {schema}", schema=place.schema))
        else:
            self._line(said("The transcript is a plain file of JSON lines:"))
            self._uncut(f"  {transcript}")
        is_over = kept and not follow
        if place.schema:
            over = "To look at it, with the same NANOBOT_TRANSCRIPT_RECORD__URL:"
            running = (
                "To look at it from another terminal while the demo runs, with the same NANOBOT_TRANSCRIPT_RECORD__URL:"
            )
        else:
            over, running = "To look at it:", "To look at it from another terminal while the demo runs:"
        self._line(said(over if is_over else running))
        tail = f"{command()} tail{' -f' if follow else ''}"
        if place.schema:
            self._uncut(f"  NANOBOT_TRANSCRIPT_RECORD__SCHEMA={place.schema} {tail}")
        else:
            self._uncut(f"  {tail} --store {shlex.quote(str(place.folder))}")

    def farewell(self, host: "DemoHost", place: "DemoPlace") -> None:
        """Say that the record is deleted now, and how to keep it."""
        self._line()
        folder = "The bots stop now, and their folder with the transcript is deleted. To keep it:"
        schema = "The bots stop now, and the schema with the transcript is dropped from the database. To keep it:"
        self._line(said(schema if place.schema else folder))
        options = "--keep" if host.name == "nanobot" else f"--host {host.name} --keep"
        self._uncut(f"  make demo ARGS={shlex.quote(options)}")
        self._uncut(f"  {command()} demo {options}")

    def settings(self, host: "DemoHost", place: "DemoPlace") -> None:
        """Say how to set up the person's own bots like these."""
        extras, lines = (f"{host.extra},postgres", (_DATABASE,)) if place.schema else (host.extra, ())
        self._line()
        self._line(said("For the same in your own groups:"))
        self._uncut(f'  pip install ".[{extras}]"')
        self._line(said("and in {file}:", file=said(host.file)))
        for line in (*lines, *host.settings):
            self._uncut(f"  {line}")

    def failure(self, message: str, hint: str, logs: "dict[Path, str]") -> None:
        """The demo did not work, and what the bots said last."""
        notice("\n" + said("The demo failed: {why}", why=message))
        if hint:
            notice(said("Hint: {hint}", hint=hint))
        for path, tail in logs.items():
            notice("\n" + said("The end of {path}:", path=path) + f"\n{tail or said('(nothing)')}")

    # -- the chat --------------------------------------------------------------------------------------------

    def act(self, number: str, title: str) -> None:
        """A heading."""
        self._line()
        self._line(f"{number}  {title}", style="bold")

    def show(self, event: "Event") -> None:
        """Something happened."""
        with self.above():
            self._show(event)

    def _show(self, event: "Event") -> None:
        if event["kind"] == "said" and event["from"] != self.typed_by:
            self._chat(event["from"], event["text"], bot=event["bot"])
        elif event["kind"] == "given":
            self._given(event["to"], event["entries"])
        elif event["kind"] == "recalled":
            self._remark("⌫ " + said("{name} took a message back", name=event["from"]))

    def verdict(self, text: str) -> None:
        """What was just proven."""
        self._remark(f"✓ {text}", "green")

    def noted(self, title: str, lines: "list[str]") -> None:
        """What can be read somewhere, below the chat; to its end, because the point often stands there."""
        first, *rest = self._wrapped(said("{title}:", title=title), len(_MARGIN) + 4)
        self._quote(f"┌ {first}")
        for line in rest:
            self._quote(f"│ {line}")
        for line in lines:
            first, *rest = self._wrapped(printable(line), len(_MARGIN) + 6)
            self._quote(f"│ {first}")
            for more in rest:
                self._quote(f"│   {more}")

    def remark(self, text: str) -> None:
        """A word of the demo itself."""
        self._remark(text)

    def table(self, rows: "list[tuple[str, ...]]") -> None:
        """Rows of short texts below the chat."""
        from rich.table import Table

        made = Table.grid(padding=(0, 2, 0, 0))
        for row in rows:
            made.add_row(_MARGIN[:-1], *(self._styled(printable(cell)) for cell in row))
        self._console.print(made)

    # -- inside ----------------------------------------------------------------------------------------------

    def _chat(self, name: str, text: str, *, bot: bool) -> None:
        style = _COLOURS.get(name, "bold" if bot else "yellow")
        self._barred(self._styled(name, style), printable(text))

    def _given(self, bot: str, entries: "list[dict[str, Any]]") -> None:
        if not entries:
            return
        one = said("the record puts 1 entry into {bot}'s prompt", bot=bot)
        more = said("the record puts {count} entries into {bot}'s prompt", count=len(entries), bot=bot)
        title = one if len(entries) == 1 else more
        if self.brief:
            self._quote(f"┌ {title}")
            return
        self._quote("┌ " + said("{title}:", title=title))
        if len(entries) > _MOST_GIVEN:
            self._quote("│ … " + said("{count} earlier", count=len(entries) - _MOST_GIVEN))
        for entry in entries[-_MOST_GIVEN:]:
            text = " ".join(printable(entry["text"]).split())
            self._quote(f"│ {printable(entry['name'])}: {text}")

    def _barred(self, name: "Text", text: str) -> None:
        """``name │ text``, the bar going on through every line of the text."""
        from rich.text import Text

        name.truncate(NAME_WIDTH, overflow="ellipsis")
        name.align("right", NAME_WIDTH)
        bar = self._styled(" │ ", "dim")
        for line in self._wrapped(text, NAME_WIDTH + 3):
            self._console.print(Text.assemble(name, bar, line))
            name = Text(" " * NAME_WIDTH)

    def _remark(self, text: str, style: str = "dim") -> None:
        for number, line in enumerate(self._wrapped(text, len(_MARGIN) + 2)):
            self._console.print(_MARGIN + ("  " if number else "") + line, style=style)

    def _quote(self, text: str) -> None:
        """One line, cut where the screen ends."""
        line = self._styled(f"{_MARGIN}  {text}", "dim")
        line.truncate(self._console.width - 1, overflow="ellipsis")
        self._console.print(line)

    def _wrapped(self, text: str, indent: int) -> list[str]:
        from nanobot_transcript.cli.terminal.line_breaks import wrap

        return wrap(text, self._console.width - indent - 1)

    def _labelled(self, label: str, text: str) -> None:
        from rich.cells import set_cell_size
        from rich.text import Text

        name = self._styled(set_cell_size(label, NAME_WIDTH), _COLOURS.get(label, ""))
        self._console.print(Text.assemble("  ", name, self._styled(text, "dim")), soft_wrap=True)

    def _line(self, text: str = "", style: str = "") -> None:
        for line in self._wrapped(text, 0):
            self._console.print(line, style=style)

    def _uncut(self, text: str) -> None:
        """A line that can be copied: the terminal breaks it, we do not."""
        self._console.print(self._styled(text), soft_wrap=True)

    def _styled(self, text: str, style: str = "") -> "Text":
        from rich.text import Text

        return Text(text, style=style)


async def _spin(text: "Callable[[], str]") -> None:
    """A line at a terminal that is written anew and is gone at the end."""
    from rich.console import Console

    with Console(stderr=True).status(text()) as status:
        while True:
            await asyncio.sleep(_SPIN_SECONDS)
            status.update(text())


async def _repeat(tell: "Callable[[], None]") -> None:
    """A further line now and then, for whoever wonders."""
    while True:
        await asyncio.sleep(_REMIND_SECONDS)
        tell()


def command() -> str:
    """How to call this program again, from any folder and with any PATH."""
    called = Path(sys.argv[0]).absolute()
    if called.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m nanobot_transcript.cli"
    return shlex.quote(str(called))
