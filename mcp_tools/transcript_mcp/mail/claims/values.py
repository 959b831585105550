"""Values of file claims: options, claims, results. Times are seconds since 1970, to the millisecond."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["ClaimOptions", "Claimed", "Conflict", "Extended", "FileClaim", "Released"]


@dataclass(frozen=True, slots=True)
class ClaimOptions:
    """Limits of claims: lifetimes in seconds (``default_ttl`` where a call gives none), paths per call, and active
    claims per agent and per project."""

    default_ttl: float = 3600.0
    shortest_ttl: float = 60.0
    longest_ttl: float = 30 * 86_400.0
    max_paths: int = 200
    max_of_agent: int = 1000
    max_in_project: int = 10_000


@dataclass(frozen=True, slots=True)
class FileClaim:
    """One agent's claim on one path. ``path`` is a path or pattern in the project (see ``patterns``).

    ``project`` is the project's key and ``home`` that of the agent's. ``released_ts`` is None until it was released.
    """

    id: int
    project: str
    agent: str
    home: str
    path: str
    exclusive: bool
    reason: str
    created_ts: float
    expires_ts: float
    released_ts: float | None


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why ``path`` was not granted: ``holder`` has ``pattern`` until ``expires_ts``."""

    path: str
    holder: str
    pattern: str
    reason: str
    expires_ts: float
    exclusive: bool


@dataclass(frozen=True, slots=True)
class Claimed:
    """The answer to a request: every path is granted until ``expires_ts`` or later, or none because of conflicts.

    ``job`` is the number of the archive job; ``more_conflicts`` counts conflicts beyond those that are listed.
    """

    granted: Sequence[str]
    conflicts: Sequence[Conflict]
    expires_ts: float | None
    job: int | None
    more_conflicts: int = 0


@dataclass(frozen=True, slots=True)
class Extended:
    """Claims that now last until ``expires_ts`` or later, and the paths on which the agent holds no claim."""

    renewed: Sequence[str]
    not_held: Sequence[str]
    expires_ts: float | None
    job: int | None


@dataclass(frozen=True, slots=True)
class Released:
    """Claims that were released; ``not_held`` are the named paths on which the agent held no claim.

    When paths were named, ``still_held`` lists its other claims in the project, and ``more_still_held`` counts those
    beyond the list.
    """

    released: Sequence[str]
    not_held: Sequence[str]
    job: int | None
    still_held: Sequence[str] = ()
    more_still_held: int = 0
