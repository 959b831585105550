"""Which chats are private. Nothing said in them is recorded, in either direction.

A private chat has an ``oc_`` id like a group, and a message sent to that id does not say what it is. So the ids of
private chats seen in events are remembered, across restarts too: as hashes.
"""

import hashlib
import logging
from collections.abc import Callable
from typing import Final

from nanobot_transcript.coordination.contract import Marks
from nanobot_transcript.errors import StoreError
from transcript_channels.feishu.platform import FEISHU
from transcript_channels.nanobot_host.background import at_once

__all__ = ["PrivateChats"]

logger = logging.getLogger(__name__)

_KIND: Final = "private"


class PrivateChats:
    """The private chats that bots of this store take part in. For event loops, too: marks that may wait for a network
    are read once, at the beginning, and written by ``later``.
    """

    def __init__(self, marks: Marks, later: Callable[..., None] | None = None) -> None:
        self._marks: Marks = marks
        self._later: Callable[..., None] = later or at_once
        self._known: set[str] = set()
        """Digests of chat ids."""
        if marks.blocking:
            self._load_all()

    def remember(self, chat_id: str) -> None:
        """Note that this chat is private."""
        digest = _digest(chat_id)
        if digest in self._known:
            return
        self._known.add(digest)
        if self._marks.blocking:
            self._later(self._put, chat_id, digest)
        else:
            self._put(chat_id, digest)

    def __contains__(self, chat_id: object) -> bool:
        """True for a person's id and for the id of a chat that was seen to be private."""
        if not isinstance(chat_id, str) or not FEISHU.is_group(chat_id):
            return True
        if _digest(chat_id) in self._known:
            return True
        return not self._marks.blocking and self._marks.has(_KIND, chat_id)

    def _load_all(self) -> None:
        try:
            for document in self._marks.each(_KIND):
                if isinstance(digest := document.get("digest"), str):
                    self._known.add(digest)
        except StoreError as error:
            logger.warning("Which chats are private is learned anew: %s", error)

    def _put(self, chat_id: str, digest: str) -> None:
        try:
            self._marks.put(_KIND, {"digest": digest}, chat_id)
        except StoreError as error:
            logger.warning("Private chats are remembered until the next restart only: %s", error)


def _digest(chat_id: str) -> str:
    return hashlib.sha256(chat_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
