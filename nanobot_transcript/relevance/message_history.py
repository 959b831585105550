"""The history before a message, prepared once for all rules."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from nanobot_transcript.entry import Entry

__all__ = ["HISTORY_LINES", "Past", "past_of"]

HISTORY_LINES: Final = 100


class Past(NamedTuple):
    """The last entries, without invalid ones.

    ``lines`` are the messages before the one in question, at most ``HISTORY_LINES``: without its own copy and what
    follows it (``later``), without edits and recalls (``ops``). ``replies`` are all entries that reply to something.
    """

    entries: Sequence[Entry]
    lines: Sequence[Entry]
    later: Sequence[Entry]
    ops: Sequence[Entry]
    replies: Sequence[Entry]


def past_of(history: Sequence[Entry], message_id: Any) -> Past:
    """``history``, oldest first, as seen from the message with this id, which is in it or follows it."""
    entries = list(history[-2 * HISTORY_LINES :])
    if set(map(type, entries)) - {dict}:
        entries = [entry for entry in entries if isinstance(entry, dict)]
    marked = [entry for entry in entries if "op" in entry or "reply_to" in entry]
    ops = [entry for entry in marked if "op" in entry]
    ids = [entry.get("message_id") for entry in entries]
    own = ids.index(message_id) if message_id and message_id in ids else len(entries)
    lines = entries[:own]
    if ops:
        lines = [entry for entry in lines if "op" not in entry]
    replies = [entry for entry in marked if "reply_to" in entry]
    return Past(entries, lines[-HISTORY_LINES:], entries[own + 1 :], ops, replies)
