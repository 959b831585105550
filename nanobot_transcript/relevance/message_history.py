"""What the history holds about a message, looked through once for all rules."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from nanobot_transcript.entry import Entry

__all__ = ["HISTORY_LINES", "Past", "past_of"]

HISTORY_LINES: Final = 100


class Past(NamedTuple):
    """The last entries, without what is none.

    ``lines`` are the messages before the one in question, at most ``HISTORY_LINES``: without its own copy and what
    follows it (``later``), without edits and recalls (``ops``). ``replies`` are all that reply to anything.
    """

    entries: Sequence[Entry]
    lines: Sequence[Entry]
    later: Sequence[Entry]
    ops: Sequence[Entry]
    replies: Sequence[Entry]


def past_of(history: Sequence[Entry], message_id: Any) -> Past:
    """What stands in ``history``, oldest first, seen from the message with this id, in it or behind it."""
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
