"""The other parts of a record that are moved: marks, members, and decisions."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import msgspec

from nanobot_transcript.coordination.contract import KeptMark, digest_of
from nanobot_transcript.coordination.write_behind import DIGEST
from nanobot_transcript.entry import Entry
from nanobot_transcript.record.transfer.contract import TransferPlace
from nanobot_transcript.record.transfer.cursors import Cursors, is_cursor
from nanobot_transcript.record.transfer.waypoint import MOVED
from nanobot_transcript.store.lines.ids import ids_of
from nanobot_transcript.turns.relay import MOST_HANDED, handed_as

__all__ = ["DecisionsPart", "MarksPart", "MembersPart", "PartReport", "RecordPart"]

_PATIENCE: Final = 30.0
_CLOCKS_DIFFER: Final = 900_000
"""Milliseconds by which a decision may have been written later than its own time."""


@dataclass(slots=True)
class PartReport:
    """Of ``count`` items in the source this run has moved ``moved``; the target lacks ``lacking``.

    ``left_out`` are those that this version does not understand, or for which there is no room.
    """

    part: str
    count: int = 0
    moved: int = 0
    lacking: int = 0
    left_out: int = 0
    problem: str = ""

    @property
    def is_fine(self) -> bool:
        """True when the target has everything of the source."""
        return not (self.lacking or self.problem)


class RecordPart(ABC):
    """One part of a record. What others have written in the target is kept, or added to."""

    name: str

    def __init__(self, source: TransferPlace, target: TransferPlace) -> None:
        self.source: TransferPlace = source
        self.target: TransferPlace = target

    def prepare(self) -> None:  # noqa: B027 - most need not
        """Read what has to be read before the transcripts are moved."""

    @abstractmethod
    def move(self, cursors: Cursors, report: PartReport) -> None:
        """Move what is new since the last time."""

    @abstractmethod
    def check(self, report: PartReport) -> None:
        """Count the items, and those that the target lacks."""


class MarksPart(RecordPart):
    """How far bots and sessions have come, and which chats are private."""

    name = "marks"

    def __init__(self, source: TransferPlace, target: TransferPlace) -> None:
        super().__init__(source, target)
        self._found: list[KeptMark] = []

    def prepare(self) -> None:
        """Read the marks first: their cursors then lie before the end to which the transcripts are moved
        afterwards.
        """
        self._found = list(self.source.marks.kept())

    def move(self, cursors: Cursors, report: PartReport) -> None:
        """See ``RecordPart.move``. A mark that its bot has written in the target is newer than the one in the
        source.
        """
        there = {(mark.kind, mark.digest): mark for mark in self.target.marks.kept()}
        for mark in self._found:
            report.count += 1
            if mark.document is None:
                report.left_out += 1
                continue
            carried = _carried(mark, mark.document, cursors)
            known = there.get((mark.kind, mark.digest))
            if known is None or (known.document not in (None, carried.document) and MOVED in (known.document or {})):
                self.target.marks.keep(carried)
                report.moved += 1

    def check(self, report: PartReport) -> None:
        """See ``RecordPart.check``."""
        there = {(mark.kind, mark.digest) for mark in self.target.marks.kept()}
        for mark in self.source.marks.kept():
            report.count += 1
            report.left_out += mark.document is None
            report.lacking += mark.document is not None and (mark.kind, mark.digest) not in there


def _carried(mark: KeptMark, document: Mapping[str, Any], cursors: Cursors) -> KeptMark:
    """A mark with its cursors translated for the target."""
    hints = [value for value in document.values() if isinstance(value, str)]
    again: list[Entry] = []

    def translated(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: translated(one, key) for key, one in value.items()}
        if isinstance(value, list):
            return [translated(one) for one in value]
        if not is_cursor(value) or (chat := cursors.chat_of(value, hints)) is None:
            return value
        mapped = cursors.mapped(chat, value)
        if name == "cursor":
            again.extend(mapped.again)
        return mapped.cursor

    kept = {name: value for name, value in document.items() if name not in (DIGEST, MOVED)}
    kept = translated(kept)
    if again:
        _remember(kept, again)
    sign = blake2b(msgspec.json.encode(kept, order="deterministic"), digest_size=16).hexdigest()
    return KeptMark(mark.kind, mark.digest, kept | {DIGEST: mark.digest, MOVED: sign})


def _remember(document: dict[str, Any], again: Sequence[Entry]) -> None:
    """Note messages behind the cursor that were dealt with before: a session has been told them, or a relay has passed
    them on, unless it still waits for their text.
    """
    if isinstance(told := document.get("told"), list):
        ids = [message_id for entry in again for message_id in ids_of(entry)]
        document["told"] = list(dict.fromkeys([*told, *ids]))
    if isinstance(handed := document.get("handed"), list):
        waiting = document.get("waiting")
        late = waiting if isinstance(waiting, list) else []
        done = [mark for mark in map(handed_as, again) if mark not in late]
        document["handed"] = list(dict.fromkeys([*handed, *done]))[-MOST_HANDED:]


class MembersPart(RecordPart):
    """Who is who."""

    name = "members"

    def move(self, cursors: Cursors, report: PartReport) -> None:
        """See ``RecordPart.move``. Somebody who was forgotten in the target is not brought back by unchanged data."""
        facts = self.source.record.members.facts()
        report.count = len(facts["people"]) + len(facts["bots"])
        digest = blake2b(msgspec.json.encode(facts, order="deterministic"), digest_size=16).hexdigest()
        note = digest_of(MOVED, (self.source.identity, "members", ""))
        known = self.target.marks.find(MOVED, note)
        if known is not None and known.get("digest") == digest:
            return
        self.target.record.members.take_in(facts)
        self.target.record.members.flush(_PATIENCE)
        self.target.marks.keep(KeptMark(MOVED, note, {"digest": digest}))
        report.moved = report.count

    def check(self, report: PartReport) -> None:
        """See ``RecordPart.check``."""
        facts, there = self.source.record.members.facts(), self.target.record.members.facts()
        for section in ("people", "bots"):
            report.count += len(facts[section])
            report.lacking += len(facts[section].keys() - there[section].keys())


class DecisionsPart(RecordPart):
    """What each bot decided about each message."""

    name = "decisions"

    def move(self, cursors: Cursors, report: PartReport) -> None:
        """See ``RecordPart.move``. Decisions that were moved before and are gone in the target are not brought
        back.
        """
        note = digest_of(MOVED, (self.source.identity, "decisions", ""))
        since = (self.target.marks.find(MOVED, note) or {}).get("newest_ms", 0)
        newest = since
        for key in self.source.decisions.chats():
            records = self.source.decisions.records(key)
            report.count += len(records)
            newest = max([newest, *(_ts(record) for record in records)])
            recent = [record for record in records if _ts(record) >= since - _CLOCKS_DIFFER]
            fitting = self.target.decisions.fitting(recent)
            report.left_out += len(recent) - len(fitting)
            new = list(_not_in(fitting, self.target.decisions.records(key)))
            if new:
                self.target.decisions.add(key, new)
                report.moved += len(new)
        if newest > since:
            self.target.marks.keep(KeptMark(MOVED, note, {"newest_ms": newest}))

    def check(self, report: PartReport) -> None:
        """See ``RecordPart.check``."""
        for key in self.source.decisions.chats():
            records = self.source.decisions.records(key)
            fitting = self.target.decisions.fitting(records)
            report.count += len(records)
            report.left_out += len(records) - len(fitting)
            report.lacking += sum(1 for _ in _not_in(fitting, self.target.decisions.records(key)))


def _not_in(records: Sequence[dict[str, Any]], known: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    left = Counter(map(_spelled, known))
    for record in records:
        if left[told := _spelled(record)]:
            left[told] -= 1
        else:
            yield record


def _spelled(record: dict[str, Any]) -> bytes:
    return msgspec.json.encode(record, order="deterministic")


def _ts(record: dict[str, Any]) -> float:
    ts = record.get("ts")
    return ts if isinstance(ts, int | float) else 0
