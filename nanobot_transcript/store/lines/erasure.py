"""What stays of a line when text is erased: nothing, everything but the text, or everything but one person."""

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, cast

from nanobot_transcript.entry import Entry
from nanobot_transcript.store.lines.codec import encode
from nanobot_transcript.store.lines.fold import Ops
from nanobot_transcript.store.lines.ids import ids_of
from nanobot_transcript.store.lines.ops import hides, is_op

__all__ = ["Eraser", "Hidden", "Purge", "Purged"]

_KEPT: Final = (
    "role",
    "content",
    "sender",
    "message_id",
    "ts",
    "op",
    "target",
    "mark",
    "rts",
    "message_ids",
    "source",
    "v",
)

Eraser = Callable[[Entry], bytes | None]
"""Returns the new line without newline; empty when nothing of it stays; None to leave it unchanged."""


class Hidden:
    """Removes the text of hidden messages; a message that only refers to one (a reply) is left alone."""

    def __init__(self, targets: set[str]) -> None:
        self.targets: set[str] = set(targets)

    def __call__(self, entry: Entry) -> bytes | None:
        if hides(entry):
            return None  # has no text, and must keep hiding its target
        ids = ids_of(entry)
        if not self.targets.isdisjoint(ids):
            self.targets.update(ids)
        elif entry.get("target") not in self.targets:
            return None
        return _without_text(entry)


def _without_text(entry: Entry) -> bytes:
    """The line without its text and names. It stays so that its id stays known."""
    kept = {name: value for name, value in entry.items() if name in _KEPT}
    kept["content"] = ""
    return encode(cast("Entry", cast("object", kept)))[:-1]


class Purge:
    """Decides for each line whether it is erased, and removes a person from the lines that stay.

    ``ops`` are those of the whole transcript and ``entries`` its lines; ``senders`` are all ids of the person, empty
    means everybody. Lines from before ``before_ms`` are erased; both filters combine. ``kept`` counts the lines that
    stayed.
    """

    def __init__(self, ops: Ops, entries: Iterable[Entry], senders: frozenset[str], before_ms: float | None) -> None:
        self._senders: frozenset[str] = senders
        self._before_ms: float | None = before_ms
        self._forgets: bool = bool(senders) and before_ms is None
        self.kept: int = 0
        self._own: set[str] = set[str]().union(*(ops.sent_by(sender) for sender in senders))
        matching = (entry for entry in entries if not is_op(entry) and self._matches(entry))
        gone = {known for entry in matching for known in ids_of(entry)}
        self._gone: set[str] = ops.together(gone) if senders else gone

    def __call__(self, entry: Entry) -> bytes | None:
        if is_op(entry):
            about = entry.get("target") in self._gone or (self._forgets and _is_by(entry, self._senders))
            goes = not hides(entry) and about
        else:
            goes = self._matches(entry) or not self._gone.isdisjoint(ids_of(entry))
        if goes:
            return b""
        self.kept += 1
        changed = _without_person(entry, self._senders) if self._forgets else entry
        return None if changed == entry else encode(changed)[:-1]

    def _matches(self, entry: Entry) -> bool:
        if self._before_ms is not None and entry["ts"] >= self._before_ms:
            return False
        return not self._senders or _is_by(entry, self._senders) or not self._own.isdisjoint(ids_of(entry))


class Purged(NamedTuple):
    """An earlier purge, applied to lines that are recorded only now: ``at_ms`` is when it happened (by the record's
    clock); ``senders`` and ``before_ms`` are its filters, empty or None for no limit.
    """

    at_ms: float
    senders: frozenset[str]
    before_ms: float | None

    def left_of(self, entry: Entry, received_ms: float) -> Entry | None:
        """What the purge would have left of a line received (ms, by the same clock) before it; None for nothing."""
        if received_ms >= self.at_ms:
            return entry
        if hides(entry) and (self.senders or self.before_ms is not None):
            goes = False  # must keep hiding its target
        elif self.before_ms is not None and entry["ts"] >= self.before_ms:
            goes = False
        else:
            goes = not self.senders or _is_by(entry, self.senders)
        if goes:
            return None
        return _without_person(entry, self.senders) if self.before_ms is None else entry


def _is_by(entry: Entry, senders: frozenset[str]) -> bool:
    ids = entry.get("ids")
    others = ids.values() if isinstance(ids, dict) else ()
    return entry["sender"] in senders or any(_names(one, senders) for one in others)


def _names(value: Any, senders: frozenset[str]) -> bool:
    return isinstance(value, str) and value in senders


def _without_person(entry: Entry, senders: frozenset[str]) -> Entry:
    """The line without a person who is named in it, or who edited or recalled."""
    changed = entry.copy()
    if _is_by(entry, senders):
        changed["sender"] = ""
        changed.pop("sender_name", None)
        changed.pop("ids", None)
    mentions = entry.get("mentions")
    if isinstance(mentions, list):
        changed["mentions"] = [
            named for named in mentions if not (isinstance(named, dict) and _names(named.get("id"), senders))
        ]
    return changed
