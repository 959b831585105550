"""The decision log in files: ``<store>/.state/decisions/<chat>.log`` and, when that was full, ``.1`` to ``.3`` behind
it, one JSON line for each decision.
"""

import contextlib
import hashlib
import logging
import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from nanobot_transcript.errors import StoreError
from nanobot_transcript.files.descriptors import to_append, to_read
from nanobot_transcript.files.layout import STATE_FOLDER, make_folders
from nanobot_transcript.relevance.decision import Decision, Stage
from nanobot_transcript.relevance.log import FORMAT, decision_record

__all__ = ["FileDecisionLog"]

logger = logging.getLogger(__name__)

_MAX_BYTES: Final = 1_000_000
_KEPT: Final = 3
_MOST_TIMES: Final = 2
_WAIT: Final = 0.02
_MOST_FILES: Final = 40
_CLOCKS_DIFFER: Final = 60_000
"""Milliseconds by which a file system's clock may be behind that of who wrote."""
_LOG: Final = re.compile(r"\.log(\.\d+)?$")
_ENDS: Final = (Stage.ANSWER, Stage.CORRECTION)
_OUTCOME: Final = re.compile(rb'"(?:answer|correction)"')
_JUDGED: Final = re.compile(rb'"judge"')
_ANY: Final = re.compile(b"")
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]+")


