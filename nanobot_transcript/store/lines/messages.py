"""The messages of a part of a transcript as readers see them."""

from bisect import insort
from operator import itemgetter
from typing import Final

from nanobot_transcript.entry import Entry, RecentMessage
from nanobot_transcript.store.lines.fold import Ops, Position
from nanobot_transcript.store.lines.ids import ids_of
from nanobot_transcript.store.lines.ops import is_op
from nanobot_transcript.store.lines.order import moment_of, sort_key

__all__ = ["KEPT_READY", "LOOK_PAST", "ShownMessages", "brief"]

KEPT_READY: Final = 1000
"""So many of the newest messages of a chat a backend keeps in memory; a longer answer is read from the store."""

LOOK_PAST: Final = 2000
"""So many lines of imported history are read past to find newer messages before them."""

_Key = tuple[float, int, int]


class ShownMessages:
    """Messages in the order in which they are shown, each once, with the edits and recalls about them."""

    def __init__(self) -> None:
        self._ordered: list[tuple[_Key, Entry]] = []
        self._ids: set[str] = set()
        self._ops = Ops()
        self._count = 0
        self._moment = 0.0

    def __len__(self) -> int:
        return len(self._ordered)

    def add(self, position: Position, entry: Entry) -> None:
        """Add the next line of the transcript."""
        if is_op(entry):
            self._ops.note(position, entry)
            return
        ids = ids_of(entry)
        if self._ops.is_part(entry) or not self._ids.isdisjoint(ids):
            return
        self._ids.update(ids)
        self._count += 1
        moment = moment_of(entry)
        self._moment = self._moment if moment is None else moment
        insort(self._ordered, (sort_key(entry, self._moment, self._count), entry), key=itemgetter(0))

    def newest(self, count: int) -> list[Entry]:
        """The last ``count`` that are not hidden, oldest first."""
        found: list[Entry] = []
        for _, entry in reversed(self._ordered):
            if len(found) >= count:
                break
            folded = self._ops.folded(entry)
            if folded is not None:
                found.append(folded)
        found.reverse()
        return found


def brief(entry: Entry) -> RecentMessage:
    """An entry in the form that ``get_recent`` returns."""
    return {"role": entry["role"], "content": entry["content"], "sender": entry["sender"]}
