"""The values of the IO bridge: items, limits, and the state of sessions."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Direction", "Item", "Limits", "Put", "Queued", "SessionState"]

Direction: TypeAlias = Literal["in", "out"]
"""``in``: from a person to the agent; ``out``: from the agent to whoever reads."""


@dataclass(frozen=True, slots=True)
class Item:
    """One input or output. ``seq`` grows with every item of the store and is never given twice."""

    seq: int
    session: str
    direction: Direction
    text: str


@dataclass(frozen=True, slots=True)
class Put:
    """The result of ``put``. ``repeated``: its key was known, so nothing was queued. ``confirmed``: how many inputs
    were confirmed with it.
    """

    seq: int
    repeated: bool = False
    confirmed: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """``items`` and ``bytes``: of each direction of a session. ``sessions``: in the store. ``keep``: seconds after
    which an unused session is removed with its items.
    """

    items: int = 1000
    bytes: int = 16 * 1024 * 1024
    sessions: int = 10_000
    keep: float = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class Queued:
    """An item in a queue. ``state``: ``queued``, ``handed`` (on its way) or ``delivered`` (not confirmed yet).

    ``text`` may be only its beginning; ``size`` is that of the whole, in bytes of UTF-8. ``created_ts`` is in seconds
    since 1970.
    """

    seq: int
    direction: Direction
    text: str
    size: int
    created_ts: float
    state: Literal["queued", "handed", "delivered"]


@dataclass(frozen=True, slots=True)
class SessionState:
    """A session: how much is queued in both directions, and how many callers wait.

    ``unconfirmed`` of the ``inputs`` were delivered to the agent. Sizes are in bytes, times in seconds since 1970; both
    times are 0 for a session that has waiting callers but never had an item.
    """

    id: str
    created_ts: float = 0.0
    active_ts: float = 0.0
    inputs: int = 0
    unconfirmed: int = 0
    input_bytes: int = 0
    outputs: int = 0
    output_bytes: int = 0
    waiting_agents: int = 0
    waiting_readers: int = 0
