"""Elapsed time that survives changes of the clock and restarts of the process: counted from the boot of this
machine.
"""

import time
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

__all__ = ["CLOCK_TOLERANCE", "Moment", "by_the_clock", "moment"]

CLOCK_TOLERANCE: Final = 2.0
"""Seconds by which the clocks of two machines may differ before ``doctor`` warns of it."""

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
"""A new random id after each boot; see random(4)."""

_SET: Final = 5.0
"""Seconds; a larger difference means that somebody has set the clock."""


class Moment(msgspec.Struct, frozen=True):
    """``seconds`` after a machine's boot with the id ``boot``, including time asleep.

    ``boot`` is empty when the system cannot tell one boot from another.
    """

    boot: str = ""
    seconds: float = 0.0

    def until(self, later: "Moment") -> float | None:
        """Seconds between the two; None when the machine was rebooted in between, or when that is unknown."""
        return later.seconds - self.seconds if self.boot and self.boot == later.boot else None


def moment() -> Moment:
    """Now; empty when the system has no clock that runs while the machine sleeps."""
    boot, clock = _boot(), getattr(time, "CLOCK_BOOTTIME", None)
    if not boot or clock is None:
        return Moment()
    try:
        return Moment(boot, time.clock_gettime(clock))
    except OSError:  # the C library has the constant, the kernel has no such clock
        return Moment()


def by_the_clock(then: Moment, told: float) -> float:
    """A moment in seconds since 1970: ``told`` as the clock said then, unless the clock has been set since."""
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
