"""What the loop must know before it answers, and whom it asks."""

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile, wrote
from nanobot_transcript.turns.speakers import addresses, id_at, ids_of

if TYPE_CHECKING:
    from nanobot_transcript.relevance.decision import Decision

__all__ = ["Choice", "Gate", "addressed", "before", "note"]

logger = logging.getLogger(__name__)


class Gate(Protocol):
    """Says whether a message is for this agent; ``RelevanceGate`` is one.

    A gate that has a method ``note`` is told by it what was decided afterwards; see ``note`` below.
    """

    def decide(
        self,
        message: Entry,
        history: Sequence[Entry],
        agent: AgentProfile,
        members: Sequence[AgentProfile],
        *,
        owner: str | None = None,
        now_ms: float | None = None,
        session_key: str = "",
    ) -> "Decision":
        """The decision; its ``respond`` is None while undecided. Waits for nothing."""
        ...

    async def resolve(self, decision: "Decision") -> "Decision":
        """The decision, settled by the judge if it was undecided, and noted."""
        ...


class Choice(NamedTuple):
    """Whether this agent answers a message, and why.

    ``hop`` is what the answer will carry. ``contested`` says that other agents may feel meant as well: then only the
    one that claims the message first answers it, and the higher its ``score`` (0 to 1) the sooner it claims.
    """

    respond: bool
    reason: str
    hop: int = 1
    contested: bool = False
    score: float = 1.0


def note(gate: Gate, decision: "Decision") -> None:
    """Tell a gate that takes notes what a claim or the loop guard decided. Never raises: no answer hangs on a note."""
    take: Callable[[Decision], None] | None = getattr(gate, "note", None)
    if take is None:
        return
    try:
        take(decision)
    except Exception:  # a gate is somebody else's code
        logger.exception("What was decided about %s could not be noted", decision.message_id)


def addressed(
    message: Entry, history: Sequence[Entry], agent: AgentProfile, members: Sequence[AgentProfile] = ()
) -> bool:
    """True when the message mentions the agent or replies to it: all there is to go by without a gate."""
    target = id_at(message, "reply_to")
    mine = (entry for entry in history if wrote(agent, entry))
    return addresses(message, agent, members) or any(target in ids_of(entry) for entry in mine)


def before(message: Entry, history: Sequence[Entry]) -> list[Entry]:
    """What was said before the message: everything, when it is not in the history."""
    ids = ids_of(message)
    for at, entry in enumerate(history):
        if entry is message or ids & ids_of(entry):
            return list(history[:at])
    return list(history)
