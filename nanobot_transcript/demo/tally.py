"""Counts whether every message of the group stands in the record exactly once."""

from collections import Counter
from dataclasses import dataclass

from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.demo.world import World

__all__ = ["MessageTally", "count"]


@dataclass(frozen=True, slots=True)
class MessageTally:
    """The count at one moment. ``missing`` and ``repeated`` are message ids, ``strangers`` entries of no message."""

    messages: int
    taken_back: int
    entries: int
    duplicates: int
    torn_lines: int
    foreign_lines: int
    missing: tuple[str, ...]
    repeated: tuple[str, ...]
    strangers: int

    @property
    def exact(self) -> bool:
        """True when each message that was not taken back is there once, and nothing else is."""
        broken = self.duplicates or self.torn_lines or self.foreign_lines
        return not (self.missing or self.repeated or self.strangers or broken)

    def sentence(self, *, in_a_file: bool) -> str:
        """The numbers for a person."""
        recalled = said(", {count} taken back", count=self.taken_back) if self.taken_back else ""
        file = "{said} in the group{recalled}, {entries} entries in the file"
        database = "{said} in the group{recalled}, {entries} entries in the database"
        numbers = said(
            file if in_a_file else database,
            said=self.messages - self.taken_back,
            recalled=recalled,
            entries=self.entries,
        )
        if self.exact:
            return said("Each message exactly once: {numbers}.", numbers=numbers)
        faults = said(
            "{missing} missing, {twice} twice, {unknown} unknown",
            missing=len(self.missing),
            twice=self.duplicates + len(self.repeated),
            unknown=self.strangers,
        )
        return said("The record does not match the group: {numbers}; {faults}.", numbers=numbers, faults=faults)


def count(world: World) -> MessageTally:
    """Read the whole transcript twice: its lines with ``verify``, its messages as readers see them."""
    report = world.record.store.verify(world.key)
    shown = list(world.record.store.scan(world.key))
    seen = Counter(id_ for entry in shown for id_ in {entry["message_id"], *(entry.get("message_ids") or ())} if id_)
    there = {message.message_id: not message.recalled for message in world.group.messages}
    return MessageTally(
        messages=len(there),
        taken_back=sum(not stays for stays in there.values()),
        entries=len(shown),
        duplicates=report.duplicates,
        torn_lines=report.torn_lines,
        foreign_lines=report.foreign_lines,
        missing=tuple(id_ for id_, stays in there.items() if stays and not seen[id_]),
        repeated=tuple(id_ for id_, times in seen.items() if times > 1),
        strangers=sum(not there.get(entry["message_id"] or "", False) for entry in shown),
    )
