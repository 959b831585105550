"""What a killed process held runs out when the test says so: nobody waits for it, and nobody who lives is too slow."""

from pathlib import Path
from typing import Final

from support.procs import until
from support.waiting import PATIENCE

from nanobot_transcript.turns import FileLease

__all__ = ["FOR_EVER", "held_by", "run_out"]

FOR_EVER: Final = 600.0
"""Seconds that no test lasts, and the most that the settings allow: for a lease that is not to run out by itself."""


def held_by(base_dir: Path, name: str) -> str:
    """Whose lease it is, empty when nobody's."""
    held = FileLease(base_dir, wait=PATIENCE).current(name)
    return held.holder if held is not None else ""


def run_out(base_dir: Path, name: str) -> None:
    """Let the lease of this name run out, as if its time were up. Somebody must hold it."""
    lease = FileLease(base_dir, wait=PATIENCE)
    held = lease.current(name)
    assert held is not None, f"nobody holds {name!r}"
    assert lease.renew(held, 0.001) is not None

    def is_over() -> bool:  # the clock of the file system has its own steps, and somebody may take it at once
        now = lease.current(name)
        return now is None or now.token != held.token

    until(is_over, "the lease ran out")
