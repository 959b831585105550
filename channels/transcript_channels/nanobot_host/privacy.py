"""Which chats are private. Nothing said in them is recorded, in either direction.

A private chat has an ``oc_`` id like a group, and a message sent to that id does not say what it is. So the ids of
private chats seen in events are remembered, across restarts too: as hashes, each the name of an empty file.
"""

import hashlib
import logging
import os
from pathlib import Path

from nanobot_transcript.files.descriptors import to_append
from nanobot_transcript.session_key import is_group_chat_id
from transcript_channels.nanobot_host.statefiles import make_folder

__all__ = ["PrivateChats"]

logger = logging.getLogger(__name__)


class PrivateChats:
    """The private chats that bots of this store take part in."""

    def __init__(self, base_dir: Path) -> None:
        self._base: Path = base_dir
        self._folder: Path = base_dir / ".state" / "cursors" / "private"
        self._known: set[str] = set()

    def remember(self, chat_id: str) -> None:
        """Note that this chat is private."""
        if chat_id in self._known:
            return
        self._known.add(chat_id)
        try:
            make_folder(self._base, self._folder)
            os.close(to_append(str(self._path(chat_id))))
        except OSError as error:
            logger.warning("Private chats are remembered until the next restart only: %s", error)

    def __contains__(self, chat_id: object) -> bool:
        """True for a person's id and for the id of a chat that was seen to be private."""
        if not isinstance(chat_id, str) or not is_group_chat_id(chat_id):
            return True
        return chat_id in self._known or os.path.lexists(self._path(chat_id))

    def _path(self, chat_id: str) -> Path:
        return self._folder / hashlib.sha256(f"private:{chat_id}".encode()).hexdigest()[:32]
