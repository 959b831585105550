"""The edits, recalls and redactions of a chat, found by scanning for them instead of reading every line."""

from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.store.jsonl.codec import decode, ids_of, is_sent
from nanobot_transcript.store.jsonl.cursor import START, Place
from nanobot_transcript.store.jsonl.fold import HIDING, apply_edit, is_erasure_mark
from nanobot_transcript.store.jsonl.lines import grep
from nanobot_transcript.store.jsonl.segments import Segments

__all__ = ["OpLog"]

# Quotes inside a text are escaped, so these bytes cannot be part of one.
_OP: Final = b'"op":'


class OpLog:
    """What later lines say about the messages of a chat; remembers how far it has looked."""

    def __init__(self, segments: Segments) -> None:
        self._segments = segments
        self._forget()

    def cover(self, place: Place) -> None:
        """Make sure that everything from ``place`` to the end has been looked at."""
        start = place if self._from is None else min(place, self._from)
        if self._from is not None and not self._stands(self._to):
            self._forget()
        self._extend(start)
        if self._stale:
            self._forget()
            self._extend(start)

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

    def _forget(self) -> None:
        self._from: Place | None = None
        self._to = START
        self._stale = False
        self.hidden: set[str] = set()
        self._edits: dict[str, list[tuple[Place, Entry]]] = {}
        self._parts: dict[str, str] = {}

    def _stands(self, place: Place) -> bool:
        """False when the segment was purged: what it said of messages is no longer so."""
        segment = self._segments.at_or_after(place.number)
        if segment is None:
            return False
        with segment:
            return segment.number == place.number and segment.end() >= place.offset

    def _extend(self, start: Place) -> None:
        if self._from is None:
            self._from = self._to = start
        elif start < self._from:
            self._scan(start, self._from)
            self._from = start
        self._stale = False
        self._to = self._scan(self._to, None)

    def folded(self, entry: Entry) -> Entry | None:
        """A message as it reads now; None when it is hidden or only part of another one."""
        ids = ids_of(entry)
        if entry["message_id"] in self._parts:
            return None
        edits = [edit for known in ids for edit in self._edits.get(known, ())]
        for _, edit in edits:
            entry = apply_edit(entry, edit)
        hidden = self.hidden and not self.hidden.isdisjoint(ids_of(entry) if edits else ids)
        return None if hidden else entry

    def _scan(self, start: Place, stop: Place | None) -> Place:
        number, offset = start
        reached = start
        while (segment := self._segments.at_or_after(number)) is not None:
            with segment:
                if stop is not None and segment.number > stop.number:
                    break
                if segment.number != number or offset > segment.end():
                    offset = 0
                for at, block in segment.blocks_from(offset):
                    for op_at, line in grep(at, block, _OP):
                        self._note(Place(segment.number, op_at), line)
                    reached = Place(segment.number, at + len(block))
                if segment.active or (stop is not None and segment.number >= stop.number):
                    break
            number, offset = segment.number + 1, 0
        return reached

    def _note(self, place: Place, line: bytes) -> None:
        entry = decode(line)
        if entry is None:
            return
        self._stale = self._stale or is_erasure_mark(entry)
        op, target = entry.get("op"), entry.get("target")
        if not target:
            return
        if op in HIDING:
            self.hidden.add(target)
        elif op == "edit":
            edits = self._edits.setdefault(target, [])
            if all(known != place for known, _ in edits):
                edits.append((place, entry))
                edits.sort(key=lambda pair: pair[0])
            for part in ids_of(entry):
                if part != target:
                    self._parts[part] = target
