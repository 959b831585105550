"""The lines of a chat in the spool: messages that the record does not have yet, and ops about those it has."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.store.lines.fold import Ops, as_edit, is_part_of, upgrade
from nanobot_transcript.store.lines.ids import ids_of
from nanobot_transcript.store.lines.messages import ShownMessages
from nanobot_transcript.store.lines.ops import is_edit, is_op

__all__ = ["PendingLines"]

_REMEMBERED: Final = 5000
"""When more messages of one chat wait, only the newest are considered; so many wait only after a long outage."""


class PendingLines:
    """The waiting lines of one chat, oldest first."""

    def __init__(self, lines: Iterable[Entry]) -> None:
        self.ops: Ops = Ops()
        self.edits: list[str] = []
        """The ids of the messages edited here."""
        messages: deque[tuple[int, Entry]] = deque(maxlen=_REMEMBERED)
        self.count: int = 0
        for entry in lines:
            self.count += 1
            if not is_op(entry):
                messages.append((self.count, entry))
                continue
            self.ops.note((self.count,), entry)
            if is_edit(entry) and (target := entry.get("target")):
                self.edits.append(target)
        self._messages: list[tuple[int, Entry]] = list(messages)

    def __bool__(self) -> bool:
        return self.count > 0

    @property
    def ids(self) -> list[str]:
        """The ids of all its messages."""
        return [known for _, entry in self._messages for known in ids_of(entry)]

    def news(self, known: Mapping[str, Entry]) -> list[Entry]:
        """The messages that the record does not have, as they were written; ``known`` are those of ``ids`` that
        it has.

        A sender's own report of a known message counts from now on as an edit of it.
        """
        there = dict(known)
        news: list[Entry] = []
        for at, entry in self._messages:
            ids = ids_of(entry)
            met = next((there[known_id] for known_id in ids if known_id in there), None)
            if met is None:
                news.append(entry)
                there.update(dict.fromkeys(ids, entry))
            elif (edit := _better(met, entry)) is not None:
                self.ops.note((at,), edit)
        return news

    def fold(self, entry: Entry) -> Entry | None:
        """A message with the ops here applied; None when they hide it."""
        return self.ops.folded(entry)

    def newest(self, entries: Sequence[Entry], known: Mapping[str, Entry], count: int) -> list[Entry]:
        """The newest of the record's newest ``entries`` and the messages here, in display order."""
        news = self.news(known)
        shown = ShownMessages()
        for at, entry in enumerate([*entries, *news]):
            if not self.ops.is_part(entry):
                shown.add((at,), entry)
        folded = (self.fold(entry) for entry in shown.newest(len(shown)))
        return [entry for entry in folded if entry is not None][-count:]


def _better(met: Entry, entry: Entry) -> Entry | None:
    """The edit that gives a known message its sender's own words."""
    if is_part_of(met, entry) and met["message_id"]:
        return as_edit(entry, met["message_id"])
    return upgrade(met, entry)
