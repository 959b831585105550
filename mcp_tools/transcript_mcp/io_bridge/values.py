"""What the queues hold and what is told of them."""

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
    """What became of an item that was handed in; ``repeated`` when its key was known already and nothing was queued.

    ``confirmed`` is how many inputs it has confirmed.
    """

    seq: int
    repeated: bool = False
    confirmed: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """``items`` and ``bytes`` bound each direction of a session, ``sessions`` all there are.

    ``keep`` is in seconds: a session in which nothing happens for so long is removed with what it holds.
    """

    items: int = 1000
    bytes: int = 16 * 1024 * 1024
    sessions: int = 10_000
    keep: float = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class Queued:
    """An item that lies in a queue. ``state`` is ``queued``, ``handed`` (on its way) or ``delivered`` (unconfirmed).

    ``text`` may be only its beginning: the whole has ``size`` bytes in UTF-8. ``created_ts`` is in seconds since 1970.
    """

    seq: int
    direction: Direction
    text: str
    size: int
    created_ts: float
    state: Literal["queued", "handed", "delivered"]


@dataclass(frozen=True, slots=True)
class SessionState:
    """A session: how much lies in both directions, and who waits for something to come.

    ``unconfirmed`` of the ``inputs`` are with the agent, which has not confirmed them yet. Sizes are in bytes, times in
    seconds since 1970; both times are 0 for a session that somebody waits in and that holds nothing yet.
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
