"""Which chats are private. Nothing said in them is recorded, in either direction.

A private chat has an ``oc_`` id like a group, and a message sent to that id does not say what it is. So the ids of
private chats seen in events are remembered, across restarts too: as hashes.
"""

import hashlib
import logging
from typing import Final

from nanobot_transcript.coordination.contract import Marks
from nanobot_transcript.errors import StoreError
from transcript_channels.feishu.platform import FEISHU

__all__ = ["KIND", "PrivateChats"]

logger = logging.getLogger(__name__)

KIND: Final = "private"


class PrivateChats:
    """The private chats that bots of this store take part in. For event loops, if its ``marks`` are."""

    def __init__(self, marks: Marks) -> None:
        self._marks: Marks = marks
        self._known: set[str] = set()
        """Digests of chat ids."""

    def remember(self, chat_id: str) -> None:
        """Note that this chat is private."""
        digest = _digest(chat_id)
        if digest in self._known:
            return
        self._known.add(digest)
        try:
            self._marks.put(KIND, {"digest": digest}, chat_id)
        except StoreError as error:
            logger.warning("Private chats are remembered until the next restart only: %s", error)

    def __contains__(self, chat_id: object) -> bool:
        """True for a person's id and for the id of a chat that was seen to be private; while nobody can tell, too."""
        if not isinstance(chat_id, str) or not FEISHU.is_group(chat_id):
            return True
        if _digest(chat_id) in self._known:
            return True
        try:
            return self._marks.has(KIND, chat_id)
        except StoreError as error:
            logger.warning("A chat counts as private until the record can be asked: %s", error)
            return True


def _digest(chat_id: str) -> str:
    return hashlib.sha256(chat_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
