"""``tail`` and ``show``: the newest messages, live if wanted, and whole chats."""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nanobot_transcript.cli.moments import SinceOption, UntilOption, moment_ms
from nanobot_transcript.cli.naming import chat_keys, is_called, one_chat
from nanobot_transcript.cli.options import (
    ChatArgument,
    ConfigOption,
    JsonlOption,
    JsonOption,
    StoreOption,
    opened_store,
)
from nanobot_transcript.cli.output import emit_json, emit_line
from nanobot_transcript.cli.problems import NEGATIVE, UsageError
from nanobot_transcript.cli.view import View
from nanobot_transcript.entry import Entry

if TYPE_CHECKING:
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["chosen", "labelled", "show", "tail"]

_LOOK_FOR_CHATS = 1.0


def tail(
    chat: ChatArgument = None,
    lines: Annotated[
        int, typer.Option("-n", "--lines", metavar="N", min=0, help="How many of the newest messages.")
    ] = 20,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on with each new message until Ctrl-C.")] = False,
    json: JsonOption = False,
    jsonl: JsonlOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Show the newest messages, live with -f.

    Without a chat: of all chats, also of those that begin later.

    \b
    Example:
      nanobot-transcript tail -f oc_team
    """
    if follow and json:
        raise UsageError("--json prints one document, and --follow has no end.", hint="Use --jsonl.")
    with opened_store(config, store) as opened:
        waiting = follow and chat is None and not opened.chats()
        keys = [] if waiting else chat_keys(opened, chat)
        newest, cursors = _newest(opened, keys, lines)
        if json:
            emit_json({"entries": [labelled(key, entry) for key, entry in newest], "cursors": cursors})
            return
        show_entry = _printer(opened, jsonl=jsonl, several=chat is None and (follow or len(keys) > 1))
        for key, entry in newest:
            show_entry(key, entry)
        if follow:
            asyncio.run(_follow(opened, cursors, show_entry, new_chats=chat is None))


def show(
    chat: ChatArgument = None,
    since: SinceOption = None,
    until: UntilOption = None,
    member: Annotated[
        str | None, typer.Option("--member", metavar="NAME", help="Only what this person or bot said.")
    ] = None,
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
    with opened_store(config, store) as opened:
        key = one_chat(opened, chat)
        entries = chosen(opened, key, since=since, until=until, member=member)
        if json:
            emit_json({"session_key": key, "entries": list(entries)})
            return
        show_entry = _printer(opened, jsonl=jsonl, several=False)
        found = False
        for entry in entries:
            found = True
            show_entry(key, entry)
    if not found:
        raise typer.Exit(NEGATIVE)


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


def labelled(key: str, entry: Entry) -> dict[str, Any]:
    """An entry with the key of its chat, for JSON."""
    return {"session_key": key, **entry}


def _newest(
    store: "GroupTranscriptStore", keys: list[str], lines: int
) -> tuple[list[tuple[str, Entry]], dict[str, str]]:
    pages = {key: store.recent(key, lines) for key in keys}
    entries = [(key, entry) for key, page in pages.items() for entry in page.entries]
    if len(keys) > 1:
        entries.sort(key=lambda pair: pair[1]["ts"])
    newest = entries[-lines:] if lines else []
    return newest, {key: page.cursor for key, page in pages.items()}


def _printer(store: "GroupTranscriptStore", *, jsonl: bool, several: bool) -> Any:
    if jsonl:
        return lambda key, entry: emit_line(labelled(key, entry))
    return View(store, several=several).entry


async def _follow(store: "GroupTranscriptStore", cursors: dict[str, str], show_entry: Any, *, new_chats: bool) -> None:
    """Print what comes in these chats, and with ``new_chats`` in every chat that begins later. Never ends."""
    news: asyncio.Queue[tuple[str, Entry]] = asyncio.Queue(maxsize=1000)

    async def listen(key: str, cursor: str) -> None:
        async for entry in store.follow(key, cursor):
            await news.put((key, entry))

    async with asyncio.TaskGroup() as tasks:
        for key, cursor in cursors.items():
            tasks.create_task(listen(key, cursor))
        if new_chats:
            tasks.create_task(_watch_for_chats(store, set(cursors), news, tasks, listen))
        while True:
            show_entry(*await news.get())


async def _watch_for_chats(
    store: "GroupTranscriptStore",
    known: set[str],
    news: "asyncio.Queue[tuple[str, Entry]]",
    tasks: asyncio.TaskGroup,
    listen: Any,
) -> None:
    while True:
        for chat in store.chats():
            if chat.session_key in known:
                continue
            known.add(chat.session_key)
            page = store.read(chat.session_key)
            while page.entries:
                for entry in page.entries:
                    await news.put((chat.session_key, entry))
                page = store.read(chat.session_key, page.cursor)
            tasks.create_task(listen(chat.session_key, page.cursor))
        await asyncio.sleep(_LOOK_FOR_CHATS)
