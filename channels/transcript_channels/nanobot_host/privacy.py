"""Which chats are private. Nothing said in them is recorded, in either direction.

A private chat has an ``oc_`` id like a group, and a message sent to that id does not say what it is. So the ids of
private chats seen in events are remembered, across restarts too: as hashes.
"""

import logging
from typing import Final

from nanobot_transcript.coordination.contract import Marks
from nanobot_transcript.errors import StoreError
from nanobot_transcript.session_key import is_group_chat_id

__all__ = ["PrivateChats"]

logger = logging.getLogger(__name__)

_KIND: Final = "private"


class PrivateChats:
    """The private chats that bots of this store take part in."""

    def __init__(self, marks: Marks) -> None:
        self._marks: Marks = marks
        self._known: set[str] = set()

    def remember(self, chat_id: str) -> None:
        """Note that this chat is private."""
        if chat_id in self._known:
            return
        self._known.add(chat_id)
        try:
            self._marks.put(_KIND, {}, chat_id)
        except StoreError as error:
            logger.warning("Private chats are remembered until the next restart only: %s", error)

    def __contains__(self, chat_id: object) -> bool:
        """True for a person's id and for the id of a chat that was seen to be private."""
        if not isinstance(chat_id, str) or not is_group_chat_id(chat_id):
            return True
        return chat_id in self._known or self._marks.has(_KIND, chat_id)
