"""An agent's own memory: private chats, and all chats when there is no shared record."""

from collections import OrderedDict, deque
from dataclasses import KW_ONLY, dataclass, field
from typing import Final

from nanobot_transcript.entry import Entry

__all__ = ["Sessions"]

_CHATS: Final = 1000
_ENTRIES: Final = 50


@dataclass(eq=False, slots=True)
class Sessions:
    """The last entries of each chat, in memory; the chats that have been quiet longest are forgotten first."""

    _: KW_ONLY
    chats: int = _CHATS
    entries: int = _ENTRIES
    _known: OrderedDict[str, deque[Entry]] = field(default_factory=OrderedDict, init=False)

    def history(self, session_key: str) -> list[Entry]:
        """What was said in a chat, oldest first."""
        return list(self._known.get(session_key, ()))

    def add(self, session_key: str, entry: Entry) -> None:
        """Remember an entry."""
        self._known.setdefault(session_key, deque(maxlen=self.entries)).append(entry)
        self._known.move_to_end(session_key)
        while len(self._known) > self.chats:
            self._known.popitem(last=False)

    def forget(self, session_key: str, message_id: str) -> None:
        """A message was recalled."""
        kept = [entry for entry in self.history(session_key) if entry.get("message_id") != message_id]
        if session_key in self._known:
            self._known[session_key] = deque(kept, maxlen=self.entries)
