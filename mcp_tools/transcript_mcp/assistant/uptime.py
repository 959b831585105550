"""How long ago something was, whatever was done to the clock meanwhile: counted from the start of this machine."""

import sys
import time
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

__all__ = ["Moment", "moment"]

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
"""Another one after each start of the machine; see random(4)."""


class Moment(msgspec.Struct, frozen=True):
    """``seconds`` after the start ``boot`` of a machine, while it slept counted, too.

    ``boot`` is empty where the system does not tell one start from another.
    """

    boot: str = ""
    seconds: float = 0.0

    def until(self, later: "Moment") -> float | None:
        """Seconds between the two; None when the machine was started anew, or nobody knows."""
        return later.seconds - self.seconds if self.boot and self.boot == later.boot else None


def moment() -> Moment:
    """Now."""
    boot = _boot()
    if sys.platform != "linux" or not boot:
        return Moment()
    return Moment(boot, time.clock_gettime(time.CLOCK_BOOTTIME))


@cache
def _boot() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
