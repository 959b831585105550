"""How far each of nanobot's sessions has been told what was said in its group.

There is one mark for each bot and session. It is kept across restarts, as nanobot keeps the session that was told.
"""

import hashlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from nanobot_transcript.coordination.contract import Marks
from nanobot_transcript.errors import StoreError

__all__ = ["KIND", "Watermark", "Watermarks", "digest"]

logger = logging.getLogger(__name__)

KIND: Final = "session"
_CACHED: Final = 512
_TURNS: Final = 64
_ANSWERS: Final = 64
_TOLD: Final = 256
_WAITING: Final = 16
_FILES: Final = 5000


@dataclass(frozen=True, slots=True)
class Watermark:
    """``cursor`` is the store's position up to which the session was told of its ``chat`` (a chat id).

    ``checked`` is the position up to which it is certain that nothing in the session was taken back; it moves when a
    new ``turn`` begins. ``turns`` are the session's newest own messages and ``answers`` the bot's, each with a digest
    of its text as nanobot keeps it; ``told`` are the newest messages of others that the session was shown;
    ``waiting`` those that had no readable text yet; ``members`` is a digest of the members that it knows of.
    """

    cursor: str
    chat: str = ""
    checked: str = ""
    turn: str = ""
    turns: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    told: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    members: str = ""

    def moved(self, cursor: str, waiting: Iterable[str] = ()) -> "Watermark":
        """The mark at another position, with what now waits."""
        return replace(self, cursor=cursor, waiting=tuple(waiting)[-_WAITING:])

    def with_turn(self, message_id: str | None, text: str | None) -> "Watermark":
        """The mark after another turn of the session."""
        return replace(self, turns=_added(self.turns, message_id, text, _TURNS)) if message_id else self

    def with_answer(self, message_id: str, text: str) -> "Watermark":
        """The mark after the bot said something in this session."""
        return replace(self, answers=_added(self.answers, message_id, text, _ANSWERS))

    def with_told(self, message_ids: Iterable[str | None]) -> "Watermark":
        """The mark after these messages were shown."""
        told = dict.fromkeys((*self.told, *filter(None, message_ids)))
        return replace(self, told=tuple(told)[-_TOLD:])

    def holds(self, message_id: str) -> bool:
        """True when the message is one of those the session was given or gave lately."""
        return message_id in self.told or message_id in self.turns or message_id in self.answers


@dataclass(slots=True, eq=False)
class Watermarks:
    """The marks of all sessions of this process's bots. May be used on an event loop if ``marks`` may."""

    marks: Marks
    _unreadable: bool = field(default=False, init=False)
    _cache: OrderedDict[tuple[str, str], Watermark] = field(default_factory=OrderedDict, init=False)
    _mutex: threading.Lock = field(default_factory=threading.Lock, init=False)
    _changing: threading.RLock = field(default_factory=threading.RLock, init=False)

    def load(self, app_id: str, session_key: str) -> Watermark | None:
        """The mark of a session; None when it was told nothing yet."""
        name = (app_id, session_key)
        mark = self._cache.get(name)
        if mark is None:
            mark = self._found(name)
            if mark is not None:
                self._keep(name, mark)
        return mark

    def change(self, app_id: str, session_key: str, change: Callable[[Watermark | None], Watermark | None]) -> None:
        """Replace a mark by what ``change`` makes of it; None leaves it. Locked: the event loop moves a mark on while a
        thread notes an answer in it.
        """
        with self._changing:
            mark = change(self.load(app_id, session_key))
            if mark is not None:
                self.save(app_id, session_key, mark)

    def save(self, app_id: str, session_key: str, mark: Watermark) -> None:
        """Keep a mark; when it cannot be written, in memory only."""
        name = (app_id, session_key)
        self._keep(name, mark)
        document: dict[str, Any] = {"app_id": app_id, "session": session_key, "cursor": mark.cursor}
        document |= {"chat": mark.chat, "checked": mark.checked, "turn": mark.turn}
        document |= {"turns": dict(mark.turns), "answers": dict(mark.answers)}
        document |= {"told": list(mark.told), "waiting": list(mark.waiting), "members": mark.members}
        try:
            self.marks.put(KIND, document, *name)
        except StoreError as error:
            logger.warning("A session's read position is kept only until the next restart: %s", error)

    def holding(self, app_ids: Iterable[str], message_id: str) -> list[str]:
        """The sessions of these bots that hold a message, as far as their newest messages tell."""
        wanted, found = set(app_ids), []
        for document in self.marks.each(KIND):
            if document.get("app_id") not in wanted:
                continue
            mark, session_key = _mark(document), document.get("session")
            if mark is not None and isinstance(session_key, str) and mark.holds(message_id):
                found.append(session_key)
        return found

    def prune(self, keep: int = _FILES) -> int:
        """Remove the marks of the sessions that were quiet longest; returns how many."""
        return self.marks.prune(KIND, keep)

    def _found(self, name: tuple[str, str]) -> Watermark | None:
        try:
            document = self.marks.get(KIND, *name)
        except StoreError as error:
            level = logging.DEBUG if self._unreadable else logging.WARNING  # it is asked again and again
            logger.log(level, "A session's read position cannot be read: %s", error)
            self._unreadable = True
            return None
        self._unreadable = False
        return _mark(document) if document is not None else None

    def _keep(self, name: tuple[str, str], mark: Watermark) -> None:
        with self._mutex:
            self._cache[name] = mark
            self._cache.move_to_end(name)
            while len(self._cache) > _CACHED:
                self._cache.popitem(last=False)


def digest(text: str) -> str:
    """A short hash by which a text is recognised without being kept; white space does not count."""
    return hashlib.sha256("".join(text.split()).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _added(digests: Mapping[str, str], message_id: str, text: str | None, limit: int) -> dict[str, str]:
    return dict(list({**digests, message_id: digest(text or "")}.items())[-limit:])


def _mark(document: Mapping[str, Any]) -> Watermark | None:
    cursor = document.get("cursor")
    if not isinstance(cursor, str):
        return None
    return Watermark(
        cursor,
        _string(document.get("chat")),
        _string(document.get("checked")),
        _string(document.get("turn")),
        _digests(document.get("turns")),
        _digests(document.get("answers")),
        _strings(document.get("told")),
        _strings(document.get("waiting")),
        _string(document.get("members")),
    )


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _digests(values: Any) -> dict[str, str]:
    kept = values.items() if isinstance(values, dict) else ()
    return {key: value for key, value in kept if isinstance(value, str)}


def _strings(values: Any) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str)) if isinstance(values, list) else ()
