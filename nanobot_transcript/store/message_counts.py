"""Counting messages: of one chat, of one day, or of anything else that is added up."""

from collections import Counter
from dataclasses import dataclass, field

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import is_bot

__all__ = ["MessageCount", "Spoken"]


@dataclass(slots=True)
class MessageCount:
    """A member with the number of its messages and characters, and the time of the last one (milliseconds)."""

    sender: str
    name: str
    kind: str
    messages: int = 0
    characters: int = 0
    last_ms: float = 0


@dataclass(slots=True)
class Spoken:
    """Counted messages, by sender and by how they were recorded. Times are in milliseconds."""

    messages: int = 0
    first_ms: float | None = None
    last_ms: float | None = None
    speakers: dict[str, MessageCount] = field(default_factory=dict)
    sources: Counter[str] = field(default_factory=Counter)

    def add(self, entry: Entry, name: str) -> None:
        """Count one message of somebody who is called ``name``."""
        bot = is_bot(entry)
        speaker = self.speakers.setdefault(
            entry["sender"], MessageCount(entry["sender"], name, "bot" if bot else "human")
        )
        ts = entry["ts"]
        speaker.messages += 1
        speaker.characters += len(entry["content"])
        speaker.last_ms = max(speaker.last_ms, ts)
        self.messages += 1
        self.first_ms = ts if self.first_ms is None else min(self.first_ms, ts)
        self.last_ms = ts if self.last_ms is None else max(self.last_ms, ts)
        source = entry.get("source")
        self.sources[source if source and isinstance(source, str) else "unknown"] += (
            1  # other programs may write anything there
        )

    def by_messages(self) -> list[MessageCount]:
        """The members, the most talkative first."""
        return sorted(self.speakers.values(), key=lambda speaker: (-speaker.messages, speaker.name))
