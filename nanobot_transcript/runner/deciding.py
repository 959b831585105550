"""What the loop must know before it answers, and whom it asks."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.turns.speakers import addresses, ids_of, wrote

__all__ = ["Choice", "Gate", "addressed", "answered_by", "before"]


class Gate(Protocol):
    """Says whether a message is for this agent; ``RelevanceGate`` is one."""

    def decide(
        self,
        message: Entry,
        history: Sequence[Entry],
        agent: AgentProfile,
        members: Sequence[AgentProfile],
        *,
        owner: str | None = None,
        now_ms: float | None = None,
    ) -> Any:
        """A decision with ``respond`` (None: undecided), ``reason``, ``score`` and ``stage``. Waits for nothing."""
        ...

    async def resolve(self, decision: Any) -> Any:
        """The decision, settled."""
        ...


class Choice(NamedTuple):
    """Whether this agent answers a message, and why.

    ``hop`` is what the answer will carry. ``open`` says that the message is addressed to nobody and belongs to nobody:
    then only the agent that claims it first answers; ``score`` (0 to 1) says how well it would.
    """

    respond: bool
    reason: str
    hop: int = 1
    open: bool = False
    score: float = 1.0


def addressed(message: Entry, history: Sequence[Entry], agent: AgentProfile) -> bool:
    """True when the message mentions the agent or replies to it: all there is to go by without a gate."""
    target = message.get("reply_to")
    return addresses(message, agent) or any(target in ids_of(entry) and wrote(agent, entry) for entry in history)


def answered_by(agent: AgentProfile, message: Entry, history: Sequence[Entry]) -> bool:
    """True when the record holds this agent's answer to the message: another run of this process gave it."""
    ids = ids_of(message)
    return any(entry.get("reply_to") in ids and wrote(agent, entry) for entry in history)


def before(message: Entry, history: Sequence[Entry]) -> list[Entry]:
    """What was said before the message: everything, when it is not in the history."""
    ids = ids_of(message)
    for at, entry in enumerate(history):
        if entry is message or ids & ids_of(entry):
            return list(history[:at])
    return list(history)
