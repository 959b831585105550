"""``import``: appends other records to a chat."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from nanobot_transcript.cli.terminal.exit_codes import NEGATIVE, UsageError
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.moments import day_called
from nanobot_transcript.cli.terminal.options import ConfigOption, JsonOption, StoreOption, opened_store
from nanobot_transcript.cli.terminal.output import emit_json, listed, notice, number, progress_bar
from nanobot_transcript.platform import group_key

if TYPE_CHECKING:
    from nanobot_transcript.store.exchange import ImportReport

__all__ = ["import_"]

_SHOWN_BAD_LINES = 5


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
