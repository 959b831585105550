"""How far each of nanobot's sessions has been told what was said in its group.

One file per bot and session under ``.state/cursors``; a restart of the gateway finds it again, because nanobot's
session, in which the lines stand, outlives the restart too.
"""

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from transcript_channels.nanobot_host.statefiles import make_folder, read_json, write_json

__all__ = ["Watermark", "Watermarks"]

logger = logging.getLogger(__name__)

_VERSION: Final = 1
_CACHED: Final = 512
_TURNS: Final = 64
_FILES: Final = 5000


@dataclass(frozen=True, slots=True)
class Watermark:
    """``cursor`` is the store's position up to which the session was told; ``turns`` are its newest own messages."""

    cursor: str
    turns: tuple[str, ...] = ()

    def moved(self, cursor: str, turn: str | None) -> "Watermark":
        """The mark after another turn."""
        turns = self.turns if not turn or turn in self.turns else (*self.turns, turn)[-_TURNS:]
        return Watermark(cursor, turns)


class Watermarks:
    """The marks of all sessions of the bots of this process."""

    def __init__(self, base_dir: Path) -> None:
        self._base: Path = base_dir
        self._folder: Path = base_dir / ".state" / "cursors"
        self._cache: OrderedDict[str, Watermark] = OrderedDict()

    def load(self, app_id: str, session_key: str) -> Watermark | None:
        """The mark of a session; None when it was told nothing yet."""
        name = _name(app_id, session_key)
        if name not in self._cache:
            mark = self._read(self._folder / name)
            if mark is None:
                return None
            self._keep(name, mark)
        return self._cache[name]

    def save(self, app_id: str, session_key: str, mark: Watermark) -> None:
        """Keep a mark, in memory even when the disk refuses."""
        name = _name(app_id, session_key)
        self._keep(name, mark)
        document = {"v": _VERSION, "app_id": app_id, "session": session_key}
        document |= {"cursor": mark.cursor, "turns": list(mark.turns)}
        try:
            path = self._folder / name
            if (read_json(path) or document).get("v") != _VERSION:
                return  # written by a newer version, which may come back
            make_folder(self._base, self._folder)
            write_json(path, document)
        except OSError as error:
            logger.warning("How far a session was told is kept until the next restart only: %s", error)

    def prune(self, keep: int = _FILES) -> int:
        """Remove the marks of the sessions that were quiet longest; returns how many."""
        try:
            files = sorted(self._folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
            for path in files[keep:]:
                path.unlink(missing_ok=True)
        except FileNotFoundError:
            return 0  # another process was quicker
        return max(0, len(files) - keep)

    def _read(self, path: Path) -> Watermark | None:
        try:
            document = read_json(path)
        except OSError as error:
            logger.warning("%s cannot be read: %s", path, error)
            return None
        return _mark(document) if document is not None else None

    def _keep(self, name: str, mark: Watermark) -> None:
        self._cache[name] = mark
        self._cache.move_to_end(name)
        while len(self._cache) > _CACHED:
            self._cache.popitem(last=False)


def _name(app_id: str, session_key: str) -> str:
    text = f"{app_id}\0{session_key}".encode("utf-8", "surrogatepass")
    return f"{hashlib.sha256(text).hexdigest()[:32]}.json"


def _mark(document: dict[str, Any]) -> Watermark | None:
    cursor, turns = document.get("cursor"), document.get("turns")
    if document.get("v") != _VERSION or not isinstance(cursor, str):
        return None
    return Watermark(cursor, _strings(turns if isinstance(turns, list) else ()))


def _strings(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str))
