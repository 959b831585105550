"""``tail``: the newest messages, live if wanted."""

import asyncio
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nanobot_transcript.cli.terminal.chat_names import chat_keys, chats_named
from nanobot_transcript.cli.terminal.entries import labelled, printer
from nanobot_transcript.cli.terminal.exit_codes import UsageError
from nanobot_transcript.cli.terminal.language import said
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
from nanobot_transcript.cli.terminal.output import emit_json, notice
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import StoreBusyError
from nanobot_transcript.sql.outage import AwayError

if TYPE_CHECKING:
    from collections.abc import Callable

    from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["tail"]

_LOOK_FOR_CHATS = 1.0
_AWAY = (AwayError, StoreBusyError)


def tail(
    chat: ChatArgument = None,
    lines: Annotated[
        int, typer.Option("-n", "--lines", metavar="N", min=0, help="How many messages to show, the newest.")
    ] = 20,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Keep showing new messages until Ctrl-C.")] = False,
    ids: IdsOption = False,
    json: JsonOption = False,
    jsonl: JsonlOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Show the newest messages, live with -f.

    Without a chat: of all chats, with -f also of those that begin later. -f waits for a store that is not there yet.
    On a terminal the name of each chat stands above its messages, with a short name that other commands take.

    \b
    Example:
      nanobot-transcript tail -f oc_team
    """
    one_form(json=json, jsonl=jsonl)
    if follow and json:
        raise UsageError(said("--json prints one document, and --follow has no end."), hint=said("Use --jsonl."))
    with opened_store(config, store, may_begin=follow) as opened:
        waiting = follow and chat is None and not opened.chats()
        if waiting and sys.stderr.isatty():
            notice(said("Waiting for the first message in {place}. Ctrl-C ends it.", place=opened.place))
        keys = [] if waiting else chat_keys(opened, chat)
        newest, cursors = _newest(opened, keys, lines)
        if json:
            entries = [labelled(key, entry) for key, entry in newest]
            emit_json({"entries": entries, "cursors": cursors, "chats": chats_named(opened, keys)})
            return
        several = chat is None and (follow or len(keys) > 1)
        show_entry = printer(opened, jsonl=jsonl, several=several, live=follow, ids=ids)
        if follow:
            from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore

            door = AsyncGroupTranscriptStore.over(opened)
            asyncio.run(_follow(door, newest, cursors, show_entry, new_chats=chat is None))
        else:
            for key, entry in newest:
                show_entry(key, entry)


def _newest(
    store: "GroupTranscriptStore", keys: list[str], lines: int
) -> tuple[list[tuple[str, Entry]], dict[str, str]]:
    pages = {key: store.recent(key, lines) for key in keys}
    entries = [(key, entry) for key, page in pages.items() for entry in page.entries]
    if len(keys) > 1:
        entries.sort(key=lambda pair: pair[1]["ts"])
    newest = entries[-lines:] if lines else []
    return newest, {key: page.cursor for key, page in pages.items()}


async def _follow(
    store: "AsyncGroupTranscriptStore",
    newest: list[tuple[str, Entry]],
    cursors: dict[str, str],
    show_entry: "Callable[[str, Entry], None]",
    *,
    new_chats: bool,
) -> None:
    """Print the newest messages, then new ones of these chats, and with ``new_chats`` of every chat that begins later.
    Never ends. Also prints the first ones on the event loop, so that Ctrl-C works alike from the first line on.
    """
    for key, entry in newest:
        show_entry(key, entry)
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
    store: "AsyncGroupTranscriptStore",
    known: set[str],
    news: "asyncio.Queue[tuple[str, Entry]]",
    tasks: asyncio.TaskGroup,
    listen: Any,
) -> None:
    """Follow chats that begin later. An outage of the database is waited out, as ``follow`` does; it is in the log."""

    async def begin(key: str) -> None:
        cursor: str | None = None
        while True:
            with suppress(*_AWAY):
                page = await store.read(key, cursor)
                for entry in page.entries:
                    await news.put((key, entry))
                cursor = page.cursor
                if not page.entries:
                    break
                continue
            await asyncio.sleep(_LOOK_FOR_CHATS)
        await listen(key, cursor)

    while True:
        with suppress(*_AWAY):
            for chat in await store.chats():
                if chat.session_key not in known:
                    known.add(chat.session_key)
                    tasks.create_task(begin(chat.session_key))
        await asyncio.sleep(_LOOK_FOR_CHATS)
