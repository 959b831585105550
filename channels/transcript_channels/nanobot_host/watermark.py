"""How far each of nanobot's sessions has been told what was said in its group.

One file per bot and session under ``.state/cursors``; a restart of the gateway finds it again, because nanobot's
session, in which the lines stand, outlives the restart too.
"""

import hashlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from transcript_channels.nanobot_host.statefiles import make_folder, read_json, write_json

__all__ = ["Holding", "Watermark", "Watermarks", "digest"]

logger = logging.getLogger(__name__)

_VERSION: Final = 1
_CACHED: Final = 512
_TURNS: Final = 64
_TOLD: Final = 256
_WAITING: Final = 16
_FILES: Final = 5000


@dataclass(frozen=True, slots=True)
class Watermark:
    """``cursor`` is the store's position up to which the session was told.

    ``turns`` are the session's newest own messages, each with a digest of its text as nanobot keeps it; ``told`` are
    the newest messages of others that the session was shown; ``waiting`` those that had no readable text yet.
    """

    cursor: str
    turns: Mapping[str, str] = field(default_factory=dict)
    told: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()

    def moved(self, cursor: str, waiting: Iterable[str] = ()) -> "Watermark":
        """The mark at another position, with what now waits."""
        return replace(self, cursor=cursor, waiting=tuple(waiting)[-_WAITING:])

    def with_turn(self, message_id: str | None, text: str | None) -> "Watermark":
        """The mark after another turn of the session."""
        if not message_id:
            return self
        turns = {**self.turns, message_id: digest(text or "")}
        return replace(self, turns=dict(list(turns.items())[-_TURNS:]))

    def with_told(self, message_ids: Iterable[str | None]) -> "Watermark":
        """The mark after these messages were shown."""
        told = dict.fromkeys((*self.told, *filter(None, message_ids)))
        return replace(self, told=tuple(told)[-_TOLD:])


@dataclass(frozen=True, slots=True)
class Holding:
    """A session that holds a message; ``digest`` is set when it was a turn of its own."""

    session_key: str
    digest: str | None


class Watermarks:
    """The marks of all sessions of the bots of this process."""

    def __init__(self, base_dir: Path) -> None:
        self._base: Path = base_dir
        self._folder: Path = base_dir / ".state" / "cursors"
        self._cache: OrderedDict[str, Watermark] = OrderedDict()
        self._mutex: threading.Lock = threading.Lock()

    def load(self, app_id: str, session_key: str) -> Watermark | None:
        """The mark of a session; None when it was told nothing yet."""
        name = _name(app_id, session_key)
        mark = self._cache.get(name)
        if mark is None:
            document = _read(self._folder / name)
            mark = _mark(document) if document is not None else None
            if mark is not None:
                self._keep(name, mark)
        return mark

    def save(self, app_id: str, session_key: str, mark: Watermark) -> None:
        """Keep a mark, in memory even when the disk refuses."""
        name = _name(app_id, session_key)
        self._keep(name, mark)
        document: dict[str, Any] = {"v": _VERSION, "app_id": app_id, "session": session_key, "cursor": mark.cursor}
        document |= {"turns": dict(mark.turns), "told": list(mark.told), "waiting": list(mark.waiting)}
        try:
            path = self._folder / name
            if (read_json(path) or document).get("v") != _VERSION:
                return  # written by a newer version, which may come back
            make_folder(self._base, self._folder)
            write_json(path, document)
        except OSError as error:
            logger.warning("How far a session was told is kept until the next restart only: %s", error)

    def holding(self, app_ids: Iterable[str], message_id: str) -> list[Holding]:
        """The sessions of these bots that hold a message."""
        wanted, found = set(app_ids), []
        for path in self._files():
            document = _read(path)
            if document is None or document.get("app_id") not in wanted:
                continue
            mark, session_key = _mark(document), document.get("session")
            if mark is None or not isinstance(session_key, str):
                continue
            if message_id in mark.turns or message_id in mark.told:
                found.append(Holding(session_key, mark.turns.get(message_id)))
        return found

    def prune(self, keep: int = _FILES) -> int:
        """Remove the marks of the sessions that were quiet longest; returns how many."""
        try:
            files = sorted(self._files(), key=lambda path: path.stat().st_mtime_ns, reverse=True)
            for path in files[keep:]:
                path.unlink(missing_ok=True)
        except FileNotFoundError:
            return 0  # another process was quicker
        return max(0, len(files) - keep)

    def _files(self) -> list[Path]:
        return list(self._folder.glob("*.json"))

    def _keep(self, name: str, mark: Watermark) -> None:
        with self._mutex:
            self._cache[name] = mark
            self._cache.move_to_end(name)
            while len(self._cache) > _CACHED:
                self._cache.popitem(last=False)


def digest(text: str) -> str:
    """A short fingerprint by which a text is found again without being kept."""
    return hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _name(app_id: str, session_key: str) -> str:
    text = f"{app_id}\0{session_key}".encode("utf-8", "surrogatepass")
    return f"{hashlib.sha256(text).hexdigest()[:32]}.json"


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return read_json(path)
    except OSError as error:
        logger.warning("%s cannot be read: %s", path, error)
        return None


def _mark(document: Mapping[str, Any]) -> Watermark | None:
    cursor, turns = document.get("cursor"), document.get("turns")
    if document.get("v") != _VERSION or not isinstance(cursor, str):
        return None
    kept = turns.items() if isinstance(turns, dict) else ()
    return Watermark(
        cursor,
        {key: value for key, value in kept if isinstance(value, str)},
        _strings(document.get("told")),
        _strings(document.get("waiting")),
    )


def _strings(values: Any) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str)) if isinstance(values, list) else ()
