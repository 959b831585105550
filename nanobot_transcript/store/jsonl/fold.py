"""Applying edits, recalls and redactions to messages."""

from operator import itemgetter
from typing import Any, cast

from nanobot_transcript.entry import Entry
from nanobot_transcript.store.jsonl.codec import ids_of, is_sent
from nanobot_transcript.store.jsonl.cursor import Place

__all__ = ["HIDING", "OVERHEARD", "Ops", "apply_edit", "as_edit", "is_erasure_mark", "is_op", "joins_parts", "upgrade"]

HIDING = frozenset({"recall", "redact"})
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


def is_op(entry: Entry) -> bool:
    """True for a line that changes an earlier one, also in a way that only a later version understands."""
    return entry.get("op") is not None


def upgrade(known: Entry, entry: Entry) -> Entry | None:
    """The edit that gives an overheard message the words its sender wrote, or None when there is nothing to add."""
    target = known["message_id"]
    if target is None or known.get("source") not in OVERHEARD or not is_sent(entry):
        return None
    return as_edit(entry, target)


def as_edit(entry: Entry, target: str) -> Entry:
    """The edit line that carries what a sender reported of its own message."""
    edit = cast("dict[str, Any]", entry.copy())
    edit.update(op="edit", target=target, message_id=None, message_ids=ids_of(entry))
    return cast("Entry", cast("object", edit))


def apply_edit(entry: Entry, edit: Entry) -> Entry:
    """The message with the text of the edit, and with its sender when the edit is the sender's own report."""
    changed = entry.copy()
    changed["content"] = edit["content"]
    changed["edited"] = True
    if is_sent(edit):
        changed.pop("edited")
        changed["role"], changed["sender"] = edit["role"], edit["sender"]
    fields = cast("dict[str, Any]", changed)
    fields.update((name, value) for name, value in edit.items() if name in _FROM_EDIT)
    return changed


def joins_parts(entry: Entry) -> bool:
    """True for an edit that makes several messages one."""
    return entry.get("op") == "edit" and any(part != entry.get("target") for part in ids_of(entry))


def is_erasure_mark(entry: Entry) -> bool:
    """True for the line that says: text before this line was erased, forget what you remember of it.

    It is a redaction of nothing in particular, so that programs that do not know it skip it.
    """
    return entry.get("op") == "redact" and not entry.get("target")


class Ops:
    """What lines say about messages that stand elsewhere: their edits, recalls and redactions."""

    def __init__(self) -> None:
        self.hidden: set[str] = set()
        self._edits: dict[str, list[tuple[Place, Entry]]] = {}
        self._parts: dict[str, str] = {}

    def note(self, place: Place, entry: Entry) -> None:
        """Take in the op that stands at a place; ops may come in any order, and twice."""
        op, target = entry.get("op"), entry.get("target")
        if not target:
            return
        if op in HIDING:
            self.hidden.add(target)
        elif op == "edit":
            edits = self._edits.setdefault(target, [])
            if all(known != place for known, _ in edits):
                edits.append((place, entry))
                edits.sort(key=itemgetter(0))
            for part in ids_of(entry):
                if part != target:
                    self._parts[part] = target

    def is_part(self, entry: Entry) -> bool:
        """True for what was overheard of a message that its sender reported as a whole."""
        return entry["message_id"] in self._parts

    def folded(self, entry: Entry) -> Entry | None:
        """A message as it reads now; None when it is hidden or only part of another one."""
        if not (self.hidden or self._edits):
            return entry
        ids = ids_of(entry)
        if self.is_part(entry):
            return None
        edits = sorted((edit for known in ids for edit in self._edits.get(known, ())), key=itemgetter(0))
        for _, edit in edits:
            entry = apply_edit(entry, edit)
        hidden = self.hidden and not self.hidden.isdisjoint(ids_of(entry) if edits else ids)
        return None if hidden else entry

    def together(self, targets: set[str]) -> set[str]:
        """These ids and all others of the same messages."""
        closed = set(targets)
        for target, edits in self._edits.items():
            ids = {target, *(known for _, edit in edits for known in ids_of(edit))}
            if not closed.isdisjoint(ids):
                closed |= ids
        return closed

    def sent_by(self, sender: str) -> set[str]:
        """Messages that were overheard first and then reported by this sender as its own."""
        return {
            target
            for target, edits in self._edits.items()
            if any(is_sent(edit) and edit["sender"] == sender for _, edit in edits)
        }
