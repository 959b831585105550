"""A group of two bots and two people, and lines as the platform gives them."""

from typing import Any

import pytest

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.relevance import Decision, RelevanceGate

MINUTE = 60_000
START = 1_763_600_000_000


class Group:
    """Alpha (also called 小助手) and Beta are bots, Ada and 小明 people."""

    def __init__(self) -> None:
        self.alpha = AgentProfile(
            "Alpha", ("小助手",), "answers questions", frozenset({"Alpha", "cli_a", "ou_a"}), account="cli_a"
        )
        self.beta = AgentProfile("Beta", ("贝塔",), ids=frozenset({"Beta", "cli_b", "ou_b"}), account="cli_b")
        self.ada = AgentProfile("Ada", ids=frozenset({"on_ada"}), kind="human")
        self.ming = AgentProfile("小明", ids=frozenset({"on_ming"}), kind="human")
        self.members = [self.alpha, self.beta, self.ada, self.ming]
        self.gate = RelevanceGate()
        self.lines = 0

    def says(self, who: str, text: str, **fields: Any) -> Entry:
        """The next line of a person (``ada``, ``ming``) or a bot (``alpha``, ``beta``), a minute after the last."""
        self.lines += 1
        profile: AgentProfile = getattr(self, who)
        entry: dict[str, Any] = {
            "role": "assistant" if profile.kind == "bot" else "user",
            "content": text,
            "sender": profile.name if profile.kind == "bot" else next(iter(profile.ids)),
            "message_id": f"om_{self.lines}",
            "ts": float(START + self.lines * MINUTE),
            "sender_kind": profile.kind,
            "sender_name": profile.name,
        }
        if profile.kind == "bot":
            entry["ids"] = {"app_id": f"cli_{profile.name[0].lower()}"}
        return entry | fields  # pyright: ignore[reportReturnType]

    def decide(self, message: Entry, *history: Entry, agent: AgentProfile | None = None, **options: Any) -> Decision:
        """Alpha's decision, unless another agent is given."""
        return self.gate.decide(message, list(history), agent or self.alpha, self.members, **options)


@pytest.fixture
def group() -> Group:
    """A fresh group."""
    return Group()
