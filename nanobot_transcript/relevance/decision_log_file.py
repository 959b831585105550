"""The decision log in files: ``<store>/.state/decisions/<chat>.log``, rotated to ``.1`` … ``.3`` when full; one JSON
line for each decision.
"""

import contextlib
import hashlib
import logging
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec

from nanobot_transcript.errors import StoreError, StoreUnavailableError
from nanobot_transcript.files.descriptors import to_append, to_read
from nanobot_transcript.files.layout import STATE_FOLDER, UNSAFE, make_folders
from nanobot_transcript.files.os_errors import store_error
from nanobot_transcript.relevance.decision import Decision, Stage
from nanobot_transcript.relevance.decision_log import FORMAT, decision_record

__all__ = ["FileDecisionLog"]

logger = logging.getLogger(__name__)

_MAX_BYTES: Final = 1_000_000
_KEPT: Final = 3
_MOST_TIMES: Final = 2
_WAIT: Final = 0.02
_BLOCK: Final = 131_072
_OLDER_BLOCKS: Final = 2
_CLOCKS_DIFFER: Final = 60_000
"""Milliseconds by which a file system's clock may be behind the writer's."""
_LOG: Final = re.compile(r"\.log(\.\d+)?$")
_NUMBER: Final = re.compile(r"\.\d+$")
_ENDS: Final = (Stage.ANSWER, Stage.CORRECTION)
_SUMMED: Final = (*_ENDS, Stage.JUDGE)
_LIKELY: Final = re.compile(rb'"(?:answer|correction|judge)"')


