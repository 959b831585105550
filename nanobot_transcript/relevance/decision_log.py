"""The decision log: what each bot decided about each message; bounded in size, shared by all processes.

It holds no texts: a decision is replayed from the record, and what was erased there must not survive here.
"""

from collections.abc import Iterable
from typing import Any, Final, Protocol

from nanobot_transcript.relevance.decision import Decision

__all__ = ["FORMAT", "DecisionLog", "decision_record"]

FORMAT: Final = 1


class DecisionLog(Protocol):
    """Stores decisions. ``write`` is called on event loops and must not wait for a network."""

    def write(self, session_key: str, decision: Decision, now_ms: float | None = None) -> bool:
        """Log a decision. Never raises; False when it could not be logged."""
        ...

    def read(self, session_key: str, message_id: str | None = None) -> list[dict[str, Any]]:
        """The log of a chat, or of one message in it, oldest first, as ``decision_record`` documents. The newest
        thousands are there; older ones may be gone.
        """
        ...

    def outcomes(self, since_ms: float) -> list[dict[str, Any]]:
        """Outcomes of answers, and corrections by people, since then (milliseconds), in all chats, oldest first; each
        chat as far back as ``read`` goes.
        """
        ...

    def judged(self, since_ms: float) -> list[dict[str, Any]]:
        """Decisions about which the judge was asked since then, with the result; as with ``outcomes``."""
        ...

    def editions(self, session_keys: Iterable[str]) -> dict[str, object]:
        """For each of these chats a value that changes with each new entry of the log."""
        ...


def decision_record(decision: Decision, session_key: str, now_ms: float) -> dict[str, Any]:
    """A decision as it is logged; ``why`` is present only when something went wrong."""
    record = {
        "v": FORMAT,
        "ts": int(now_ms),
        "chat": session_key,
        "message_id": decision.message_id,
        "agent": decision.agent,
        "respond": decision.respond,
        "stage": decision.stage.value,
        "reason": decision.reason.value,
        "score": round(decision.score, 4),
        "open": decision.open,
    }
    return record | {"why": decision.why} if decision.why else record
