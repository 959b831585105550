"""How many turns bots had in a row, message by message: as the loop guard counts them and the record says."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.turns import LoopLimits
from nanobot_transcript.turns.speakers import hop_of, id_at, is_bot, is_person, speaker

__all__ = ["turns_of_bots"]

_IDLE: Final = LoopLimits().idle * 1000


@dataclass(slots=True)
class _Run:
    """The turns of bots in one talk since a person spoke, or since a long silence."""

    turns: int = 0
    speaker: str = ""
    ts: float = 0

    def count(self, entry: Entry) -> int:
        if is_person(entry) or entry["ts"] - self.ts > _IDLE:
            self.turns, self.speaker = 0, ""
        self.ts = entry["ts"]
        if is_bot(entry):
            another = speaker(entry) != self.speaker  # several messages of one bot in a row are one turn
            self.turns = max(self.turns + another, hop_of(entry))
            self.speaker = speaker(entry)
        return self.turns


def turns_of_bots(entries: Iterable[Entry]) -> list[int | None]:
    """For each entry, oldest first: the turns of bots in a row up to it, in its chat or thread.

    None for what is no turn: what one of our bots says without answering, such as a post or a card that asks.
    """
    runs: dict[str | None, _Run] = {}
    return [
        None if _is_no_turn(entry) else runs.setdefault(id_at(entry, "thread_id"), _Run()).count(entry)
        for entry in entries
    ]


def _is_no_turn(entry: Entry) -> bool:
    if not is_bot(entry):
        return not is_person(entry)
    return bool(entry.get("agent")) and not hop_of(entry)
