"""What the plugin may do in which chat."""

from typing import Final

from nanobot_transcript.settings.groups import GroupsSettings

__all__ = ["Policy"]

_SHARING: Final = frozenset({"listen", "gate"})


class Policy:
    """The modes of ``groups.mode`` and ``groups.chats``.

    ``observe`` records; ``listen`` also gives the agent what was said; ``gate`` decides besides what the agent answers;
    ``off`` leaves the chat alone.
    """

    def __init__(self, groups: GroupsSettings) -> None:
        self._groups: GroupsSettings = groups

    @property
    def active(self) -> bool:
        """False when every chat is off."""
        return bool(self._modes() - {"off"})

    @property
    def shares_somewhere(self) -> bool:
        """True when the agent is given something in at least one chat."""
        return not _SHARING.isdisjoint(self._modes())

    def records(self, chat_id: str) -> bool:
        """True when messages of this chat are written down."""
        return self._groups.mode_of(chat_id) != "off"

    def shares(self, chat_id: str) -> bool:
        """True when the agent is given what was said in this chat."""
        return self._groups.mode_of(chat_id) in _SHARING

    def gates(self, chat_id: str) -> bool:
        """True when the gate decides which messages of this chat become turns."""
        return self._groups.mode_of(chat_id) == "gate"

    def _modes(self) -> set[str]:
        return {self._groups.mode, *(chat.mode for chat in self._groups.chats.values() if chat.mode)}
