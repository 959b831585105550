"""Chats and members as people and programs name them."""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from nanobot_transcript.entry import Entry, well_formed
from nanobot_transcript.errors import UnknownNameError
from nanobot_transcript.platform import group_key
from nanobot_transcript.session_key import split

if TYPE_CHECKING:
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["chat_called", "chat_to_be", "in_words", "listed_chats", "one_called", "short_name", "shown_name"]

TitleOf: TypeAlias = Callable[[str], str | None]
"""Returns the title of a chat by its session key; None when unknown."""

_LISTED: Final = 10
_SHORT: Final = 11
"""A short name has at least so many characters: ``oc_`` and eight that distinguish it."""
_SHORT_ENOUGH: Final = 16
_LEAST_END: Final = 4
_LONGEST: Final = 200


def chat_called(store: "GroupTranscriptStore", name: str) -> str:
    """The session key of the chat with this name: a session key, a chat id, or the beginning or end of either.

    Raises UnknownNameError, which lists chats, when none or several match.
    """
    found = _at_once(store, name)
    return found if found is not None else one_called(name, _keys(store))


def chat_to_be(store: "GroupTranscriptStore", name: str) -> str:
    """Like ``chat_called``, but a full name may also be a chat in which nobody has said anything yet."""
    found = _at_once(store, name)
    if found is not None:
        return found
    key = name if split(name)[0] else group_key(name)
    if key is not None and not _called(name, [chat.session_key for chat in store.chats()]):
        return key
    return one_called(name, _keys(store))


def one_called(name: str, keys: Sequence[str], title_of: TitleOf = lambda key: None) -> str:
    """The one of ``keys`` with this name. Raises UnknownNameError when none or several match; it lists them with their
    titles.
    """
    found = _called(name, keys)
    if not found:
        listed = listed_chats(keys, title_of)
        raise UnknownNameError(f"There is no chat {in_words(name)}.", hint=f"There are: {listed}.")
    if len(found) > 1:
        listed = listed_chats(found, title_of)
        raise UnknownNameError(f"Several chats are called {in_words(name)}.", hint=f"Name one of: {listed}.")
    return found[0]


def short_name(key: str, keys: Sequence[str]) -> str:
    """The shortest beginning of a chat's id that means it among these ``keys``, and is long enough to go on doing so.

    >>> short_name("feishu:oc_0123456789abcdef", ["feishu:oc_0123456789abcdef", "feishu:oc_team"])
    'oc_01234567'
    """
    chat_id = split(key)[1]
    least = _SHORT if len(chat_id) > _SHORT_ENOUGH else len(chat_id)
    names = (chat_id[:length] for length in range(least, len(chat_id) + 1))
    return next((name for name in names if _called(name, keys) == [key]), key)


def listed_chats(keys: Sequence[str], title_of: TitleOf) -> str:
    """The first ten of these chats for a sentence, with their titles where known, and how many more there are."""
    told = [(in_words(key), title_of(key)) for key in keys[:_LISTED]]
    listed = ", ".join(f"{key} ({in_words(title)})" if title else key for key, title in told)
    return listed + (f" and {len(keys) - _LISTED} more" if len(keys) > _LISTED else "")


def shown_name(store: "GroupTranscriptStore", entry: Entry) -> str:
    """What to call the sender of an entry; never an id when a name is known."""
    sender = entry["sender"]
    told = (entry.get("sender_name"), entry.get("agent"))  # other programs may write anything there
    named = next((name for name in told if name and isinstance(name, str)), "")
    return store.members.name_of(sender) or named or sender or entry["role"]


def in_words(name: str) -> str:
    """A name for use in a sentence: quoted where it could pass for more than a name, and shortened."""
    shown = well_formed(name[:_LONGEST])
    plain = shown.isprintable()
    return shown if plain and shown and " " not in shown else json.dumps(shown, ensure_ascii=not plain)


def _at_once(store: "GroupTranscriptStore", name: str) -> str | None:
    """A chat that is named in full, found without listing all chats."""
    named = [key for key in (name, group_key(name)) if key is not None]
    return next((key for key in named if store.recent(key, 1).entries), None)


def _keys(store: "GroupTranscriptStore") -> list[str]:
    keys = [chat.session_key for chat in store.chats()]
    if not keys:
        hint = (
            "Bots create it once the plugin or `nanobot-transcript run` is running; if they do not, "
            "`nanobot-transcript doctor` says why."
        )
        raise UnknownNameError(f"There is no transcript in {store.place} yet.", hint=hint)
    return keys


def _called(name: str, keys: Sequence[str]) -> list[str]:
    if name in keys:
        return [name]
    by_id = [key for key in keys if split(key)[1] == name]
    by_beginning = by_id or [key for key in keys if key.startswith(name) or split(key)[1].startswith(name)]
    return by_beginning or [key for key in keys if len(name) >= _LEAST_END and key.endswith(name)]
