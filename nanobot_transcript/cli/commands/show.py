"""``show``: prints a whole chat as it reads now."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from nanobot_transcript.cli.terminal.chat_names import chats_named, is_called, one_chat, require_member
from nanobot_transcript.cli.terminal.entries import labelled, nothing_found, printer
from nanobot_transcript.cli.terminal.moments import SinceOption, UntilOption, moment_ms
from nanobot_transcript.cli.terminal.options import (
    ChatArgument,
    ConfigOption,
    IdsOption,
    JsonlOption,
    JsonOption,
    StoreOption,
    one_form,
    opened_store,
)
from nanobot_transcript.cli.terminal.output import emit_json
from nanobot_transcript.entry import Entry

if TYPE_CHECKING:
    from collections.abc import Callable

    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["show"]


def show(
    chat: ChatArgument = None,
    since: SinceOption = None,
    until: UntilOption = None,
    member: Annotated[
        str | None, typer.Option("--member", metavar="NAME", help="Only what this person or bot said.")
    ] = None,
    ids: IdsOption = False,
    json: JsonOption = False,
    jsonl: JsonlOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Show a whole chat as it reads now.

    Edits are applied and recalled messages left out. Exit code 1: there was nothing to show.

    \b
    Example:
      nanobot-transcript show oc_team --since 2h --member Alpha
    """
    one_form(json=json, jsonl=jsonl)
    with opened_store(config, store) as opened:
        key = one_chat(opened, chat)
        require_member(opened, key, member)
        entries = chosen(opened, key, since=since, until=until, member=member)
        if json:
            labels = [labelled(key, entry) for entry in entries]
            emit_json({**chats_named(opened, [key])[0], "entries": labels})
            found = bool(labels)
        else:
            found = _print_all(printer(opened, jsonl=jsonl, several=False, ids=ids), key, entries)
    if not found:
        nothing_found()


def chosen(
    store: "GroupTranscriptStore", key: str, *, since: str | None, until: str | None, member: str | None
) -> Iterator[Entry]:
    """The messages of a chat between two times and of one member, as far as they are given."""
    first, last = moment_ms(since), moment_ms(until)
    for entry in store.scan(key):
        if first is not None and entry["ts"] < first:
            continue
        if last is not None and entry["ts"] >= last:
            continue
        if member is None or is_called(store, entry, member):
            yield entry


def _print_all(show_entry: "Callable[[str, Entry], None]", key: str, entries: Iterator[Entry]) -> bool:
    found = False
    for entry in entries:
        found = True
        show_entry(key, entry)
    return found
