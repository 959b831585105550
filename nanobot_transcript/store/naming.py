"""Chats and members as people and programs name them."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from nanobot_transcript.entry import Entry, well_formed
from nanobot_transcript.errors import UnknownNameError
from nanobot_transcript.platform import group_key
from nanobot_transcript.session_key import split

if TYPE_CHECKING:
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["chat_called", "chat_to_be", "in_words", "one_called", "shown_name"]

_LISTED: Final = 10
_LONGEST: Final = 200


def chat_called(store: "GroupTranscriptStore", name: str) -> str:
    """The session key of the chat that is named by session key, chat id, or the beginning of either.

    Raises UnknownNameError, which names chats, when there is none or several begin so.
    """
    found = _at_once(store, name)
    return found if found is not None else one_called(name, _keys(store))


def chat_to_be(store: "GroupTranscriptStore", name: str) -> str:
    """Like ``chat_called``; what is named in full may also be a chat in which nobody has said anything yet."""
    found = _at_once(store, name)
    if found is not None:
        return found
    key = name if split(name)[0] else group_key(name)
    if key is not None and not _called(name, [chat.session_key for chat in store.chats()]):
        return key
    return one_called(name, _keys(store))


def one_called(name: str, keys: Sequence[str]) -> str:
    """The one of ``keys`` that is named. Raises UnknownNameError when there is none or several begin so."""
    found = _called(name, keys)
    if not found:
        raise UnknownNameError(f"There is no chat {in_words(name)}.", hint=f"There are: {_listed(keys)}.")
    if len(found) > 1:
        raise UnknownNameError(f"Several chats are called {in_words(name)}.", hint=f"Name one of: {_listed(found)}.")
    return found[0]


def shown_name(store: "GroupTranscriptStore", entry: Entry) -> str:
    """What to call the sender of an entry: never an id where a name is known."""
    sender = entry["sender"]
    told = (entry.get("sender_name"), entry.get("agent"))  # lines that other programs wrote may hold anything there
    named = next((name for name in told if name and isinstance(name, str)), "")
    return store.members.name_of(sender) or named or sender or entry["role"]


def in_words(name: str) -> str:
    """A name as it may stand in a sentence of ours: quoted where it could pass for more than a name, and bounded."""
    shown = well_formed(name[:_LONGEST])
    plain = shown.isprintable()
    return shown if plain and shown and " " not in shown else json.dumps(shown, ensure_ascii=not plain)


def _at_once(store: "GroupTranscriptStore", name: str) -> str | None:
    """A chat that is named in full, found without listing all there are."""
    named = [key for key in (name, group_key(name)) if key is not None]
    return next((key for key in named if store.recent(key, 1).entries), None)


def _keys(store: "GroupTranscriptStore") -> list[str]:
    keys = [chat.session_key for chat in store.chats()]
    if not keys:
        hint = (
            "Bots write it once the plugin or `nanobot-transcript run` runs; "
            "`nanobot-transcript doctor` finds out why they do not."
        )
        raise UnknownNameError(f"There is no transcript in {store.place} yet.", hint=hint)
    return keys


def _called(name: str, keys: Sequence[str]) -> list[str]:
    if name in keys:
        return [name]
    by_id = [key for key in keys if split(key)[1] == name]
    return by_id or [key for key in keys if key.startswith(name) or split(key)[1].startswith(name)]


def _listed(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - _LISTED} more" if len(keys) > _LISTED else ""
    return ", ".join(map(in_words, keys[:_LISTED])) + more
