"""Applying edits, recalls and redactions to messages, and leaving out a message that was written twice."""

from typing import Any, cast

from nanobot_transcript.entry import Entry
from nanobot_transcript.store.jsonl.codec import ids_of, is_sent

__all__ = ["HIDING", "OVERHEARD", "Folded", "Folder", "apply_edit", "as_edit", "is_erasure_mark", "is_op", "upgrade"]

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


def is_erasure_mark(entry: Entry) -> bool:
    """True for the line that says: text before this line was erased, forget what you remember of it.

    It is a redaction of nothing in particular, so that programs that do not know it skip it.
    """
    return entry.get("op") == "redact" and not entry.get("target")


class Folded:
    """One message of a fold: its entry as it reads now, or None when it is hidden."""

    __slots__ = ("entry", "order")

    def __init__(self, entry: Entry, order: int) -> None:
        self.entry: Entry | None = entry
        self.order = order


class Folder:
    """Takes lines in file order and keeps the messages as they read now."""

    def __init__(self) -> None:
        self.messages: list[Folded] = []
        self._by_id: dict[str, Folded] = {}
        self._hidden: set[str] = set()
        self._count = 0

    def add(self, entry: Entry) -> Folded | None:
        """The message a line adds, or None when it changes or repeats one."""
        if is_op(entry):
            self._apply(entry)
            return None
        ids = ids_of(entry)
        for known in ids:
            if known in self._by_id or known in self._hidden:
                self._repeat(known, entry)
                return None
        self._count += 1
        message = Folded(entry, self._count)
        self.messages.append(message)
        for known in ids:
            self._by_id[known] = message
        return message

    def drop_before(self, count: int) -> None:
        """Forget all but the newest ``count`` messages."""
        for message in self.messages[:-count]:
            if message.entry is not None:
                for known in ids_of(message.entry):
                    self._by_id.pop(known, None)
            message.entry = None
        self.messages = self.messages[-count:]

    def _repeat(self, known: str, entry: Entry) -> None:
        message = self._by_id.get(known)
        if message is not None and message.entry is not None:
            edit = upgrade(message.entry, entry)
            if edit is not None:
                message.entry = apply_edit(message.entry, edit)

    def _apply(self, entry: Entry) -> None:
        op, target = entry.get("op"), entry.get("target")
        if not target:
            return
        message = self._by_id.get(target)
        if op in HIDING:
            self._hidden.add(target)
            if message is not None:
                message.entry = None
        elif op == "edit" and message is not None and message.entry is not None:
            message.entry = apply_edit(message.entry, entry)
            self._absorb_parts(message)

    def _absorb_parts(self, message: Folded) -> None:
        """Parts of one logical message that were overheard one by one are that message."""
        assert message.entry is not None
        for part in ids_of(message.entry):
            other = self._by_id.get(part)
            if other is not None and other is not message:
                other.entry = None
            self._by_id[part] = message
