"""``export``: writes a chat as JSONL or Markdown."""

import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TextIO

import typer

from nanobot_transcript.cli.terminal.chat_names import is_called, one_chat, require_member
from nanobot_transcript.cli.terminal.exit_codes import UsageError
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.moments import SinceOption, UntilOption, moment_ms
from nanobot_transcript.cli.terminal.options import ChatArgument, ConfigOption, StoreOption, opened_store
from nanobot_transcript.cli.terminal.output import amount, emit_json, notice, progress_bar
from nanobot_transcript.entry import Entry

if TYPE_CHECKING:
    from collections.abc import Callable

    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["export"]


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


def _wanted(
    store: "GroupTranscriptStore", since: str | None, until: str | None, member: str | None
) -> "Callable[[Entry], bool]":
    first, last = moment_ms(since), moment_ms(until)

    def wanted(entry: Entry) -> bool:
        in_time = (first is None or entry["ts"] >= first) and (last is None or entry["ts"] < last)
        return in_time and (member is None or is_called(store, entry, member))

    return wanted


def _utf8_stdout() -> TextIO:
    """Standard output in UTF-8, like all exports, whatever the terminal's encoding is."""
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
