"""Finding messages of a group in one of nanobot's sessions, and taking them out.

A session is a list of dictionaries. What a turn was shown stands in their texts, one line of JSON that begins with the
message's id for each message. A person's message that was a turn of its own, and the bot's answer, stand there without
their ids; these are written beside them, under a key that nanobot keeps and never sends to a model.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from transcript_channels.nanobot_host.watermark import Watermark, digest

__all__ = ["forget", "ids_in", "write_ids"]

_ID: Final = "_group_transcript"
_MARKER: Final = "_runtime_context"
_GONE: Final = "[this message was taken back]"
_BEGINNING: Final = '{"id": "'
_LINE: Final = re.compile(r'^\{"id": ("(?:[^"\\\n]|\\.)*")[,}].*$', re.MULTILINE)
_THOUGHTS: Final = ("reasoning_content", "thinking_blocks")
_NEWEST: Final = 512

_QUOTE: Final = "[Reply to: "
_QUOTE_END: Final = "]\n"
_LONGEST_QUOTE: Final = len(_QUOTE) + 203 + len(_QUOTE_END)  # nanobot cuts a quoted text at 200 characters and "..."

_IsGone = Callable[[str], bool]
_ParentOf = Callable[[str], str | None]


def write_ids(session: Any, mark: Watermark) -> None:
    """Write beside the newest turns and answers of a session which messages of the group they are."""
    newest: list[dict[str, Any]] = session.messages[-_NEWEST:]
    known = {message.get(_ID) for message in newest}
    for role, digests in (("user", mark.turns), ("assistant", mark.answers)):
        missing = {message_id: text for message_id, text in digests.items() if message_id not in known}
        if not missing:
            continue
        unknown = [one for one in newest if one.get("role") == role and _ID not in one]
        texts = [digest(_own_text(message)) for message in unknown]
        for message_id, text in reversed(missing.items()):
            at = next((n for n in reversed(range(len(texts))) if texts[n] == text), None)
            if at is not None:
                unknown[at][_ID], texts[at] = message_id, ""


def ids_in(session: Any) -> set[str]:
    """The messages of the group that a session holds, also those that were emptied."""
    found: set[str] = set()

    def note(message_id: str) -> bool:
        found.add(message_id)
        return False  # so that it is left as it is

    forget(session, note)
    return found


def forget(session: Any, is_gone: _IsGone, parent_of: _ParentOf = lambda message_id: None) -> bool:
    """Empty the messages that are gone; True when the session has changed.

    ``parent_of`` tells which message a turn replies to, because nanobot puts a quotation of it before the turn's text.
    What a provider keeps of the conversation by itself is dropped, also when the session was emptied before: the turn
    that ran meanwhile may have brought it along again.
    """
    gone = _Gone(cache(is_gone))
    changed = False
    for message in session.messages:
        changed |= _forget_own(message, gone) or _forget_quote(message, gone, parent_of)
        changed |= gone.clean(message)
    metadata = getattr(session, "metadata", None)
    if isinstance(metadata, dict):  # a turn that was interrupted stands there
        changed |= gone.clean(metadata)
    if gone.found and getattr(session, "provider_state", None) is not None:
        session.provider_state = None
        changed = True
    return changed


class _Gone:
    """Empties lines; ``found`` tells whether any of the messages was there at all."""

    def __init__(self, is_gone: _IsGone) -> None:
        self._is_gone: _IsGone = is_gone
        self.found: bool = False

    def has(self, message_id: Any) -> bool:
        """True for a message that is gone."""
        gone = isinstance(message_id, str) and self._is_gone(message_id)
        self.found |= gone
        return gone

    def clean(self, holder: dict[str, Any]) -> bool:
        """Empty the lines in the values of a dictionary; True when there were some."""
        cleaned = {key: self._cleaned(value) for key, value in holder.items()}
        changed = [key for key, value in cleaned.items() if value is not holder[key]]
        holder.update((key, cleaned[key]) for key in changed)
        return bool(changed)

    def _cleaned(self, value: Any) -> Any:
        """The value without these lines; the same object when there are none."""
        if isinstance(value, str):
            cleaned = _LINE.sub(self._line, value) if _BEGINNING in value else value
            return value if cleaned == value else cleaned
        if isinstance(value, dict):
            items = {key: self._cleaned(item) for key, item in value.items()}
            return items if any(items[key] is not item for key, item in value.items()) else value
        if isinstance(value, list):
            items = [self._cleaned(item) for item in value]
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        return value

    def _line(self, match: "re.Match[str]") -> str:
        try:
            gone = self.has(json.loads(match[1]) if "\\" in match[1] else match[1][1:-1])
        except ValueError:
            gone = False
        return f'{{"id": {match[1]}, "recalled": true}}' if gone else match[0]


def _forget_own(message: dict[str, Any], gone: _Gone) -> bool:
    """Empty a turn or an answer; what the turn was shown beside it stays."""
    if not gone.has(message.get(_ID)) or _own_text(message) == _GONE:
        return False
    content, context = message.get("content"), _context(message)
    if isinstance(content, list):
        message["content"] = [{"type": "text", "text": _GONE}, *content[len(content) - len(context) :]]
    else:
        message["content"] = "\n\n".join([_GONE, *context])
    if not message.get("tool_calls"):  # with them a provider may insist on its thoughts
        for key in _THOUGHTS:
            message.pop(key, None)
    return True


def _forget_quote(message: dict[str, Any], gone: _Gone, parent_of: _ParentOf) -> bool:
    """Empty what nanobot quotes of the message a turn replies to."""
    content, message_id = message.get("content"), message.get(_ID)
    if not isinstance(content, str) or not content.startswith(_QUOTE) or not isinstance(message_id, str):
        return False
    own = len(content) - sum(map(len, _context(message)))
    end = content.rfind(_QUOTE_END, 0, min(_LONGEST_QUOTE, own))
    if end < 0 or not gone.has(parent_of(message_id)):
        return False
    message["content"] = _GONE + content[end + 1 :]
    return True


def _own_text(message: Mapping[str, Any]) -> str:
    """The text of a message without what nanobot put behind it."""
    content, context = message.get("content"), _context(message)
    if isinstance(content, list):
        return "\n".join(_texts(content[: len(content) - len(context)]))
    if not isinstance(content, str):
        return ""
    return content.removesuffix(context[0]).strip() if context else content.strip()


def _context(message: Mapping[str, Any]) -> list[Any]:
    """What nanobot put behind a message: one text behind a text, blocks behind blocks."""
    content, marker = message.get("content"), message.get(_MARKER)
    if not isinstance(marker, dict):
        return []
    suffix, blocks = marker.get("suffix"), marker.get("blocks")
    if isinstance(content, str) and isinstance(suffix, str) and suffix and content.endswith(suffix):
        return [suffix]
    if isinstance(content, list) and isinstance(blocks, list) and blocks and content[-len(blocks) :] == blocks:
        return blocks
    return []


def _texts(blocks: list[Any]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            yield block["text"]
