"""A folder as one of the two places of a move."""

from collections.abc import Sequence
from contextlib import ExitStack

from nanobot_transcript.coordination.files.marks import FileMarks
from nanobot_transcript.files.layout import Layout
from nanobot_transcript.files.lock import exclusive
from nanobot_transcript.outbox.outbox import tables_at
from nanobot_transcript.record.files import FilesRecord
from nanobot_transcript.record.transfer.contract import Spelled, TransferPlace
from nanobot_transcript.record.transfer.waypoint import Waypoint
from nanobot_transcript.relevance.decision_log_file import FileDecisionLog
from nanobot_transcript.store.jsonl.backend import JsonlBackend

__all__ = ["FolderPlace"]


class FolderPlace(TransferPlace):
    """The record in a folder. As a target only one process may use it: StoreBusyError for the next one."""

    atomic = False

    def __init__(self, record: FilesRecord, *, is_target: bool) -> None:
        super().__init__()
        backend = record.store.backend
        assert isinstance(backend, JsonlBackend)
        self.record = record
        self.identity = f"folder:{record.base.resolve()}"
        self.marks = FileMarks(record.base)
        self.decisions = FileDecisionLog(record.base)
        self.posts = tables_at(record.base)
        self._backend: JsonlBackend = backend
        self.transcripts = self._bulk = backend.in_bulk()
        self._held: ExitStack = ExitStack()
        if is_target:
            layout = Layout(record.base)
            layout.create()
            self._held.enter_context(exclusive(layout.lock("record", "moving"), 0, "moving a record into this folder"))

    def nameless(self) -> list[str]:
        """See ``TransferPlace.nameless``."""
        return self._bulk.nameless()

    def append(self, lines: Sequence[Spelled], at: Waypoint, written_ms: float) -> tuple[int, Waypoint]:
        """See ``TransferPlace.append``. Lines and waypoint are two writes: after a crash in between, the next run finds
        that the lines behind the waypoint are there already (``Carrier._resumed``).
        """
        done = self._bulk.extend(at.chat, [line.body for line in lines], at.target)
        if done is None:
            return 0, at
        count, cursor = done
        last = lines[count - 1]
        waypoint = at.moved(last.cursor, cursor, count, last.entry)
        self.keep(waypoint)
        self._bulk.note_write(at.chat, written_ms)
        return count, waypoint

    def merge(self, lines: Sequence[Spelled], at: Waypoint) -> tuple[int, Waypoint]:
        """See ``TransferPlace.merge``."""
        added = sum(self._backend.write_each(at.chat, self.not_there(lines)))
        last = lines[-1]
        waypoint = at.moved(last.cursor, self._bulk.end(at.chat), len(lines), last.entry)
        self.keep(waypoint)
        return added, waypoint

    def settle(self) -> None:
        """See ``TransferPlace.settle``: ``store.fsync`` decides."""
        self._backend.close()

    def close(self) -> None:
        """See ``TransferPlace.close``."""
        self._held.close()
