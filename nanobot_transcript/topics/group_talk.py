"""Recent messages of a group, for mail to compare with and to quote."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import UnknownNameError
from nanobot_transcript.store.names import chat_called, shown_name
from nanobot_transcript.topics.quote import quote

if TYPE_CHECKING:
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["QUOTED", "GroupTalk", "with_context"]

QUOTED: Final = "\n\n### Recent messages of "
"""Separates the content of a mail from the messages it quotes from a group."""

_LOOKED_AT: Final = 60


class GroupTalk:
    """The transcripts of this machine; ``open_store`` is called once, on first use."""

    def __init__(self, open_store: "Callable[[], GroupTranscriptStore] | None") -> None:
        self._open: Final = open_store
        self._opened: GroupTranscriptStore | None = None

    def recent(self, chat: str, limit: int = _LOOKED_AT) -> list[Entry]:
        """The newest entries of a chat, named as people do, oldest first.

        Raises UnknownNameError, also when there are no transcripts, and StoreError kinds.
        """
        store = self._store()
        return store.recent(chat_called(store, chat), limit).entries

    def quoted(self, content: str, chat: str, limit: int) -> str:
        """A mail's content with the newest messages of a chat below it. Raises as ``recent`` does."""
        store = self._store()
        key = chat_called(store, chat)
        entries = store.recent(key, limit).entries
        names = {entry["sender"]: shown_name(store, entry) for entry in entries}
        return with_context(content, entries, f"{key} (times in UTC)", names=names)

    def _store(self) -> "GroupTranscriptStore":
        if self._opened is None:
            if self._open is None:
                raise UnknownNameError("This server knows no group transcripts.", hint="Leave the chat out.")
            self._opened = self._open()
        return self._opened


def with_context(
    content: str,
    recent: Sequence[Entry],
    chat: str,
    *,
    names: Mapping[str, str] | None = None,
    timezone: tzinfo = UTC,
    max_chars: int = 4000,
) -> str:
    """The content of a mail with recent entries of a group quoted under a heading of their own."""
    quoted = quote(recent, names=names, timezone=timezone, max_chars=max_chars)
    return f"{content}{QUOTED}{chat}\n\n{quoted}" if quoted else content
