"""What waits in a spool directory, of all processes, for the person who runs them."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from nanobot_transcript.errors import StoreError
from nanobot_transcript.findings import Finding
from nanobot_transcript.record.spool.folder import Folder
from nanobot_transcript.record.spool.slot import folders_in, slots_in

__all__ = ["Waiting", "check", "waiting_in"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """``lines`` and ``bytes`` that are not handed on; ``oldest_ms``, when the first of them was received (ms, None
    without one); ``error``, why they are not handed on, if known; ``refused``, how many lines the record refused for
    good. ``others`` is how many lines wait for other records, ``whose`` the addresses of these, where known.
    """

    lines: int = 0
    bytes: int = 0
    oldest_ms: float | None = None
    error: str = ""
    refused: int = 0
    others: int = 0
    whose: tuple[str, ...] = ()


def waiting_in(spool_dir: str | Path, address: str | None = None, identity: str = "") -> Waiting:
    """What waits for the record with this address (see ``FarBackend.address``) and ``identity`` (where known); without
    an address, for any record. Changes nothing, and may run while processes use it. Raises StoreError kinds.
    """
    looked = _Looked()
    for slot in slots_in(Path(spool_dir).expanduser()):
        is_ours = True
        for path in folders_in(slot):
            folder = Folder(path, address=address or "")
            is_ours = address is None or folder.is_for(identity)
            looked.count(folder, is_ours=is_ours)
            folder.close()
        if is_ours:
            looked.errors += _trouble(slot / "trouble")
        looked.refused += _refused(slot / "refused")
    return looked.told()


@dataclass(slots=True)
class _Looked:
    lines: int = 0
    bytes: int = 0
    refused: int = 0
    others: int = 0
    whose: set[str] = field(default_factory=set[str])
    oldest: list[float] = field(default_factory=list[float])
    errors: list[str] = field(default_factory=list[str])

    def count(self, folder: Folder, *, is_ours: bool) -> None:
        for key in folder.chats():
            count, length = folder.behind(key)
            if not is_ours:
                self.others += count
                self.whose |= {folder.meant_for} if count and folder.is_elsewhere else set()
                continue
            self.lines, self.bytes = self.lines + count, self.bytes + length
            first = folder.first(key)
            if first is not None:
                self.oldest.append(first.get("rts", first["ts"]))

    def told(self) -> Waiting:
        oldest, error = min(self.oldest, default=None), self.errors[0] if self.errors else ""
        return Waiting(self.lines, self.bytes, oldest, error, self.refused, self.others, tuple(sorted(self.whose)))


def _trouble(path: Path) -> list[str]:
    try:
        return [path.read_text(encoding="utf-8")]
    except OSError:
        return []


def _refused(path: Path) -> int:
    if not path.is_dir():
        return 0
    folder = Folder(path)
    try:
        return sum(folder.behind(key)[0] for key in folder.chats())
    except StoreError:
        return 0
    finally:
        folder.close()


_LONG: Final = 60.0
"""Seconds after which waiting lines are worth a warning."""


def check(spool_dir: Path, address: str, identity: str) -> Iterator[Finding]:
    """Findings about what waits on this machine for a record; see ``waiting_in``. Leaves nothing behind."""
    try:
        waiting = waiting_in(spool_dir, address, identity)
    except StoreError as error:
        yield Finding("spool", "error", str(error), error.hint)
        return
    if waiting.refused:
        fix = f"Look into the folders `refused` in {spool_dir}."
        yield Finding("spool", "warning", f"The record refused {waiting.refused} lines for good; they are kept.", fix)
    if waiting.others:
        yield Finding("spool", "warning", *_others(waiting, spool_dir))
    if not waiting.lines:
        if not waiting.others:
            yield Finding("spool", "ok", f"Nothing waits in {spool_dir}.")
        return
    since = max(0.0, time.time() - (waiting.oldest_ms or 0) / 1000)
    told = f"{waiting.lines:,} lines ({waiting.bytes:,} bytes) wait in {spool_dir}, the oldest for {since:.0f} s."
    if since < _LONG:
        yield Finding("spool", "info", told)
    else:
        reason = f" {waiting.error}" if waiting.error else ""
        fix = "They are handed on when the database can be reached and a bot of this machine runs."
        yield Finding("spool", "warning", f"{told}{reason}", fix)


def _others(waiting: Waiting, spool_dir: Path) -> tuple[str, str]:
    told = f"{waiting.others:,} lines in {spool_dir} are for another record; bots of this one do not hand them on."
    whose = ", ".join(waiting.whose)
    return told, f"Start a bot of that record: {whose}." if whose else "Start a bot of that record."
