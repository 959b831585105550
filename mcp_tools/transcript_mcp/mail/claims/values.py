"""What goes into claims and what comes out of them. Times are seconds since 1970, to the millisecond."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["ClaimOptions", "Claimed", "Conflict", "Extended", "FileClaim", "Released"]


@dataclass(frozen=True, slots=True)
class ClaimOptions:
    """How long a claim may last, in seconds: ``default_ttl`` when nothing is said; how many paths one call may name,
    and how many active claims an agent and a project may have."""

    default_ttl: float = 3600.0
    shortest_ttl: float = 60.0
    longest_ttl: float = 30 * 86_400.0
    max_paths: int = 200
    max_of_agent: int = 1000
    max_in_project: int = 10_000


@dataclass(frozen=True, slots=True)
class FileClaim:
    """Who says that it works on what. ``path`` is a path or pattern in the project (see ``patterns``).

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
    """What was granted: everything that was asked for, all of it until ``expires_ts`` at least; or nothing, when there
    are conflicts.

    ``job`` is the number of the archive's job, ``more_conflicts`` how many there are beside those that are listed.
    """

    granted: Sequence[str]
    conflicts: Sequence[Conflict]
    expires_ts: float | None
    job: int | None
    more_conflicts: int = 0


@dataclass(frozen=True, slots=True)
class Extended:
    """Claims all of which last until ``expires_ts`` now, or longer, and the paths that the agent has no claim on."""

    renewed: Sequence[str]
    not_held: Sequence[str]
    expires_ts: float | None
    job: int | None


@dataclass(frozen=True, slots=True)
class Released:
    """Claims that were given back, and the paths of ``not_held`` that the agent had no claim on.

    ``still_held`` is what else it has in the project, where paths were named; ``more_still_held`` how many there are
    beside those that are listed.
    """

    released: Sequence[str]
    not_held: Sequence[str]
    job: int | None
    still_held: Sequence[str] = ()
    more_still_held: int = 0
