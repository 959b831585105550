"""Which message belongs to which of nanobot's sessions: those that became, or are about to become, its turns."""

import threading
from collections import OrderedDict
from typing import Final

__all__ = ["Turns"]

_KEPT: Final = 4096


class Turns:
    """Message id → session key, for the newest messages that were handed to the agent.

    A message is *expected* from the moment it is received until nanobot decided, so that a turn that runs in between
    does not show it as something that was said by others.
    """

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, str] = OrderedDict()
        self._decided: set[str] = set()
        self._mutex: threading.Lock = threading.Lock()

    def expect(self, message_id: str, session_key: str) -> None:
        """The message will presumably become a turn of this session."""
        with self._mutex:
            self._sessions.setdefault(message_id, session_key)
            self._trim()

    def confirm(self, message_id: str, session_key: str) -> None:
        """nanobot handed the message to this session."""
        with self._mutex:
            self._sessions[message_id] = session_key
            self._decided.add(message_id)
            self._trim()

    def settle(self, message_id: str) -> None:
        """nanobot is done with the message; what it did not hand over belongs to no session."""
        with self._mutex:
            if message_id not in self._decided:
                self._sessions.pop(message_id, None)

    def began(self, message_id: str | None) -> bool:
        """True when nanobot handed the message to the agent."""
        return message_id in self._decided

    def session_of(self, message_id: str | None) -> str | None:
        """The session whose turn the message is, None when it is nobody's."""
        return self._sessions.get(message_id) if message_id else None

    def _trim(self) -> None:
        while len(self._sessions) > _KEPT:
            self._decided.discard(self._sessions.popitem(last=False)[0])
