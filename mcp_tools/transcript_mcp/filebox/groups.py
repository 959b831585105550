"""What mailboxes need of the group transcripts: the recent messages of a chat, and what their senders are called."""

from typing import TYPE_CHECKING, Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import InvalidMailError

if TYPE_CHECKING:
    from collections.abc import Callable

    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["Groups"]

_LOOKED_AT: Final = 60


class Groups:
    """The transcripts of this machine; ``open_store`` is called once, when they are first asked for."""

    def __init__(self, open_store: "Callable[[], GroupTranscriptStore] | None") -> None:
        self._open: Final = open_store
        self._opened: GroupTranscriptStore | None = None

    def recent(self, chat: str, limit: int = _LOOKED_AT) -> list[Entry]:
        """The newest entries of a chat as people name it, oldest first.

        Raises UnknownNameError, StoreError kinds, and InvalidMailError where there are no transcripts.
        """
        from nanobot_transcript.store.naming import chat_called

        store = self._store()
        return store.recent(chat_called(store, chat), limit).entries

    def quoted(self, content: str, chat: str, limit: int) -> str:
        """A mail's content with the newest messages of a chat below it. Raises like ``recent``."""
        from nanobot_transcript.store.naming import chat_called, shown_name
        from transcript_mcp.filebox.relevant import with_context

        store = self._store()
        key = chat_called(store, chat)
        entries = store.recent(key, limit).entries
        names = {entry["sender"]: shown_name(store, entry) for entry in entries}
        return with_context(content, entries, f"{key} (times in UTC)", names=names)

    def _store(self) -> "GroupTranscriptStore":
        if self._opened is None:
            if self._open is None:
                raise InvalidMailError("This server knows no group transcripts.", hint="Leave the chat out.")
            self._opened = self._open()
        return self._opened
