"""``verify`` and ``purge``: is the record sound, and erasing from it."""

import sys
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nanobot_transcript.cli.moments import moment_ms
from nanobot_transcript.cli.naming import chat_keys, is_called, one_chat, shown_name
from nanobot_transcript.cli.options import ChatArgument, ConfigOption, JsonOption, StoreOption, opened_store
from nanobot_transcript.cli.output import console, emit_json, notice, number, printable, progress_bar, size, table
from nanobot_transcript.cli.problems import NEGATIVE, UsageError

if TYPE_CHECKING:
    from nanobot_transcript.store.contract import VerifyReport
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["purge", "verify"]


def verify(
    chat: ChatArgument = None,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Read every line and mend what can be.

    Counts lines, messages, doubled ids, torn and foreign lines of a chat or of all. Exit code 1: something is wrong.

    \b
    Example:
      nanobot-transcript verify
    """
    with opened_store(config, store) as opened:
        keys = chat_keys(opened, chat)
        reports: list[VerifyReport] = []
        with progress_bar("Reading") as advance:
            for done, key in enumerate(keys):
                reports.append(opened.verify(key))
                if advance is not None:
                    advance(done + 1, len(keys))
    if json:
        emit_json({"ok": all(r.ok for r in reports), "chats": [asdict(r) | {"ok": r.ok} for r in reports]})
    else:
        _print_reports(reports)
    if not all(report.ok for report in reports):
        raise typer.Exit(NEGATIVE)


@dataclass(slots=True)
class _Choice:
    """What a purge is to erase: in one chat or all, of one sender or all, before a time or ever."""

    key: str | None
    sender: str | None
    name: str
    before_ms: float | None
    messages: Counter[str]

    def sentence(self) -> str:
        """What will be erased, for the person who is asked."""
        what = f"{number(self.messages.total())} messages{f' of {self.name}' if self.name else ''}"
        where = self.key or (f"{len(self.messages)} chats" if len(self.messages) != 1 else next(iter(self.messages)))
        when = " that are older than the given time" if self.before_ms is not None else ""
        everything = self.sender is not None and self.key is None and self.before_ms is None
        known = " and what the store knows of this member" if everything else ""
        return f"{what} in {where}{when}{known} will be erased from the disk for good."


def purge(
    chat: ChatArgument = None,
    member: Annotated[
        str | None, typer.Option("--member", metavar="NAME", help="Only what this person or bot said.")
    ] = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="TIME", help="Only what is older: 30d, 2025-11-20.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Erase messages for good. Asks first.

    A chat, what a member said, or what is old; given together they narrow each other. Says what will be erased.

    \b
    Example:
      nanobot-transcript purge oc_team --before 90d
    """
    if chat is None and member is None and before is None:
        raise UsageError("Nothing says what to erase.", hint="Name a chat, --member or --before.")
    with opened_store(config, store) as opened:
        choice = _choose(opened, chat, member, moment_ms(before))
        _ask(choice, yes=yes, json=json)
        reports = opened.purge(choice.key, sender=choice.sender, before_ms=choice.before_ms)
    if json:
        emit_json({"erased": dict(choice.messages), "chats": [asdict(report) for report in reports]})
    else:
        freed = sum(report.dropped_bytes for report in reports)
        notice(f"Erased {number(choice.messages.total())} messages{f', {size(freed)}' if freed else ''}.")


def _choose(store: "GroupTranscriptStore", chat: str | None, member: str | None, before_ms: float | None) -> _Choice:
    key = one_chat(store, chat) if chat is not None else None
    counts: dict[str, Counter[str]] = {}
    names: dict[str, str] = {}
    for one in [key] if key is not None else chat_keys(store, None):
        for entry in store.scan(one):
            if member is not None and not is_called(store, entry, member):
                continue
            whose = entry["sender"] if member is not None else ""
            names.setdefault(whose, shown_name(store, entry))
            counts.setdefault(whose, Counter())[one] += before_ms is None or entry["ts"] < before_ms
    if member is None:
        return _Choice(key, None, "", before_ms, +counts.get("", Counter()))
    sender = _one_sender(store, member, names)
    return _Choice(key, sender, names.get(sender, member), before_ms, +counts.get(sender, Counter()))


def _one_sender(store: "GroupTranscriptStore", member: str, names: dict[str, str]) -> str:
    known = dict.fromkeys(store.members.senders_named(member), member)
    senders = known | names
    if member in senders:
        return member
    if len(senders) > 1:
        listed = ", ".join(f"{sender} ({name})" for sender, name in senders.items())
        raise UsageError(f"Several members are called {member}.", hint=f"Name one by id: {listed}.")
    if not senders:
        raise UsageError(f"Nobody is called {member}.", hint="`nanobot-transcript stats CHAT` lists the members.")
    return next(iter(senders))


def _ask(choice: _Choice, *, yes: bool, json: bool) -> None:
    if yes:
        return
    if json or not sys.stdin.isatty():
        raise UsageError(
            f"Nobody is there to confirm: {choice.sentence()}", hint="Add --yes to erase without being asked."
        )
    notice(choice.sentence())
    if not typer.confirm("Erase it?", err=True):
        notice("Nothing was erased.")
        raise typer.Exit(NEGATIVE)


def _print_reports(reports: "list[VerifyReport]") -> None:
    numbers = ("segments", "size", "lines", "messages", "changes", "doubled", "torn", "foreign")
    made = table("", "chat", *numbers, right=numbers)
    for report in reports:
        made.add_row("✓" if report.ok else "✗", printable(report.session_key), *_numbers(report))
    out = console()
    out.print(made)
    for report in reports:
        for sentence in report.healed:
            out.print(f"mended {printable(report.session_key)}: {printable(sentence)}")


def _numbers(report: "VerifyReport") -> list[Any]:
    counts = (report.lines, report.entries, report.ops, report.duplicates, report.torn_lines, report.foreign_lines)
    return [number(report.segments), size(report.bytes), *(number(count) for count in counts)]
