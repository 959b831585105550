"""Applying edits, recalls and redactions to messages."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any, TypeAlias, cast

from nanobot_transcript.entry import Entry
from nanobot_transcript.store.lines.ids import ids_of, is_sent
from nanobot_transcript.store.lines.ops import hides, is_edit

__all__ = [
    "OVERHEARD",
    "Ops",
    "Position",
    "apply_edit",
    "as_edit",
    "is_part_of",
    "joins_parts",
    "upgrade",
]

Position: TypeAlias = tuple[int, ...]
"""Where a line stands in its transcript, as its backend counts; here only the order matters."""

OVERHEARD = frozenset({"peer_event", "history"})
_FROM_EDIT = frozenset(
    {
        "agent",
        "hop",
        "ids",
        "mentions",
        "message_ids",
        "msg_type",
        "reply_to",
        "root_id",
        "sender_kind",
        "sender_name",
        "source",
        "thread_id",
    }
)


def upgrade(known: Entry, entry: Entry) -> Entry | None:
    """The edit that replaces an overheard message with its sender's own words; None when there is nothing to add."""
    target = known["message_id"]
    if target is None or known.get("source") not in OVERHEARD or not is_sent(entry):
        return None
    return as_edit(entry, target)


def is_part_of(known: Entry, entry: Entry) -> bool:
    """True when the message on record is its sender's report of a part only, as the sender's report ``entry``
    shows.
    """
    return is_sent(known) and len(known["content"]) < len(entry["content"])


def as_edit(entry: Entry, target: str) -> Entry:
    """The edit line with what a sender reported of its own message."""
    edit = cast("dict[str, Any]", entry.copy())
    edit.update(op="edit", target=target, message_id=None, message_ids=ids_of(entry))
    return cast("Entry", cast("object", edit))


def apply_edit(entry: Entry, edit: Entry) -> Entry:
    """The message with the text of the edit, and with its sender when the edit is the sender's own report."""
    return _changed(entry, _join({}, edit))


def _join(changes: dict[str, Any], edit: Entry) -> dict[str, Any]:
    """Add one more edit to the changes of earlier ones; ``edited`` is None where the message's mark is removed."""
    changes["content"] = edit["content"]
    changes["edited"] = None if is_sent(edit) else True
    if is_sent(edit):
        changes["role"], changes["sender"] = edit["role"], edit["sender"]
    changes.update((name, value) for name, value in edit.items() if name in _FROM_EDIT)
    return changes


def _changed(entry: Entry, changes: dict[str, Any]) -> Entry:
    changed = cast("dict[str, Any]", entry.copy())
    changed.update(changes)
    if changed["edited"] is None:
        del changed["edited"]
    return cast("Entry", cast("object", changed))


def joins_parts(entry: Entry) -> bool:
    """True for an edit that joins several messages into one."""
    return is_edit(entry) and any(part != entry.get("target") for part in ids_of(entry))


class _Edits:
    """The edits of one message in file order, and their sum.

    A card that shows progress is edited hundreds of times, so each edit is joined to the others only once.
    """

    __slots__ = ("_changes", "_positions", "lines")

    def __init__(self) -> None:
        self._positions: list[Position] = []
        self.lines: list[Entry] = []
        self._changes: dict[str, Any] | None = {}

    def add(self, position: Position, edit: Entry) -> None:
        """Add an edit. They may come in any order, and twice."""
        at = bisect_left(self._positions, position)
        if at < len(self._positions) and self._positions[at] == position:
            return
        if at < len(self._positions):
            self._changes = None
        elif self._changes is not None:
            _join(self._changes, edit)
        self._positions.insert(at, position)
        self.lines.insert(at, edit)

    def by_position(self) -> Iterator[tuple[Position, Entry]]:
        """Each edit with its position."""
        return zip(self._positions, self.lines, strict=True)

    def changes(self) -> dict[str, Any]:
        """All edits as one."""
        if self._changes is None:
            self._changes = _join_all(self.lines)
        return self._changes


def _join_all(edits: Iterable[Entry]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for edit in edits:
        _join(changes, edit)
    return changes


class Ops:
    """What lines say about messages elsewhere in the transcript: edits, recalls and redactions."""

    def __init__(self) -> None:
        self.hidden: set[str] = set()
        self._edits: dict[str, _Edits] = {}
        self._parts: dict[str, str] = {}

    def note(self, position: Position, entry: Entry) -> None:
        """Add the op at a position. Ops may come in any order, and twice."""
        target = entry.get("target")
        if not target:
            return
        if hides(entry):
            self.hidden.add(target)
        elif is_edit(entry):
            if target not in self._edits:
                self._edits[target] = _Edits()
            self._edits[target].add(position, entry)
            for part in ids_of(entry):
                if part != target:
                    self._parts[part] = target

    def is_part(self, entry: Entry) -> bool:
        """True for an overheard part of a message that its sender reported as a whole."""
        return entry["message_id"] in self._parts

    def folded(self, entry: Entry) -> Entry | None:
        """A message as it reads now; None when it is hidden or only part of another one."""
        if not (self.hidden or self._edits):
            return entry
        ids = ids_of(entry)
        if self.is_part(entry):
            return None
        changes = self._changes_of(ids)
        if changes:
            entry = _changed(entry, changes)
        hidden = self.hidden and not self.hidden.isdisjoint(ids_of(entry) if changes else ids)
        return None if hidden else entry

    def _changes_of(self, ids: list[str]) -> dict[str, Any]:
        edits = [self._edits[known] for known in ids if known in self._edits]
        if len(edits) <= 1:
            return edits[0].changes() if edits else {}
        # It was edited under more than one of its ids: apply the edits in file order.
        lines = sorted((line for one in edits for line in one.by_position()), key=itemgetter(0))
        return _join_all(edit for _, edit in lines)

    def together(self, targets: set[str]) -> set[str]:
        """These ids, and all other ids of the same messages."""
        closed = set(targets)
        for target, edits in self._edits.items():
            ids = {target, *(known for edit in edits.lines for known in ids_of(edit))}
            if not closed.isdisjoint(ids):
                closed |= ids
        return closed

    def sent_by(self, sender: str) -> set[str]:
        """Messages that were overheard first and then reported by this sender as its own."""
        return {
            target
            for target, edits in self._edits.items()
            if any(is_sent(edit) and edit["sender"] == sender for edit in edits.lines)
        }
