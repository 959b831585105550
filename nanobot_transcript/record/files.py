"""A record in a folder."""

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nanobot_transcript.coordination.files.call_budget import FileBudget
from nanobot_transcript.coordination.files.lease import FileLease
from nanobot_transcript.coordination.files.marks import FileMarks
from nanobot_transcript.coordination.files.processes import FileProcesses
from nanobot_transcript.files.access import require_folder
from nanobot_transcript.files.layout import STATE_FOLDER
from nanobot_transcript.files.usage import folder_size
from nanobot_transcript.record.contract import Record, Usage
from nanobot_transcript.store.front import GroupTranscriptStore

if TYPE_CHECKING:
    from nanobot_transcript.coordination.contract import Signals
    from nanobot_transcript.coordination.files.signals import Watched
    from nanobot_transcript.findings import Finding
    from nanobot_transcript.outbox.contract import Postbox
    from nanobot_transcript.outbox.values import OutboxLimits
    from nanobot_transcript.relevance.decision_log import DecisionLog
    from nanobot_transcript.sql.location import Shelf

__all__ = ["FilesRecord"]

_HINT: Final = "Correct --store or store.dir; `nanobot-transcript doctor` says what is wrong with the directory."
_PARTS: Final = ("decisions", "outbox", "index")


class FilesRecord(Record):
    """``Record`` in a folder; see ``Record.open`` for what it takes."""

    def __init__(
        self, base_dir: str | Path | None = None, *, posting: "OutboxLimits | None" = None, **options: Any
    ) -> None:
        self.store = GroupTranscriptStore(base_dir, **options)
        base = self.store.base_dir
        self._base: Path = base
        self._state: Path = base / STATE_FOLDER
        self._posting: OutboxLimits | None = posting
        self._mutex: threading.RLock = threading.RLock()
        self._signals: Signals | None = None
        self._outbox: Postbox | None = None
        self._decisions: DecisionLog | None = None
        self.place = str(base)
        self.members = self.store.members
        self.leases = FileLease(base)
        self.budgets = FileBudget(base)
        self.marks = FileMarks(base)
        self.processes = FileProcesses(base, f"{STATE_FOLDER}/processes")

    @property
    def base(self) -> Path:
        """The folder."""
        return self._base

    @property
    def signals(self) -> "Signals":
        """See ``Record.signals``."""
        with self._mutex:
            if self._signals is None:
                from nanobot_transcript.coordination.files.signals import FileSignals  # brings asyncio

                self._signals = FileSignals(self._base, self._sources())
            return self._signals

    @property
    def outbox(self) -> "Postbox":
        """See ``Record.outbox``."""
        with self._mutex:
            if self._outbox is None:
                from nanobot_transcript.outbox.outbox import Outbox  # brings SQLite, and few processes post

                self._outbox = Outbox(self._base, self._posting, signals=self.signals)
            return self._outbox

    @property
    def decisions(self) -> "DecisionLog":
        """See ``Record.decisions``."""
        with self._mutex:
            if self._decisions is None:
                from nanobot_transcript.relevance.decision_log_file import FileDecisionLog  # slow to import

                self._decisions = FileDecisionLog(self._base)
            return self._decisions

    def shelf(self, folder: Path) -> "Shelf":
        """See ``Record.shelf``."""
        from nanobot_transcript.sql.location import Shelf  # brings SQLite, and few processes keep tables

        return Shelf(folder)

    def usage(self) -> list[Usage]:
        """See ``Record.usage``."""
        chats = self.store.chats()
        found = [Usage("transcripts", self.place, sum(chat.bytes for chat in chats), len(chats))]
        for part in _PARTS:
            folder = self._state / part
            found.append(Usage(part, str(folder), *folder_size(folder)))
        return found

    def require(self, *, exists: bool = False, written: bool = False) -> None:
        """See ``Record.require``."""
        require_folder(self._base, _HINT, exists=exists, written=written)

    def check(self) -> "list[Finding]":
        """See ``Record.check``."""
        from nanobot_transcript.record.folder_check import check  # only doctor needs it

        return check(self._base)

    def close(self) -> None:
        """See ``Record.close``."""
        self.store.close()
        if self._outbox is not None:
            self._outbox.close()
        self.processes.leave()

    def _sources(self) -> "dict[str, list[Watched]]":
        """Signals and the files that show them: each of these changes when something new is written."""
        from nanobot_transcript.coordination.files.signals import Watched

        outbox = self._state / "outbox"
        return {
            "messages": [Watched(self._base, "*.jsonl")],
            "members": [Watched(self._state, "members.json")],
            "decisions": [Watched(self._state / "decisions", "*.log")],
            "posts": [Watched(outbox, "outbox.db"), Watched(outbox, "outbox.db-wal")],
        }
