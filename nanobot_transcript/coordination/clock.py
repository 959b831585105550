"""How long ago something was, whatever was done to the clock meanwhile: counted from the start of this machine."""

import time
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

__all__ = ["CLOCK_TOLERANCE", "Moment", "by_the_clock", "moment"]

CLOCK_TOLERANCE: Final = 2.0
"""Seconds by which the clocks of two machines may differ before ``doctor`` warns of it."""

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
"""Another one after each start of the machine; see random(4)."""

_SET: Final = 5.0
"""Seconds by which a clock is off that somebody has set."""


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
    """Now; nothing is known where the system has no clock that goes on while the machine sleeps."""
    boot, clock = _boot(), getattr(time, "CLOCK_BOOTTIME", None)
    if not boot or clock is None:
        return Moment()
    try:
        return Moment(boot, time.clock_gettime(clock))
    except OSError:  # it has a name, and the system does not know it
        return Moment()


def by_the_clock(then: Moment, told: float) -> float:
    """When that was in seconds since 1970: ``told`` by the clock then, unless the clock has been set meanwhile."""
    passed = then.until(moment())
    if passed is None:
        return told
    found = time.time() - passed
    return found if abs(found - told) > _SET else told


@cache
def _boot() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
