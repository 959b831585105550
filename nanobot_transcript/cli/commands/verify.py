"""``verify``: reads every line of the record, and repairs what can be repaired."""

import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from nanobot_transcript.cli.terminal.chat_names import chat_keys
from nanobot_transcript.cli.terminal.exit_codes import NEGATIVE
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.options import (
    ChatArgument,
    ConfigOption,
    JsonOption,
    StoreOption,
    opened_store,
)
from nanobot_transcript.cli.terminal.output import (
    amount,
    console,
    emit_json,
    notice,
    number,
    printable,
    progress_bar,
    size,
)
from nanobot_transcript.cli.terminal.tables import print_table

if TYPE_CHECKING:
    from nanobot_transcript.store.contract import VerifyReport

__all__ = ["verify"]


def verify(
    chat: ChatArgument = None,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Read every line and repair what can be repaired.

    Counts lines and messages of one chat or all, and explains what is wrong. Half lines left by killed processes are
    closed and do no harm. Exit code 1: something is wrong that was not repaired.

    \b
    Example:
      nanobot-transcript verify
    """
    with opened_store(config, store) as opened:
        keys = chat_keys(opened, chat)
        reports: list[VerifyReport] = []
        with progress_bar(said("Reading")) as advance:
            for done, key in enumerate(keys):
                reports.append(opened.verify(key))
                if advance is not None:
                    advance(done + 1, len(keys))
    ok = all(report.ok for report in reports)
    if json:
        emit_json({"ok": ok, "chats": [asdict(report) | {"ok": report.ok} for report in reports]})
    else:
        _print_reports(reports)
    if any(report.read_only for report in reports):
        notice(said("{place} is read-only: what could be repaired was left as it is.", place=opened.place))
    if not ok:
        raise typer.Exit(NEGATIVE)


def _print_reports(reports: "list[VerifyReport]") -> None:
    numbers = ("segments", "size", "lines", "messages", "changes")
    print_table(["", "chat", *numbers], [_row(report) for report in reports], right=numbers, shorten="chat")
    from nanobot_transcript.cli.terminal.line_breaks import wrap

    out = console()
    for report in reports:
        explained = _explained(report)
        if explained:
            out.print(f"{_sign(report)} {printable(report.session_key)}", soft_wrap=True)
        for sentence in explained:
            out.print(
                textwrap.indent("\n".join(wrap(printable(sentence), out.width - 4, whole=True)), "    "), soft_wrap=True
            )


def _row(report: "VerifyReport") -> list[str]:
    counts = (report.lines, report.entries, report.ops)
    sizes = [number(report.segments), size(report.bytes)]
    return [_sign(report), printable(report.session_key), *sizes, *(number(count) for count in counts)]


def _sign(report: "VerifyReport") -> str:
    return "✓" if report.ok else "✗"


def _explained(report: "VerifyReport") -> list[str]:
    """What was found, as sentences."""
    found = [said("repaired: {sentence}.", sentence=sentence) for sentence in report.healed]
    found += [said("not repaired: {sentence}.", sentence=sentence) for sentence in report.unmended]
    if report.torn_lines:
        half = amount(report.torn_lines, "half line")
        found.append(half + said(", left by a process that was killed while writing; ignored by readers."))
    if report.foreign_lines:
        foreign = amount(report.foreign_lines, "foreign line")
        found.append(foreign + said(", not written by this program; left in place, ignored by readers."))
    if report.duplicates:
        doubled = amount(report.duplicates, "duplicate message")
        found.append(doubled + said(", with the id of an earlier one; another program wrote to the file."))
    return found
