"""Budgets in files: how much all processes of one machine have used lately."""

from math import isfinite
from pathlib import Path
from typing import Any, Final

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.files.key_values import Clock, SharedFiles

__all__ = ["FileBudget"]

_SLICES: Final = 20


class FileBudget:
    """``Budget`` in the folder ``.state/locks/budgets`` of a store.

    The window slides in twentieths: what was taken counts until its whole twentieth has left the window, so a budget is
    never exceeded, and frees up at most one twentieth late. ``wait`` (seconds) bounds the wait for another process's
    call; StoreBusyError after that.
    """

    def __init__(self, base_dir: str | Path, *, wait: float = 0.05, clock: Clock | None = None) -> None:
        self._files: SharedFiles = SharedFiles(base_dir, "budgets", wait=wait, grace=0.0, clock=clock)

    @property
    def blocking(self) -> bool:
        """False: it takes microseconds."""
        return False

    def take(self, name: str, cost: int = 1, *, limit: int, window: float) -> bool:
        """See ``Budget.take``. Raises ConfigError for an invalid ``window`` or ``cost``."""
        _check(cost, window)
        name = _named(name, window)
        with self._files.change(name) as (drawer, key):
            now = self._files.now(name)
            used = _used(drawer.facts.get(key), now, window)
            if sum(used.values()) + cost > limit:
                return False
            this = str(_slice(now, window))
            used[this] = used.get(this, 0) + cost
            drawer.facts[key] = {"used": used, "expires": now + window * (1 + 1 / _SLICES)}
            drawer.changed = cost > 0
            return True

    def used(self, name: str, *, window: float) -> int:
        """See ``Budget.used``; takes no lock. Raises ConfigError for an invalid ``window``."""
        _check(0, window)
        name = _named(name, window)
        fact = self._files.look(name)
        return sum(_used(fact, self._files.now(name), window).values())


def _check(cost: int, window: float) -> None:
    if cost < 0 or not (isfinite(window) and window > 0):
        raise ConfigError(
            f"A budget cannot be counted with a cost of {cost} and a window of {window} seconds.",
            hint="Give a cost of 0 or more and a window above 0.",
        )


def _named(name: str, window: float) -> str:
    return f"{float(window)!r} {name}"


def _slice(now: float, window: float) -> int:
    return int(now / window * _SLICES)


def _used(fact: dict[str, Any] | None, now: float, window: float) -> dict[str, int]:
    """What is still in the window, by slice. Setting the clock back frees nothing within one window."""
    used = fact.get("used") if fact else None
    if not isinstance(used, dict):
        return {}
    this = _slice(now, window)
    near = {str(number) for number in range(this - _SLICES, this + _SLICES + 1)}
    return {name: count for name, count in used.items() if name in near and isinstance(count, int) and count > 0}
