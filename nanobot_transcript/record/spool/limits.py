"""How much a spool keeps, and for how long."""

import random
from dataclasses import dataclass
from typing import Final

__all__ = ["SpoolLimits", "pause_after"]

_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 30.0


@dataclass(frozen=True, slots=True)
class SpoolLimits:
    """``bytes``: how much the files of waiting lines may take on disk; beyond that nothing more is accepted, as on a
    full disk.

    A folder of ``folder_bytes`` gets no more lines, and none stays longer than ``folder_seconds`` with nothing waiting
    in it. ``read_seconds``: how long a read waits for lines just written by this process to be handed on;
    ``close_seconds``: how long closing waits for all of them. ``look_seconds``: how often to look for folders of ended
    processes.
    """

    bytes: int = 1 << 30
    folder_bytes: int = 8 << 20
    folder_seconds: float = 60.0
    read_seconds: float = 0.2
    close_seconds: float = 5.0
    look_seconds: float = 5.0


def pause_after(failures: int) -> float:
    """Seconds until the next attempt after so many failures in a row: 0.1 to 30, randomised so that processes do not
    try in step.
    """
    longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(failures, 20))
    return max(_FIRST_PAUSE, longest * random.uniform(0.5, 1.0))