class FileDecisionLog:
    """``DecisionLog`` below the store in ``base_dir``."""

    def __init__(self, base_dir: str | Path, *, max_bytes: int = _MAX_BYTES, kept: int = _KEPT) -> None:
        self._base: Path = Path(base_dir)
        self.folder: Path = self._base / STATE_FOLDER / "decisions"
        self._max_bytes = max_bytes
        self._kept = max(1, kept)
        self._complained: set[str] = set()
        self._versions: dict[Path, tuple[int, bool]] = {}
        self._noted: dict[Path, _Noted] = {}

    def path_of(self, session_key: str) -> Path:
        """The file that decisions about a chat are appended to."""
        digest = hashlib.sha256(session_key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return self.folder / f"{UNSAFE.sub('_', session_key)[:40]}-{digest}.log"

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
                logger.warning("decisions cannot be logged in %s: %s", path.name, error)
            return False
        return True

    def read(self, session_key: str, message_id: str | None = None) -> list[dict[str, Any]]:
        """See ``DecisionLog.read``. Lines that cannot be decoded are skipped."""
        path = self.path_of(session_key)
        files: dict[int, list[dict[str, Any]]] = {}
        for number in range(self._kept + 1):  # upwards: a file rotated meanwhile is read twice rather than missed
            inode, records = _records(_numbered(path, number))
            files.setdefault(inode, records)
        return [
            record
            for records in reversed(files.values())
            for record in records
            if record.get("chat") == session_key and (message_id is None or record.get("message_id") == message_id)
        ]

    def chats(self) -> list[str]:
        """The session keys of all chats with decisions."""
        found: set[str] = set()
        for path in _logs(self.folder):
            numbered = (_records(_numbered(path, number))[1] for number in range(self._kept + 1))
            first = next((record for records in numbered for record in records), None)
            if first is not None and isinstance(first.get("chat"), str):
                found.add(first["chat"])
        return sorted(found)

    def records(self, session_key: str) -> list[dict[str, Any]]:
        """Everything still logged about a chat, oldest first."""
        return self.read(session_key)

    def fitting(self, records: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """The newest records of a chat that there is room for."""
        room, first = self._max_bytes * self._kept, len(records)
        while first and (room := room - len(msgspec.json.encode(records[first - 1])) - 1) >= 0:
            first -= 1
        return records[first:]

    def add(self, session_key: str, records: Sequence[dict[str, Any]]) -> None:
        """Add decisions of another record. Raises StoreError kinds."""
        path = self.path_of(session_key)
        try:
            for record in records:
                self._append(path, msgspec.json.encode(record) + b"\n")
        except OSError as error:
            store_error(error, str(path))
        except _NewerFormatError as error:
            raise StoreUnavailableError(
                f"{path} was written by a newer version.", hint="Update this installation of nanobot-transcript."
            ) from error

    def outcomes(self, since_ms: float) -> list[dict[str, Any]]:
        """See ``DecisionLog.outcomes``."""
        return [record for record in self._since(since_ms) if record.get("stage") in _ENDS]

    def judged(self, since_ms: float) -> list[dict[str, Any]]:
        """See ``DecisionLog.judged``."""
        return [record for record in self._since(since_ms) if record.get("stage") == Stage.JUDGE]

    def _since(self, since_ms: float) -> list[dict[str, Any]]:
        """Outcomes and judged decisions. Each changed file is read backwards to that time."""
        known, found = self._noted, dict[Path, _Noted]()
        for path in _logs(self.folder):
            inodes: set[int] = set()
            for number in range(self._kept + 1):  # see `read`
                numbered = _numbered(path, number)
                noted = _noted_in(numbered, since_ms, known.get(numbered))
                if noted is not None and noted.inode not in inodes:
                    inodes.add(noted.inode)
                    found[numbered] = noted
        self._noted = found
        records = [record for noted in found.values() for record in noted.records if _ts(record) >= since_ms]
        return sorted(records, key=_ts)

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
        """Rotate a full file. Two processes may do so at once: one that finds another file than the full one leaves it
        alone.

        Decisions are made on event loops, so nobody waits long for the lock: while another process has it, the full
        file grows a little more. Raises OSError when it has twice its size.
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
    """The file belongs to a newer version and is left alone."""


def _inode(path: Path) -> int | None:
    """None while there is no file: another process has rotated it and not created the next one yet."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}") if number else path


def _records(path: Path) -> tuple[int, list[dict[str, Any]]]:
    """The inode of a file (0 when there is none), and its records."""
    try:
        with os.fdopen(to_read(str(path)), "rb") as file:
            inode, lines = os.fstat(file.fileno()).st_ino, file.read().split(b"\n")
    except OSError:
        return 0, []
    return inode, [record for line in lines if (record := _decoded(line)) is not None]


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


class _Noted(NamedTuple):
    """Outcomes and judged decisions in a file as it once was: those of its ``records`` since a time (ms)."""

    inode: int
    size: int
    written_ns: int
    since_ms: float
    records: list[dict[str, Any]]


def _logs(folder: Path) -> list[Path]:
    """The current log file of each chat, including chats whose file was just rotated away."""
    try:
        names = [path.name for path in folder.iterdir() if _LOG.search(path.name)]
    except OSError:
        return []
    return sorted({folder / _NUMBER.sub("", name) for name in names})


def _noted_in(path: Path, since_ms: float, known: _Noted | None) -> _Noted | None:
    """None when nothing was written since then; ``known``, if still valid, is what was read before."""
    try:
        found = path.stat(follow_symlinks=False)
        if found.st_mtime_ns < (since_ms - _CLOCKS_DIFFER) * 1_000_000:
            return None
        stamp = found.st_ino, found.st_size, found.st_mtime_ns
        if known is not None and known[:3] == stamp and known.since_ms <= since_ms:
            return known
        with os.fdopen(to_read(str(path)), "rb") as file:
            found = os.fstat(file.fileno())
            stamp = found.st_ino, found.st_size, found.st_mtime_ns
            return _Noted(*stamp, since_ms, _records_since(file, found.st_size, since_ms))
    except OSError:
        return None


def _records_since(file: BinaryIO, size: int, since_ms: float) -> list[dict[str, Any]]:
    """Outcomes and judged decisions since then: read from the end, because lines are in order of time.

    A clock that was wrong for a while leaves lines out of order, so only two older blocks in a row end the search.
    """
    found, end, rest, older = list[dict[str, Any]](), size, b"", 0
    while end > 0 and older < _OLDER_BLOCKS:
        start = max(0, end - _BLOCK)
        file.seek(start)
        block, end = file.read(end - start) + rest, start
        rest, _, block = block.partition(b"\n") if start else (b"", b"", block)
        lines = block.split(b"\n")
        ends = [record for line in (lines[0], *lines[-2:]) if (record := _decoded(line)) is not None]
        older = older + 1 if ends and all(_ts(each) < since_ms - _CLOCKS_DIFFER for each in ends) else 0
        records = (_decoded(line) for line in lines if _LIKELY.search(line))
        wanted = (each for each in records if each and each.get("stage") in _SUMMED and _ts(each) >= since_ms)
        found[:0] = wanted
    return found


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
