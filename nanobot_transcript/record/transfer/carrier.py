"""Moving the transcript of one chat: what is new since the last run, each line once."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest
from typing import Literal

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import InvalidCursorError
from nanobot_transcript.record.transfer.carried_lines import spelled
from nanobot_transcript.record.transfer.comparison import Comparison, chained, compare
from nanobot_transcript.record.transfer.contract import Spelled, TransferPlace
from nanobot_transcript.record.transfer.waypoint import Checked, Waypoint, is_same, known_by, order_of, said_as
from nanobot_transcript.store.contract import Retention, Standing
from nanobot_transcript.store.lines.ops import hides

__all__ = ["Carrier", "ChatReport", "Outcome"]

_LINES, _BYTES = 2000, 4 << 20
"""The most that is written at once; a single line may be larger."""

Outcome = Literal["equal", "more", "missing", "lost", "other", "purged", "failed"]
"""What became of a chat. ``equal``: both places have the same lines. ``more``: the target has all of them and others
written there. ``missing``: the target lacks some. ``lost``: the target has lost some that were moved before; no run
brings them again. ``other``: the target holds a different transcript, so nothing was moved. ``purged``: it was purged
in the source after others had written in the target. ``failed``: an error.
"""


@dataclass(slots=True)
class ChatReport:
    """``lines`` are those of the source up to now, ``moved`` those that this run has added. ``left_out`` counts lines
    that no reader is shown, by flaw. ``hash`` equals ``hash_there`` when the lines are equal, ``readers`` when readers
    see the same.
    """

    chat: str
    outcome: Outcome = "equal"
    lines: int = 0
    moved: int = 0
    hash: str = ""
    hash_there: str = ""
    readers: str = ""
    readers_there: str = ""
    missing: int = 0
    more: int = 0
    left_out: Counter[str] = field(default_factory=Counter[str])
    problem: str = ""

    @property
    def is_fine(self) -> bool:
        """True when the target has everything of the source."""
        return self.outcome in ("equal", "more")


class Carrier:
    """Moves from ``source`` into ``target``. ``advance`` is called with lines and bytes of each batch."""

    def __init__(self, source: TransferPlace, target: TransferPlace, advance: Callable[[int, int], None]) -> None:
        self._source: TransferPlace = source
        self._target: TransferPlace = target
        self._advance: Callable[[int, int], None] = advance
        self._there: dict[str, Standing] = {one.session_key: one for one in target.transcripts.standings()}
        self._back: dict[str, Waypoint] = source.waypoints(target.identity)
        """Waypoints of the opposite direction: how far the target was once moved into the source."""
        self._taken_back: list[str] = []
        self._passed: bytes | None = None
        """The digest of all lines compared and moved so far; None when there are others between them."""

    def carry(self, standing: Standing, known: Waypoint | None) -> tuple[ChatReport, Waypoint | None]:
        """Move what is new in a chat, and compare. The waypoint says how far it has come."""
        report = ChatReport(standing.session_key)
        if not standing.end:  # reading it failed before; try again
            standing = standing._replace(end=self._source.transcripts.end(standing.session_key))
        waypoint = self._begun(standing, known, report)
        if waypoint is None:
            return report, None
        if not self._is_done(standing, waypoint):
            waypoint = self._finished(standing, self._carried(standing, waypoint, report), report)
            waypoint = self._checked(standing, waypoint, report)
            self._target.keep(waypoint)
        else:
            report.outcome = "equal" if waypoint.apart is None else "more"
            report.hash = report.hash_there = waypoint.checked.digest
        report.lines = waypoint.lines
        return report, waypoint

    def erase(self) -> None:
        """Erase in the target the text of messages that were moved and then recalled in the source."""
        if self._taken_back:
            self._target.record.store.maintain(self._taken_back, Retention())

    # -- where it begins

    def _begun(self, standing: Standing, known: Waypoint | None, report: ChatReport) -> Waypoint | None:
        """Where to continue; None, with the reason in the report, when that is impossible."""
        there = self._there.get(standing.session_key)
        if known is None:
            if there is not None and there.bytes:
                return self._mirrored(standing) or self._joined(standing, report)
            return self._fresh(standing)
        if known.anew:
            return self._start_over(standing, known)
        if standing.purged_ms > known.purged_ms and known.lines:
            if self._is_alone(known):
                return self._start_over(standing, known)
            if there is None or there.purged_ms < standing.purged_ms:
                report.outcome = "purged"
            return known
        return known if self._is_same(standing, known) else self._joined(standing, report)

    def _is_same(self, standing: Standing, known: Waypoint) -> bool:
        """True when the source is still the transcript that was moved."""
        if order_of(standing.end) < order_of(known.source):
            return False
        try:
            last = self._source.transcripts.line_at(standing.session_key, known.source)
        except InvalidCursorError:
            return False
        return last is None or not known.last or known_by(last) == known.last

    def _fresh(self, standing: Standing) -> Waypoint:
        key, there = standing.session_key, self._there.get(standing.session_key)
        target = there.end if there is not None and there.end else self._target.transcripts.start(key)
        source = self._source.transcripts.start(key)
        waypoint = Waypoint.beginning(self._source.identity, key, source, target, standing.purged_ms)
        if not self._target.atomic:
            self._target.keep(waypoint)
        return waypoint

    def _is_alone(self, waypoint: Waypoint) -> bool:
        """True when the target has nothing but what was moved."""
        return waypoint.apart is None and self._target.transcripts.end(waypoint.chat) == waypoint.target

    def _start_over(self, standing: Standing, waypoint: Waypoint) -> Waypoint:
        """Remove what was moved: nobody can tell which of it was purged in the source."""
        key = standing.session_key
        self._target.keep(replace(waypoint, anew=True))
        self._target.record.store.purge(key)
        source, target = self._source.transcripts.start(key), self._target.transcripts.end(key)
        fresh = Waypoint.beginning(self._source.identity, key, source, target, standing.purged_ms)
        self._target.keep(fresh)
        return fresh

    def _mirrored(self, standing: Standing) -> Waypoint | None:
        """Where the source once got its lines from the target: behind the lines both have in common."""
        key, back = standing.session_key, self._back.get(standing.session_key)
        if back is None or back.anew or standing.purged_ms > self._there[key].purged_ms:
            return None  # the target still has what was purged since
        there, here = back.apart or (back.source, back.target)
        source, target = self._source.transcripts, self._target.transcripts
        last, other = source.line_at(key, here), target.line_at(key, there)
        if last is None or other is None or known_by(last) != known_by(other):
            return None
        count = sum(line.entry is not None for line in source.lines(key, None, here))
        fresh = Waypoint.beginning(self._source.identity, key, source.start(key), target.start(key), standing.purged_ms)
        waypoint = fresh.moved(here, there, count, last)
        self._target.keep(waypoint)
        return waypoint

    def _joined(self, standing: Standing, report: ChatReport) -> Waypoint | None:
        """Where the target already holds the beginning of the same transcript: behind it."""
        key = standing.session_key
        ours = spelled(self._source.transcripts.lines(key, None, standing.end), frozenset())
        theirs = spelled(self._target.transcripts.lines(key, None), frozenset())
        start, count = self._target.transcripts.start(key), 0
        waypoint = Waypoint.beginning(
            self._source.identity, key, self._source.transcripts.start(key), start, standing.purged_ms
        )
        here: Spelled | None = None
        there: Spelled | None = None
        for line, other in zip_longest(ours, theirs):
            if line is None or other is None:
                break
            if known_by(line.entry) != known_by(other.entry):
                report.outcome = "other"
                return None
            here, there, count = line, other, count + 1
        else:
            line = other = None
        if here is not None and there is not None:
            waypoint = waypoint.moved(here.cursor, there.cursor, count, here.entry)
        if line is None and other is not None:
            waypoint = waypoint.parted()
        self._target.keep(waypoint)
        return waypoint

    # -- on the way

    def _is_done(self, standing: Standing, waypoint: Waypoint) -> bool:
        ends = {waypoint.source, waypoint.checked.source, standing.end}
        return len(ends) == 1 and waypoint.purged_ms >= standing.purged_ms

    def _carried(self, standing: Standing, waypoint: Waypoint, report: ChatReport) -> Waypoint:
        hidden = self._source.transcripts.hidden(standing.session_key)
        was_there, before = self._standing(waypoint), waypoint.lines
        is_next = waypoint.source == waypoint.checked.source and not was_there
        self._passed = bytes.fromhex(waypoint.checked.digest) if is_next else None
        if was_there and waypoint.apart is None:
            waypoint = self._resumed(standing, waypoint, was_there)
        lines = self._source.transcripts.lines(standing.session_key, waypoint.source, standing.end)
        takes_back = False
        for batch in _batches(spelled(lines, hidden, report.left_out)):
            added, waypoint = self._put(batch, waypoint, standing)
            report.moved += added
            takes_back = takes_back or any(hides(line.entry) for line in batch)
            if self._passed is not None:
                self._passed = chained(self._passed, (line.body for line in batch))
            self._advance(len(batch), sum(len(line.body) for line in batch))
        if takes_back and before:
            self._taken_back.append(standing.session_key)
        return waypoint

    def _standing(self, waypoint: Waypoint) -> list[Entry]:
        """The lines in the target behind, or among, what was moved."""
        after, carried = waypoint.target, Counter[str]()
        if waypoint.apart is not None:
            after = waypoint.apart[1]
            ours = self._source.behind(waypoint.chat, waypoint.apart[0], waypoint.source)
            carried = Counter(map(said_as, ours))
        found = self._target.behind(waypoint.chat, after)
        self._target.standing = Counter(map(said_as, found)) - carried
        return found

    def _resumed(self, standing: Standing, waypoint: Waypoint, was_there: list[Entry]) -> Waypoint:
        """Decide whose lines stand behind the waypoint. They are the ones to be moved now, when a run was interrupted
        before it saved its waypoint, or when the record was moved back meanwhile. Otherwise somebody else has written
        them.
        """
        lines = self._source.transcripts.lines(standing.session_key, waypoint.source, standing.end)
        ours = list(islice(spelled(lines, frozenset()), len(was_there)))
        pairs = zip_longest((line.entry for line in ours), was_there)
        if not all(one is not None and is_same(one, other) for one, other in pairs):
            return waypoint.parted()
        last, target = ours[-1], self._target.transcripts.end(standing.session_key)
        waypoint = waypoint.moved(last.cursor, target, len(ours), last.entry)
        self._target.keep(waypoint)
        return waypoint

    def _put(self, batch: list[Spelled], waypoint: Waypoint, standing: Standing) -> tuple[int, Waypoint]:
        """How many lines were added, and how far it has come."""
        added = 0
        while batch and waypoint.apart is None:
            count, waypoint = self._target.append(batch, waypoint, standing.last_write_ms)
            if not count:
                waypoint = waypoint.parted()
            batch, added = batch[count:], added + count
        if not batch:
            return added, waypoint
        merged, waypoint = self._target.merge(batch, waypoint)
        return added + merged, waypoint

    def _finished(self, standing: Standing, waypoint: Waypoint, report: ChatReport) -> Waypoint:
        """The waypoint at the end of the source, behind lines that were left out."""
        key, there = standing.session_key, self._there.get(standing.session_key)
        if waypoint.source != standing.end:
            last = self._source.transcripts.line_at(key, standing.end)
            waypoint = replace(waypoint, source=standing.end, last=known_by(last) if last is not None else "")
        if report.outcome == "purged":
            return waypoint
        if standing.purged_ms > (there.purged_ms if there is not None else 0):
            self._target.transcripts.note_purge(key, standing.purged_ms)
        return replace(waypoint, purged_ms=standing.purged_ms)

    # -- and whether it is there

    def _checked(self, standing: Standing, waypoint: Waypoint, report: ChatReport) -> Waypoint:
        behind = waypoint.checked
        found = self._read_back(waypoint, waypoint.lines - behind.lines) or compare(
            self._source.transcripts,
            self._target.transcripts,
            standing.session_key,
            behind=(behind.source, behind.target),
            upto=standing.end,
            digest=behind.digest,
        )
        tell(found, report)
        if found.missing or waypoint.apart is not None:
            return waypoint  # a line behind this point in one place may stand before it in the other
        target = found.cursor_there or behind.target
        return replace(waypoint, checked=Checked(standing.end, target, behind.lines + found.lines, found.digest))

    def _read_back(self, waypoint: Waypoint, lines: int) -> Comparison | None:
        """Read in the target what was just moved; None unless exactly that stands there."""
        if self._passed is None:
            return None
        digest, cursor = bytes.fromhex(waypoint.checked.digest), ""
        for cursor, body in self._target.transcripts.bodies(waypoint.chat, waypoint.checked.target):  # noqa: B007
            digest = chained(digest, (body,))
        told = digest.hex()
        return Comparison(lines, told, told, cursor) if digest == self._passed else None


def tell(found: Comparison, report: ChatReport) -> None:
    """Enter the result of a comparison into the report of a chat."""
    report.hash, report.hash_there = found.digest, found.digest_there
    report.missing, report.more = found.missing, found.more
    if found.missing:
        report.outcome = "missing"
    elif report.outcome == "equal" and not found.is_equal:
        report.outcome = "more"


def _batches(lines: Iterable[Spelled]) -> Iterator[list[Spelled]]:
    batch: list[Spelled] = []
    size = 0
    for line in lines:
        if batch and (len(batch) >= _LINES or size + len(line.body) > _BYTES):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += len(line.body)
    if batch:
        yield batch
