"""What a line with an ``op`` does to an earlier message, the one that its ``target`` names.

``KINDS`` has a row for each ``op``. Everybody else asks the questions below and compares no names, so that a new kind
is a new row here. A line whose ``op`` has no row comes from a later version: it is kept, and does nothing.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from nanobot_transcript.entry import Entry, Op

__all__ = [
    "KINDS",
    "OpKind",
    "erasure_mark",
    "hides",
    "is_edit",
    "is_erasure_mark",
    "is_known_op",
    "is_op",
    "needs_message",
]


class OpKind(NamedTuple):
    """What one kind of op does. One that does nothing of all this only adds something to its message."""

    hides: bool = False
    """The message is never shown again, and its text goes with the next maintenance."""
    edits: bool = False
    """The message has another text from now on."""


KINDS: Final[Mapping[Op, OpKind]] = {
    "edit": OpKind(edits=True),
    "recall": OpKind(hides=True),
    "redact": OpKind(hides=True),
}


def is_op(entry: Entry) -> bool:
    """True for a line about an earlier message, also when only a later version understands it."""
    return entry.get("op") is not None


def is_known_op(entry: Entry) -> bool:
    """True for a line about an earlier message that this version understands."""
    return _kind(entry) is not None


def hides(entry: Entry) -> bool:
    """True for a line that takes its message back. It has no text, and stays when its message is erased."""
    kind = _kind(entry)
    return kind is not None and kind.hides


def is_edit(entry: Entry) -> bool:
    """True for a line that gives its message another text."""
    kind = _kind(entry)
    return kind is not None and kind.edits


def needs_message(entry: Entry) -> bool:
    """True for a line that is worth nothing without its message: it is not recorded when that is hidden, and goes with
    it when that is purged.
    """
    kind = _kind(entry)
    return kind is not None and not kind.hides


def _kind(entry: Mapping[str, Any]) -> OpKind | None:
    op = entry.get("op")
    return KINDS.get(op) if isinstance(op, str) else None  # pyright: ignore[reportArgumentType] -- any text may come


def erasure_mark(now_ms: int) -> Entry:
    """The line that says: text before this line was erased, forget what you remember of it.

    It is a redaction of nothing in particular, so that programs that do not know it skip it.
    """
    mark: Entry = {"role": "system", "content": "", "sender": "", "message_id": None, "ts": now_ms}
    mark["op"], mark["rts"] = "redact", now_ms
    return mark


def is_erasure_mark(entry: Entry) -> bool:
    """True for an ``erasure_mark``."""
    return entry.get("op") == "redact" and not entry.get("target")
