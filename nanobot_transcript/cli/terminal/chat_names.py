"""Chats and members as people name them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nanobot_transcript.cli.terminal.command_hints import again, elsewhere
from nanobot_transcript.cli.terminal.exit_codes import UsageError
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import UnknownNameError
from nanobot_transcript.store.names import listed_chats, one_called, short_name, shown_name

if TYPE_CHECKING:
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = [
    "chat_keys",
    "chats_named",
    "is_called",
    "nobody_called",
    "one_chat",
    "require_member",
    "shown_name",
]


def one_chat(store: "GroupTranscriptStore", name: str | None) -> str:
    """The session key of the chat a person named; without a name the only one. Raises UsageError."""
    keys = chat_keys(store, name)
    if len(keys) > 1:
        chats = listed_chats(keys, store.members.title_of)
        raise UsageError(said("There are several chats."), hint=said("Name one of: {chats}.", chats=chats))
    return keys[0]


def chat_keys(store: "GroupTranscriptStore", name: str | None) -> list[str]:
    """The chat a person named by session key, chat id, or the beginning or end of either; all chats without a name.

    Raises UsageError when there is none or several are called so.
    """
    keys = [chat.session_key for chat in store.chats()]
    if not keys:
        hint = said(
            "Bots create it once the plugin or `nanobot-transcript run` is running; if they do not, "
            "`{doctor}` says why. {elsewhere}",
            doctor=again("doctor"),
            elsewhere=elsewhere(),
        )
        raise UsageError(said("There is no transcript in {place} yet.", place=store.place), hint=hint.rstrip())
    if name is None:
        return keys
    try:
        return [one_called(name, keys, store.members.title_of)]
    except UnknownNameError as error:
        raise UsageError(str(error), hint=error.hint) from error


def chats_named(store: "GroupTranscriptStore", keys: Sequence[str]) -> list[dict[str, Any]]:
    """How these chats can be named, for JSON; a title is null where nobody knows it."""
    known = [chat.session_key for chat in store.chats()]
    return [
        {"session_key": key, "title": store.members.title_of(key), "short_name": short_name(key, known)} for key in keys
    ]


def is_called(store: "GroupTranscriptStore", entry: Entry, name: str) -> bool:
    """True when a person would call the sender of an entry ``name`` (an id is good, too; case does not count)."""
    wanted = name.casefold()
    names = (entry["sender"], entry.get("sender_name"), entry.get("agent"), store.members.name_of(entry["sender"]))
    return any(known.casefold() == wanted for known in names if known)


def require_member(store: "GroupTranscriptStore", key: str, name: str | None) -> None:
    """Raise UsageError when neither the store nor the chat knows anybody whom a person would call ``name``."""
    if name is None or store.members.senders_named(name):
        return
    if not any(is_called(store, entry, name) for entry in store.scan(key)):
        raise nobody_called(name)


def nobody_called(name: str) -> UsageError:
    """The error of a member whom nobody knows."""
    return UsageError(
        said("Nobody is called {name}.", name=name),
        hint=said("`{stats}` lists the members.", stats=again("stats", "CHAT")),
    )