class FileDecisionLog:
    """``DecisionLog`` below the store in ``base_dir``."""

    def __init__(self, base_dir: str | Path, *, max_bytes: int = _MAX_BYTES, kept: int = _KEPT) -> None:
        self._base: Path = Path(base_dir)
        self.folder: Path = self._base / STATE_FOLDER / "decisions"
        self._max_bytes = max_bytes
        self._kept = max(1, kept)
        self._complained: set[str] = set()
        self._versions: dict[Path, tuple[int, bool]] = {}

    def path_of(self, session_key: str) -> Path:
        """The file that decisions about a chat are appended to."""
        digest = hashlib.sha256(session_key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return self.folder / f"{_UNSAFE.sub('_', session_key)[:40]}-{digest}.log"

    def write(self, session_key: str, decision: Decision, now_ms: float | None = None) -> bool:
        """See ``DecisionLog.write``: with one ``write``."""
        record = decision_record(decision, session_key, time.time() * 1000 if now_ms is None else now_ms)
        path = self.path_of(session_key)
        try:
            line = msgspec.json.encode(record) + b"\n"
            self._append(path, line)
        except (OSError, StoreError, _NewerFormatError, msgspec.EncodeError, UnicodeError) as error:
            if str(path) not in self._complained:
                self._complained.add(str(path))
                logger.warning("decisions are not noted in %s: %s", path.name, error)
            return False
        return True

    def read(self, session_key: str, message_id: str | None = None) -> list[dict[str, Any]]:
        """See ``DecisionLog.read``. Lines that are none are left out."""
        path = self.path_of(session_key)
        files: dict[int, list[dict[str, Any]]] = {}
        for number in range(self._kept + 1):  # a file that another process moves on meanwhile is met again, not missed
            inode, records = _records(_numbered(path, number))
            files.setdefault(inode, records)
        return [
            record
            for records in reversed(files.values())
            for record in records
            if record.get("chat") == session_key and (message_id is None or record.get("message_id") == message_id)
        ]

    def outcomes(self, since_ms: float) -> list[dict[str, Any]]:
        """See ``DecisionLog.outcomes``: in the files that were written to last."""
        return self._since(since_ms, _OUTCOME, _ENDS)

    def judged(self, since_ms: float) -> list[dict[str, Any]]:
        """See ``DecisionLog.judged``: in the same files."""
        return self._since(since_ms, _JUDGED, (Stage.JUDGE,))

    def _since(self, since_ms: float, holding: re.Pattern[bytes], stages: tuple[Stage, ...]) -> list[dict[str, Any]]:
        written = sorted(_written(self.folder), reverse=True)[:_MOST_FILES]
        found = [
            record
            for at_ns, path in written
            if at_ns >= (since_ms - _CLOCKS_DIFFER) * 1_000_000
            for record in _records(path, holding=holding)[1]
            if record.get("stage") in stages and _ts(record) >= since_ms
        ]
        return sorted(found, key=_ts)

    def editions(self, session_keys: Iterable[str]) -> dict[str, object]:
        """See ``DecisionLog.editions``: one look at the folder for all of them."""
        stamps = dict(_stamps(self.folder))
        return {key: stamps.get(self.path_of(key).name) for key in session_keys}

    def _append(self, path: Path, line: bytes) -> None:
        make_folders(self._base, self.folder)
        descriptor = to_append(str(path))
        try:
            found = os.fstat(descriptor)
            self._refuse_newer(path, found.st_ino)
            if found.st_size + len(line) > self._max_bytes and found.st_size:
                os.close(descriptor)
                descriptor = -1
                self._rotate(path, found)
                descriptor = to_append(str(path))
            os.write(descriptor, line)
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def _refuse_newer(self, path: Path, inode: int) -> None:
        known = self._versions.get(path)
        if known is None or known[0] != inode:
            known = self._versions[path] = (inode, _is_newer(path))
        if known[1]:
            raise _NewerFormatError("it was written by a newer version")

    def _rotate(self, path: Path, found: os.stat_result) -> None:
        """Make room. Two processes may come here at once: who finds another file than the full one leaves it.

        Nobody waits long for the lock, as decisions are made on event loops: while another process has it, the full
        file takes a little more. Raises OSError when it holds twice what it may.
        """
        import filelock

        try:
            with filelock.FileLock(self.folder / "rotate.lock", timeout=_WAIT, mode=0o600, poll_interval=0.002):
                if _inode(path) == found.st_ino:
                    self._move_on(path)
        except filelock.Timeout:
            if found.st_size > _MOST_TIMES * self._max_bytes:
                raise

    def _move_on(self, path: Path) -> None:
        for number in range(self._kept, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                _numbered(path, number - 1).replace(_numbered(path, number))


class _NewerFormatError(Exception):
    """The file belongs to a newer version and is left as it is."""


def _inode(path: Path) -> int | None:
    """None while there is no file: another process has moved it on and not begun the next one."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}") if number else path


def _records(path: Path, holding: re.Pattern[bytes] = _ANY) -> tuple[int, list[dict[str, Any]]]:
    """The inode of a file (0 where there is none), and what is in it, in lines that hold certain letters."""
    try:
        with os.fdopen(to_read(str(path)), "rb") as file:
            inode, lines = os.fstat(file.fileno()).st_ino, file.read().split(b"\n")
    except OSError:
        return 0, []
    return inode, [record for line in lines if holding.search(line) and (record := _decoded(line)) is not None]


def _decoded(line: bytes) -> dict[str, Any] | None:
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
        record = msgspec.json.decode(line) if line else None
        if isinstance(record, dict) and record.get("v") == FORMAT:
            return record
    return None


def _stamps(folder: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".log"):
                    with contextlib.suppress(FileNotFoundError):
                        found = entry.stat(follow_symlinks=False)
                        yield entry.name, (found.st_mtime_ns, found.st_size)
    except OSError:
        return


def _written(folder: Path) -> Iterator[tuple[int, Path]]:
    """The files of all chats, and when each was written to (nanoseconds)."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if _LOG.search(entry.name):
                    with contextlib.suppress(FileNotFoundError):
                        yield entry.stat(follow_symlinks=False).st_mtime_ns, Path(entry.path)
    except OSError:
        return


def _ts(record: dict[str, Any]) -> float:
    ts = record.get("ts")
    return ts if isinstance(ts, int | float) else 0


def _is_newer(path: Path) -> bool:
    try:
        with os.fdopen(to_read(str(path)), "rb") as file:
            first = msgspec.json.decode(file.readline(4096))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return False
    version = first.get("v") if isinstance(first, dict) else None
    return isinstance(version, int) and version > FORMAT
