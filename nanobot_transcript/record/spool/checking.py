"""Whether what this machine has accepted is handed on."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from nanobot_transcript.errors import StoreError
from nanobot_transcript.finding import Finding
from nanobot_transcript.record.spool.waiting import Waiting, waiting_in

__all__ = ["check"]

_LONG: Final = 60.0
"""Seconds after which what waits is worth a warning."""


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
