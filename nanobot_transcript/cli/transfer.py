"""``export`` and ``import``: transcripts out of the store and other records into it."""

import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO

import typer

from nanobot_transcript.cli.language import said
from nanobot_transcript.cli.moments import SinceOption, UntilOption, day_called, moment_ms
from nanobot_transcript.cli.naming import is_called, one_chat, require_member
from nanobot_transcript.cli.options import ChatArgument, ConfigOption, JsonOption, StoreOption, opened_store
from nanobot_transcript.cli.output import amount, emit_json, listed, notice, number, progress_bar
from nanobot_transcript.cli.problems import NEGATIVE, UsageError
from nanobot_transcript.entry import Entry
from nanobot_transcript.platform import group_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from nanobot_transcript.store.exchange import ImportReport
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["export", "import_"]

_SHOWN_BAD_LINES = 5


def export(
    chat: ChatArgument = None,
    kind: Annotated[Literal["jsonl", "markdown"], typer.Option("--format", help="What to write.")] = "jsonl",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write to a new file that only you can read, not to stdout.",
            readable=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it is already there.")] = False,
    since: SinceOption = None,
    until: UntilOption = None,
    member: Annotated[
        str | None, typer.Option("--member", metavar="NAME", help="Only what this person or bot said.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON summary; needs --output.")] = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Write a chat as JSONL or Markdown.

    JSONL can be imported again; Markdown is for people. Recalled messages are left out.

    \b
    Example:
      nanobot-transcript export oc_team --format markdown -o team.md
    """
    if json and output is None:
        raise UsageError(said("--json prints a summary, so the chat itself needs a file."), hint=said("Add -o FILE."))
    from nanobot_transcript.store.exchange import export_chat

    with opened_store(config, store) as opened, progress_bar(said("Exporting")) as progress:
        key = one_chat(opened, chat)
        wanted = _wanted(opened, since, until, member)
        require_member(opened, key, member)
        if output is None:
            count = export_chat(opened, key, _utf8_stdout(), kind, wanted=wanted)
        else:
            with _created(output, force=force) as file:
                count = export_chat(opened, key, file, kind, wanted=wanted, progress=progress)
    if json:
        emit_json({"session_key": key, "format": kind, "messages": count, "file": str(output)})
    elif output is not None:
        one, several = "{messages} of {chat} is in {file}.", "{messages} of {chat} are in {file}."
        messages = amount(count, "message")
        notice(said(one if count == 1 else several, messages=messages, chat=key, file=output))


def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="What to import.", show_default=False)],
    chat: Annotated[
        str | None,
        typer.Option(
            "--chat",
            metavar="KEY",
            help="Session key or oc_… id to append to; not needed for files named like feishu_oc_x.jsonl.",
        ),
    ] = None,
    kind: Annotated[
        Literal["auto", "jsonl", "irc", "text"], typer.Option("--format", help="What the files hold.")
    ] = "auto",
    bots: Annotated[
        list[str] | None,
        typer.Option("--bot", metavar="NAME", help="A name in the log that is a bot; may be given several times."),
    ] = None,
    day: Annotated[
        str | None,
        typer.Option("--date", metavar="DAY", help="Date of a log that has only times: 2025-11-20."),
    ] = None,
    encoding: Annotated[
        str, typer.Option("--encoding", metavar="NAME", help="Encoding of logs, such as gb18030.")
    ] = "utf-8",
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Append other records to a chat.

    JSONL transcripts, IRC logs and plain text logs; what is there already is left out, so importing a file twice does
    no harm. Exit code 1: some lines could not be understood.

    \b
    Example:
      nanobot-transcript import old-chat.txt --chat feishu:oc_team --bot Alpha
    """
    from nanobot_transcript.store.exchange import import_file

    first_day = day_called(day) if day is not None else None
    reports: list[tuple[Path, ImportReport]] = []
    with opened_store(config, store, may_begin=True, spooled=False) as opened:
        names = {bot.name for bot in opened.members.bots()} | set(bots or ())
        for path in files:
            key = _target(path, chat)
            with progress_bar(path.name) as progress:
                report = import_file(
                    opened, path, key, kind=kind, bots=names, day=first_day, encoding=encoding, progress=progress
                )
            reports.append((path, report))
            if not json:
                _tell(path, report)
    if json:
        emit_json({"imports": [_document(path, report) for path, report in reports]})
    if any(report.bad for _, report in reports):
        raise typer.Exit(NEGATIVE)


def _wanted(
    store: "GroupTranscriptStore", since: str | None, until: str | None, member: str | None
) -> "Callable[[Entry], bool]":
    first, last = moment_ms(since), moment_ms(until)

    def wanted(entry: Entry) -> bool:
        in_time = (first is None or entry["ts"] >= first) and (last is None or entry["ts"] < last)
        return in_time and (member is None or is_called(store, entry, member))

    return wanted


def _utf8_stdout() -> TextIO:
    """Standard output in the encoding of all exports, whatever the terminal's is."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    return sys.stdout


def _created(path: Path, *, force: bool) -> TextIO:
    """A new file for an export, readable by nobody else. Raises UsageError."""
    new = os.O_TRUNC if force or (path.exists() and not path.is_file()) else os.O_EXCL  # a pipe, /dev/null
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | new | os.O_CLOEXEC, 0o600)
        return os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="\n")
    except FileExistsError as error:
        hint = said("Name another file, or add --force.")
        raise UsageError(said("{path} is already there.", path=path), hint=hint) from error
    except OSError as error:
        sentence = said("Cannot write {path}: {why}.", path=path, why=error.strerror)
        raise UsageError(sentence, hint=said("Name another file.")) from error


def _target(path: Path, chat: str | None) -> str:
    from nanobot_transcript.store.exchange import session_key_of

    key = (group_key(chat) or chat) if chat else session_key_of(path)
    if key is None:
        raise UsageError(
            said("{file} does not say which chat it belongs to.", file=path.name),
            hint=said("Add --chat, such as --chat feishu:oc_team."),
        )
    return key


def _tell(path: Path, report: "ImportReport") -> None:
    parts = [said("{count} new", count=number(report.written)), said("{count} known", count=number(report.known))]
    parts += [said("{count} skipped", count=number(report.skipped))] if report.skipped else []
    parts += [said("{count} not understood", count=number(report.bad))] if report.bad else []
    what = f"{path.name} → {report.session_key} ({report.format})"
    notice(said("{what}: {parts}.", what=what, parts=listed(parts)))
    if report.day_taken is not None:
        assumed = "  no date given, assumed {day} for the first line; use --date DAY if that is wrong."
        notice(said(assumed, day=report.day_taken))
    for line in report.bad_lines[:_SHOWN_BAD_LINES]:
        notice(said("  line {number}: {reason}: {text}", number=line.number, reason=line.reason, text=line.text))
    if report.bad > _SHOWN_BAD_LINES:
        more = number(report.bad - _SHOWN_BAD_LINES)
        notice(said("  and {count} more; --json lists the first hundred.", count=more))


def _document(path: Path, report: "ImportReport") -> dict[str, Any]:
    counts = {name: getattr(report, name) for name in ("lines", "written", "known", "skipped", "bad")}
    bad = [line._asdict() for line in report.bad_lines]
    day = str(report.day_taken) if report.day_taken is not None else None
    head = {"file": str(path), "session_key": report.session_key, "format": report.format, "day_taken": day}
    return {**head, **counts, "bad_lines": bad}
