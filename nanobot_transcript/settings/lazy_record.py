"""The record that settings describe, for those who may not need it: in a folder, opening it takes a while to import."""

import threading
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from nanobot_transcript.sql.location import Shelf

if TYPE_CHECKING:
    from nanobot_transcript.record import Record
    from nanobot_transcript.settings.model import Settings

__all__ = ["Opening"]


class Opening:
    """Opens the record once, when it is first asked for, and closes it with itself. For any thread."""

    def __init__(self, settings: "Settings") -> None:
        self._settings: Settings = settings
        self._mutex: threading.Lock = threading.Lock()
        self._record: Record | None = None

    @property
    def record(self) -> "Record":
        """With all its parts. Creates nothing until something is written."""
        with self._mutex:
            if self._record is None:
                self._record = self._settings.open_record()
            return self._record

    def shelf(self, folder: Path) -> Shelf:
        """See ``Record.shelf``. Raises ConfigError as ``Settings.open_record`` does."""
        self._settings.require("record")
        return Shelf(folder) if self._settings.record.address is None else self.record.shelf(folder)

    def close(self) -> None:
        """Release what is open, once, however many ask for it."""
        with self._mutex:
            record, self._record = self._record, None
        if record is not None:
            record.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()
