"""Shows messages of a chat: pages, and single messages in full."""

from collections.abc import Iterable
from datetime import tzinfo
from typing import NamedTuple

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import InvalidCursorError, UnknownNameError
from nanobot_transcript.store.front import GroupTranscriptStore
from nanobot_transcript.store.names import in_words, shown_name
from transcript_mcp.transcript import message_pages
from transcript_mcp.transcript.json_lines import NOTE, WORDS, Line, encode, shown
from transcript_mcp.transcript.message_pages import Stretch
from transcript_mcp.transcript.size_limits import fitting, shortened

__all__ = ["MessagePage", "View", "message", "page", "page_document", "page_text"]


class View(NamedTuple):
    """A store, and the time zone for showing times (None: that of this machine)."""

    store: GroupTranscriptStore
    where: tzinfo | None

    def line(self, entry: Entry, *, chat: str | None = None) -> Line:
        """An entry as it is shown."""
        return shown(entry, shown_name(self.store, entry), self.where, chat=chat)


class MessagePage(NamedTuple):
    """Messages, and the lines that show them."""

    stretch: Stretch
    lines: list[Line]


def page(
    view: View, session_key: str, *, limit: int, max_chars: int, before: str | None = None, after: str | None = None
) -> MessagePage:
    """The newest messages, or those before or after a place. Raises InvalidCursorError."""
    if before and after:
        raise InvalidCursorError("A page is either before a place or after one.", hint="Give either before or after.")
    if after:
        stretch = message_pages.after(view.store, session_key, after, limit, view.where)
        lines = fitting(map(view.line, stretch.entries), max_chars)
        return MessagePage(stretch.oldest(len(lines), view.store), lines)
    if before:
        stretch = message_pages.before(view.store, session_key, before, limit, view.where)
    else:
        stretch = message_pages.newest(view.store, session_key, limit)
    lines = fitting(map(view.line, reversed(stretch.entries)), max_chars)
    return MessagePage(stretch.newest(len(lines)), lines[::-1])


def page_text(told: MessagePage) -> str:
    """A page as text for a model, with hints how to read on."""
    chat = in_words(told.stretch.session_key)
    head = f"Messages of {chat}, oldest first. {NOTE}" if told.lines else f"No messages of {chat} here."
    return "\n".join([head, *map(encode, told.lines), *_ways_on(told.stretch)])


def page_document(told: MessagePage) -> str:
    """A page as one JSON document. Cursors ``older`` and ``newer``; ``older`` is null at the beginning of the chat."""
    stretch = told.stretch
    fields = {
        "session_key": encode(stretch.session_key),
        "note": encode(WORDS),
        "messages": "[\n" + ",\n".join(map(encode, told.lines)) + "\n]" if told.lines else "[]",
        "older": encode(stretch.older) if stretch.older else "null",
        "newer": encode(stretch.newer),
        "more": "true" if stretch.more else "false",
    }
    return "{" + ",\n".join(f'"{name}": {value}' for name, value in fields.items()) + "}\n"


def message(view: View, session_key: str, message_id: str, *, offset: int, max_chars: int) -> str:
    """One message, its text from ``offset`` (characters) on. Raises UnknownNameError."""
    entry = view.store.get(session_key, message_id)
    if entry is None:
        raise UnknownNameError(
            f"There is no message {in_words(message_id)} in {in_words(session_key)}.",
            hint="Recalled messages are gone; transcript_search shows the ids of the others.",
        )
    line = shortened(view.line(entry), max_chars, offset=max(0, offset))
    return "\n".join([f"A message of {in_words(session_key)}. {NOTE}", encode(line)])


def _ways_on(stretch: Stretch) -> Iterable[str]:
    if stretch.older:
        yield f"Older ones: transcript_recent with before={stretch.older}"
    elif stretch.entries:
        yield "This is where the record of the chat begins."
    if not stretch.more:
        yield f"Nothing newer yet. To wait for it: transcript_wait with after={stretch.newer}"
    elif not stretch.entries:
        yield "The record of the chat has nothing before that."
    else:
        yield f"Newer ones: transcript_recent with after={stretch.newer}"
