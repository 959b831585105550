"""The ids of a message, and the keys under which a backend indexes its line."""

from collections.abc import Iterable
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.store.lines.ops import hides, is_op, needs_message

__all__ = ["EDIT_SENT", "edit_keys", "hidden_key", "id_keys", "ids_of", "is_sent"]

EDIT_SENT: Final = "\0sent\0"
"""Prefix of a message id: the key of the sender's own report, of which there is only one."""

_HIDDEN: Final = "\0hidden\0"
_MARK: Final = "\0mark\0"
_SENT: Final = frozenset({"send", "stream"})


def ids_of(entry: Entry) -> list[str]:
    """Every id under which a message is known."""
    first = entry["message_id"]
    ids = [first] if first else []
    if "message_ids" not in entry:
        return ids
    more = entry["message_ids"]
    if type(more) is not list:
        return ids
    return ids + [i for i in more if type(i) is str and i and i not in ids]


def hidden_key(target: str) -> str:
    """The key under which a recall or redact of ``target`` is indexed."""
    return _HIDDEN + target


def is_sent(entry: Entry) -> bool:
    """True for what the sender itself reported: its text is exactly as written."""
    return entry.get("source") in _SENT


def id_keys(entry: Entry) -> list[str]:
    """The keys of a line in the id table."""
    if not is_op(entry):
        return ids_of(entry)
    target = entry.get("target")
    if type(target) is not str or not target:
        return []
    if hides(entry):
        return [target, hidden_key(target)]
    if needs_message(entry):
        return [*(i for i in ids_of(entry) if i != target), *_once(entry, target)]
    return []


def edit_keys(edit: Entry, target: str, ids: Iterable[str]) -> list[str]:
    """Keys of which none may be known when an edit is written: a known one means that the edit is there already, or
    that the message is hidden under one of its ``ids``.
    """
    return [*(hidden_key(known) for known in dict.fromkeys([target, *ids])), *_once(edit, target)]


def _once(edit: Entry, target: str) -> list[str]:
    """The keys by which a repeated edit is recognised."""
    mark = edit.get("mark")
    keys = [EDIT_SENT + target] if is_sent(edit) else []
    return [*keys, _MARK + mark] if type(mark) is str and mark else keys
