"""``purge``: erases messages for good."""

import sys
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from nanobot_transcript.cli.terminal.chat_names import chat_keys, is_called, nobody_called, one_chat, shown_name
from nanobot_transcript.cli.terminal.exit_codes import NEGATIVE, UsageError
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.moments import moment_ms
from nanobot_transcript.cli.terminal.options import (
    ChatArgument,
    ConfigOption,
    JsonOption,
    StoreOption,
    opened_record,
)
from nanobot_transcript.cli.terminal.output import (
    amount,
    console,
    emit_json,
    listed,
    notice,
    number,
    printable,
    size,
)
from nanobot_transcript.cli.terminal.tables import print_table
from nanobot_transcript.store.names import listed_chats

if TYPE_CHECKING:
    from nanobot_transcript.store.contract import MaintenanceReport
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["purge"]

_WILL: Final = "{what} in {where}{when}{known} will be erased from the disk for good."


_WOULD: Final = "{what} in {where}{when}{known} would be erased from the disk for good."


@dataclass(slots=True)
class _Choice:
    """What to erase: in one chat or all, of one sender or all, before a time or all; ``titles`` by session key."""

    key: str | None
    sender: str | None
    name: str
    before_ms: float | None
    messages: Counter[str]
    titles: dict[str, str | None]

    @property
    def whole(self) -> bool:
        """True when a whole chat is erased."""
        return self.sender is None and self.before_ms is None

    @property
    def is_nothing(self) -> bool:
        """True when there is nothing to erase; a member is forgotten also without a message."""
        return not self.messages.total() and self.sender is None

    def sentence(self, form: str = _WILL) -> str:
        """What will be erased, for the person who is asked."""
        messages = amount(self.messages.total(), "message")
        what = said("{messages} of {name}", messages=messages, name=self.name) if self.name else messages
        keys = [self.key] if self.key is not None else list(self.messages)
        where = listed_chats(keys, self.titles.get) if len(keys) == 1 else amount(len(keys), "chat")
        when = said(" that are older than the given time") if self.before_ms is not None else ""
        everything = self.sender is not None and self.key is None and self.before_ms is None
        known = said(" and what the store knows of this member") if everything else ""
        whose = said("this chat") if self.sender is None else said("this member")
        waiting = said(" What the outbox has of {whose} goes, too.", whose=whose) if self.before_ms is None else ""
        return said(form, what=what, where=where, when=when, known=known) + waiting


def purge(
    chat: ChatArgument = None,
    member: Annotated[
        str | None, typer.Option("--member", metavar="NAME", help="Only what this person or bot said.")
    ] = None,
    before: Annotated[
        str | None,
        typer.Option("--before", metavar="TIME", help="Only messages older than this: 30d, monday, 2025-11-20."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be erased; nothing is changed.")
    ] = False,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Erase messages for good. Asks first.

    A chat, what a member said, or what is old; given together they narrow each other. Says what will be erased. With
    --dry-run it says no more than that, and asks and erases nothing. Exit code 1: there is nothing to erase.

    \b
    Example:
      nanobot-transcript purge oc_team --before 90d --dry-run
      nanobot-transcript purge oc_team --before 90d
    """
    if chat is None and member is None and before is None:
        raise UsageError(said("Nothing says what to erase."), hint=said("Name a chat, --member or --before."))
    with opened_record(config, store) as record:
        choice = _choose(record.store, chat, member, moment_ms(before))
        if dry_run:
            return _tell_only(choice, json=json)
        _ask(choice, yes=yes, json=json)
        reports = record.store.purge(choice.key, sender=choice.sender, before_ms=choice.before_ms)
        if choice.before_ms is None:  # old posts expire by themselves
            # Posts that wait to be sent, and the answers to them, contain text, too.
            record.outbox.forget(session_key=choice.key, sender=choice.sender)
    if json:
        emit_json({"erased": dict(choice.messages), "chats": [_document(choice, report) for report in reports]})
    else:
        freed = sum(report.dropped_bytes for report in reports)
        messages, more = amount(choice.messages.total(), "message"), f"{said(', ')}{size(freed)}" if freed else ""
        notice(said("Erased {messages}{more}.", messages=messages, more=more))
    return None


def _document(choice: _Choice, report: "MaintenanceReport") -> dict[str, Any]:
    document = asdict(report)
    return document | {"erased_entries": choice.messages[report.session_key]} if choice.whole else document


def _choose(store: "GroupTranscriptStore", chat: str | None, member: str | None, before_ms: float | None) -> _Choice:
    key = one_chat(store, chat) if chat is not None else None
    counts: dict[str, Counter[str]] = {}
    names: dict[str, str] = {}
    keys = [key] if key is not None else chat_keys(store, None)
    titles = {one: store.members.title_of(one) for one in keys}
    for one in keys:
        for entry in store.scan(one):
            if member is not None and not is_called(store, entry, member):
                continue
            whose = entry["sender"] if member is not None else ""
            names.setdefault(whose, shown_name(store, entry))
            counts.setdefault(whose, Counter())[one] += before_ms is None or entry["ts"] < before_ms
    if member is None:
        return _Choice(key, None, "", before_ms, +counts.get("", Counter()), titles)
    sender = _one_sender(store, member, names)
    return _Choice(key, sender, names.get(sender, member), before_ms, +counts.get(sender, Counter()), titles)


def _one_sender(store: "GroupTranscriptStore", member: str, names: dict[str, str]) -> str:
    known = dict.fromkeys(store.members.senders_named(member), member)
    senders = known | names
    if member in senders:
        return member
    if len(senders) > 1:
        ids = listed(f"{sender} ({name})" for sender, name in senders.items())
        sentence = said("Several members are called {name}.", name=member)
        raise UsageError(sentence, hint=said("Name one by id: {ids}.", ids=ids))
    if not senders:
        raise nobody_called(member)
    return next(iter(senders))


def _tell_only(choice: _Choice, *, json: bool) -> None:
    """What would be erased, on stdout."""
    if json:
        emit_json({"would_erase": dict(choice.messages)})
    elif not choice.is_nothing:
        console().print(printable(choice.sentence(_WOULD)), soft_wrap=True)
        if len(choice.messages) > 1:
            rows = [
                [printable(key), printable(choice.titles[key] or ""), number(count)]
                for key, count in choice.messages.most_common()
            ]
            print_table(["chat", "name", "messages"], rows, right=("messages",), shorten="chat")
    _require_something(choice)


def _require_something(choice: _Choice) -> None:
    if choice.is_nothing:
        notice(said("Nothing found, nothing to erase."))
        raise typer.Exit(NEGATIVE)


def _ask(choice: _Choice, *, yes: bool, json: bool) -> None:
    if yes:
        return
    _require_something(choice)
    if json or not sys.stdin.isatty():
        raise UsageError(
            said("Cannot ask without a terminal: {question}", question=choice.sentence()),
            hint=said("Add --yes to erase without being asked."),
        )
    notice(choice.sentence())
    if not typer.confirm(said("Erase it?"), err=True):
        notice(said("Nothing was erased."))
        raise typer.Exit(NEGATIVE)
