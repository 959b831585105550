"""The decision log: what each bot decided about each message, kept small, shared by all processes.

Texts are not in it: a decision is replayed from the record, and what was erased there is not to live on here.
"""

from collections.abc import Iterable
from typing import Any, Final, Protocol

from nanobot_transcript.relevance.decision import Decision

__all__ = ["FORMAT", "DecisionLog", "decision_record"]

FORMAT: Final = 1


class DecisionLog(Protocol):
    """Where decisions are noted. ``write`` is called on event loops and must not wait for a network."""

    def write(self, session_key: str, decision: Decision, now_ms: float | None = None) -> bool:
        """Note a decision. Never raises: it counts, also when it is not noted, which is False."""
        ...

    def read(self, session_key: str, message_id: str | None = None) -> list[dict[str, Any]]:
        """What was noted about a chat, or one message of it, oldest first, as in ``decision_record``. The newest
        thousands are there, older ones may be gone.
        """
        ...

    def outcomes(self, since_ms: float) -> list[dict[str, Any]]:
        """What became of answers, and what people corrected, since then (milliseconds), in all chats, oldest first: of
        each chat as far back as ``read`` goes.
        """
        ...

    def judged(self, since_ms: float) -> list[dict[str, Any]]:
        """What the judge was asked about since then, and what came of it; as with ``outcomes``."""
        ...

    def editions(self, session_keys: Iterable[str]) -> dict[str, object]:
        """For each of these chats something that is another after each note, and the same until then."""
        ...


def decision_record(decision: Decision, session_key: str, now_ms: float) -> dict[str, Any]:
    """A decision as it stands in the log; ``why`` is there only where something went wrong."""
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
