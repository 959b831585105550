"""The cached boxes and read marks of this process."""

import threading
from typing import Final

from transcript_mcp.filebox.box import BoxView
from transcript_mcp.filebox.folders import MailboxFolder
from transcript_mcp.filebox.read_marks import ReadMarks
from transcript_mcp.filebox.values import Box

__all__ = ["Views"]


class Views:
    """One per process. Thread-safe."""

    def __init__(self) -> None:
        self._mutex: Final = threading.Lock()
        self._boxes: Final[dict[tuple[str, Box], BoxView]] = {}
        self._marks: Final[dict[str, ReadMarks]] = {}

    def box(self, mailbox: MailboxFolder, box: Box) -> BoxView:
        """The view of one box."""
        with self._mutex:
            if (mailbox.key, box) not in self._boxes:
                self._boxes[mailbox.key, box] = BoxView(mailbox, box)
            return self._boxes[mailbox.key, box]

    def marks(self, mailbox: MailboxFolder) -> ReadMarks:
        """The read marks of a mailbox."""
        with self._mutex:
            if mailbox.key not in self._marks:
                self._marks[mailbox.key] = ReadMarks(mailbox)
            return self._marks[mailbox.key]
