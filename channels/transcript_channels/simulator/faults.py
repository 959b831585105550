"""Faults on request: what a chosen API call answers instead of its normal answer."""

import fnmatch
from dataclasses import dataclass, field

from transcript_channels.simulator.world import App

__all__ = ["Fault", "Faults", "rate_limit_headers"]


@dataclass(eq=False, slots=True)
class Fault:
    """One fault. With a ``code`` the answer is the platform's JSON, with only a ``status`` an HTML page (a
    gateway in between), with neither the normal answer comes after ``delay`` seconds.

    ``after``: the call takes effect, only its answer is lost. ``drop``: the line is cut without any answer.
    ``times``: how often, None = until ``remove()``.
    """

    route: str
    code: int | None = None
    status: int | None = None
    msg: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    after: bool = False
    drop: bool = False
    times: int | None = 1
    app: App | None = None
    hits: int = 0

    @property
    def active(self) -> bool:
        """True until it has struck ``times`` times."""
        return self.times is None or self.hits < self.times

    def remove(self) -> None:
        """End it."""
        self.times = self.hits

    def matches(self, method: str, paths: tuple[str, ...], app: App | None) -> bool:
        """True when it is meant for this call; ``*`` in the route stands for anything."""
        if not self.active or self.app not in (None, app):
            return False
        wanted_method, _, wanted_path = self.route.rpartition(" ")
        if wanted_method not in ("", "*", method):
            return False
        return any(path == wanted_path or fnmatch.fnmatchcase(path, wanted_path) for path in paths)


class Faults:
    """The faults in force, the oldest first."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> Fault:
        """Put a fault in force."""
        self._faults.append(fault)
        return fault

    def strike(self, method: str, paths: tuple[str, ...], app: App | None) -> Fault | None:
        """The fault for this call, counted as used."""
        for fault in self._faults:
            if fault.matches(method, paths, app):
                fault.hits += 1
                return fault
        return None

    def clear(self) -> None:
        """End all."""
        self._faults.clear()


def rate_limit_headers(limit: int, reset: float) -> dict[str, str]:
    """What the platform sends with a frequency limit: seconds until the next window, no ``Retry-After``."""
    return {"x-ogw-ratelimit-limit": str(limit), "x-ogw-ratelimit-reset": f"{reset:g}"}
