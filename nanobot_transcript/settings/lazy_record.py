"""The record that the settings describe, opened when it is first needed: importing what it needs takes a while."""

import threading
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from nanobot_transcript.sql.location import Shelf

if TYPE_CHECKING:
    from nanobot_transcript.record import Record
    from nanobot_transcript.settings.model import Settings

__all__ = ["Opening"]


@dataclass(eq=False)
class Opening:
    """Opens the record once, when it is first asked for, and closes it with itself. For any thread."""

    settings: "Settings"
    _mutex: threading.Lock = field(default_factory=threading.Lock, init=False)
    _record: "Record | None" = field(default=None, init=False)

    @property
    def record(self) -> "Record":
        """With all its parts. Creates nothing until something is written."""
        with self._mutex:
            if self._record is None:
                self._record = self.settings.open_record()
            return self._record

    def shelf(self, folder: Path) -> Shelf:
        """See ``Record.shelf``. Raises ConfigError as ``Settings.open_record`` does."""
        self.settings.require("record")
        return Shelf(folder) if self.settings.record.address is None else self.record.shelf(folder)

    def close(self) -> None:
        """Release what is open, once, however many ask for it."""
        with self._mutex:
            record, self._record = self._record, None
        if record is not None:  # outside of the lock: closing waits for what is still being written
            record.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()
