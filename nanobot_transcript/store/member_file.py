"""The members of a store in one file that all processes share, ``<base_dir>/.state/members.json``:

    {"v": 1,
     "bots":   {account: {"name", "aliases", "description", "open_ids": {observing account: open_id},
                         "seen": last sign of life, ms, within a day}},
     "people": {sender: {"name", "ids": {kind: id}}},
     "ids":    {observing account: {open_id: sender}},
     "chats":  {session_key: {sender: last seen, ms, within an hour}},
     "titles": {session_key: what the chat is called},
     "lists":  {session_key: {"at": when the platform listed its people, ms, "people": [sender]}}}

A change that has to wait for another process's lock stays in memory, and is written at the next look or with the next
change.
"""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from nanobot_transcript.errors import StoreError, StoreUnavailableError
from nanobot_transcript.files.document import FileStamp, Snapshot, StateFile
from nanobot_transcript.files.layout import STATE_FOLDER
from nanobot_transcript.store.member_document import Document, Shape, empty
from nanobot_transcript.store.members import Change, MemberDirectory

__all__ = ["FileMembers"]

logger = logging.getLogger(__name__)

_LOCK_TIMEOUT: Final = 0.1


class FileMembers(MemberDirectory):
    """``MemberDirectory`` in a file. Reading never creates anything."""

    def __init__(self, base_dir: str | Path, *, now: Callable[[], float] = time.time) -> None:
        super().__init__(now=now)
        self._file: StateFile = StateFile(Path(base_dir) / STATE_FOLDER, "members.json", version=1, shape=Shape)
        self._signature: FileStamp | None = None
        self._state: str = "absent"
        self._pending: list[Change] = []
        self._held_up: bool = False
        self._unreadable = ""

    @property
    def path(self) -> Path:
        """Where the file lies (or will lie)."""
        return self._file.path

    def facts(self) -> Document:
        """See ``MemberDirectory.facts``."""
        found = super().facts()
        if self._state in ("newer", "broken") or self._unreadable:
            why = {"newer": "was written by a newer version", "broken": "cannot be understood"}
            raise StoreUnavailableError(
                self._unreadable or f"{self.path} {why[self._state]}.", hint="Mend it, or move it away, and try again."
            )
        return found

    def forget(self, sender: str) -> None:
        """See ``MemberDirectory.forget``. Copies of the file that could not be read are removed, because nobody can
        tell whom they name.
        """
        self._file.remove_broken()
        super().forget(sender)

    def _change(self, change: Change) -> None:
        with self._mutex:
            if self._state == "absent":
                self._refresh()
            if not change(self._document):
                return
            self._pending.append(change)
            self._flush(_LOCK_TIMEOUT)

    def flush(self, timeout: float) -> bool:
        """See ``MemberDirectory.flush``."""
        until = time.monotonic() + timeout
        if not self._mutex.acquire(timeout=max(0.0, timeout)):  # another thread waits for the disk, perhaps forever
            return False
        try:
            if self._held_up:
                self._flush(max(0.0, until - time.monotonic()))
            return not self._held_up
        finally:
            self._mutex.release()

    def _flush(self, timeout: float) -> None:
        try:
            self._write(timeout)
        finally:  # the file of a newer version is left alone, so there is nothing to write later
            self._held_up = bool(self._pending) and self._state != "newer"

    def _write(self, timeout: float) -> None:
        with self._file.locked(timeout) as mine:
            if not mine:
                logger.debug("%s is locked; %d changes are waiting", self.path, len(self._pending))
                return
            changed = self._take(self._file.read())
            if self._state == "newer":
                return
            if self._state == "broken":
                self._file.move_aside()
            if changed:
                self._signature = self._file.write(self._document)
                self._state = "ok"
            self._pending.clear()

    def _refresh(self) -> None:
        try:
            signature = self._file.signature()
            if signature != self._signature:
                with self._mutex:
                    self._take(self._file.read())
            self._write_held_up()  # after reading, so that a read-only folder still tells who others are
            self._unreadable = ""
        except StoreError as error:
            # A message must not be lost for a name: the caller gets what this process knows.
            if str(error) != self._unreadable:
                logger.warning("members cannot be read, using what this process knows: %s %s", error, error.hint)
            self._unreadable = str(error)

    def _write_held_up(self) -> None:
        if self._held_up and self._mutex.acquire(blocking=False):
            try:
                self._flush(0.0)
            finally:
                self._mutex.release()

    def _take(self, snapshot: Snapshot) -> bool:
        """Take over what was read, with the waiting changes on top; True when they change it."""
        if snapshot.state != self._state:
            self._report(snapshot.state)
        self._state, self._signature = snapshot.state, snapshot.signature
        if snapshot.state in ("newer", "broken"):
            return True  # nothing can be read, so what this process knows is everything
        document = empty() | snapshot.document
        changed = [change(document) for change in self._pending]
        self._document = document
        return any(changed)

    def _report(self, state: str) -> None:
        if state == "newer":
            logger.warning("%s was written by a newer version; keeping members in memory only", self.path)
        elif state == "broken":
            logger.warning("%s cannot be read; it will be replaced at the next change", self.path)
