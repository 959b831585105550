"""``search``: finds messages that contain a text."""

from typing import Annotated

import typer

from nanobot_transcript.cli.terminal.chat_names import chat_keys
from nanobot_transcript.cli.terminal.entries import EntryPrinter, labelled, nothing_found
from nanobot_transcript.cli.terminal.exit_codes import UsageError
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.options import (
    ConfigOption,
    IdsOption,
    JsonlOption,
    JsonOption,
    StoreOption,
    one_form,
    opened_store,
)
from nanobot_transcript.cli.terminal.output import emit_json, emit_line

__all__ = ["search"]


def search(
    text: Annotated[
        str,
        typer.Argument(metavar="TEXT", help="Text that the message contains; case-sensitive.", show_default=False),
    ],
    chat: Annotated[
        str | None, typer.Option("--chat", metavar="CHAT", help="Only in this chat. Default: all chats.")
    ] = None,
    limit: Annotated[
        int, typer.Option("-n", "--limit", metavar="N", min=1, help="Show at most this many, the newest.")
    ] = 20,
    ids: IdsOption = False,
    json: JsonOption = False,
    jsonl: JsonlOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Find messages that contain a text.

    Every letter must match exactly, upper and lower case too. In one chat or in all; the newest are found first.
    Exit code 1: there are none.

    \b
    Example:
      nanobot-transcript search "release" --chat oc_team
    """
    one_form(json=json, jsonl=jsonl)
    if not text:
        raise UsageError(said("There is nothing to search for."), hint=said("Give some text."))
    with opened_store(config, store) as opened:
        keys = chat_keys(opened, chat)
        key = keys[0] if chat is not None else None
        hits = opened.search(text, key, limit)
        if json:
            emit_json({"query": text, "hits": [labelled(hit.session_key, hit.entry) for hit in hits]})
        elif jsonl:
            for hit in hits:
                emit_line(labelled(hit.session_key, hit.entry))
        else:
            view = EntryPrinter(opened, several=key is None, ids=ids)
            for hit in reversed(hits):  # the newest last, next to the prompt
                view.entry(hit.session_key, hit.entry)
    if not hits:
        nothing_found()
