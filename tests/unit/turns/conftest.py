"""Entries in a few words, and stores on an event loop."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from nanobot_transcript import AsyncGroupTranscriptStore
from nanobot_transcript.entry import Entry

START = 1_763_600_000_000
"""The time of the first entry (ms)."""

Say = Callable[..., Entry]


class Talk:
    """Makes entries, one second apart unless told otherwise."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.now = float(START)

    def person(self, content: str = "What do you think?", sender: str = "on_ada", **fields: Any) -> Entry:
        """A person says something."""
        return self._add("user", content, sender, {"sender_kind": "human", **fields})

    def bot(self, agent: str, content: str | None = None, **fields: Any) -> Entry:
        """A bot says something."""
        said = content if content is not None else f"I think it is number {len(self.entries)}."
        return self._add("assistant", said, agent, {"sender_kind": "bot", "agent": agent, **fields})

    def wait(self, seconds: float) -> None:
        """Nobody says anything for a while."""
        self.now += seconds * 1000

    def _add(self, role: str, content: str, sender: str, fields: dict[str, Any]) -> Entry:
        after = fields.pop("after", 1.0)
        self.now += after * 1000
        entry: Any = {"role": role, "content": content, "sender": sender, "ts": self.now}
        entry["message_id"] = fields.pop("message_id", f"om_{len(self.entries)}")
        entry.update({name: value for name, value in fields.items() if value is not None})
        self.entries.append(entry)
        return entry


@pytest.fixture
def talk() -> Talk:
    """An empty chat."""
    return Talk()


@pytest.fixture
async def shared(base_dir: Path) -> AsyncIterator[AsyncGroupTranscriptStore]:
    """A store with nothing in it."""
    async with AsyncGroupTranscriptStore(base_dir) as store:
        yield store
