"""What bots may do in which group."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

__all__ = ["Mode", "Policy"]

Mode: TypeAlias = Literal["observe", "listen", "gate", "off"]
_SHARING: Final = frozenset({"listen", "gate"})


class Policy:
    """The modes of groups: ``mode``, and by chat id the exceptions.

    ``observe`` records; ``listen`` also tells the agent what was said; ``gate`` also decides what the agent answers;
    ``off`` leaves the chat alone. Our own runner uses the gate in both ``listen`` and ``gate``.
    """

    def __init__(self, mode: Mode = "listen", chats: Mapping[str, Mode] | None = None) -> None:
        self._mode: Mode = mode
        self._chats: Mapping[str, Mode] = chats or {}

    @property
    def active(self) -> bool:
        """False when every chat is off."""
        return bool({self._mode, *self._chats.values()} - {"off"})

    @property
    def shares_somewhere(self) -> bool:
        """True when the agent is told something in at least one chat."""
        return not _SHARING.isdisjoint({self._mode, *self._chats.values()})

    def mode_of(self, chat_id: str) -> Mode:
        """The mode of a chat."""
        return self._chats.get(chat_id, self._mode)

    def records(self, chat_id: str) -> bool:
        """True when messages of this chat are recorded."""
        return self.mode_of(chat_id) != "off"

    def shares(self, chat_id: str) -> bool:
        """True when the agent is told what was said in this chat, and may answer."""
        return self.mode_of(chat_id) in _SHARING

    def gates(self, chat_id: str) -> bool:
        """True when the gate decides which messages of this chat become turns."""
        return self.mode_of(chat_id) == "gate"
