"""Checks and cleans drafts, ids, boxes and file names."""

import re
from dataclasses import replace
from typing import Any, Final, cast

from nanobot_transcript.entry import well_formed
from nanobot_transcript.errors import InvalidMailError
from transcript_mcp.filebox.file_names import is_file_name, real_name
from transcript_mcp.filebox.message import trimmed
from transcript_mcp.filebox.options import FileBoxOptions
from transcript_mcp.filebox.values import BOXES, Box, Draft

__all__ = ["checked", "checked_box", "checked_file_name", "checked_id"]

_NOT_ONE_LINE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_LONGEST_ID: Final = 200


def checked(draft: Draft, options: FileBoxOptions) -> Draft:
    """The draft with its title on one line and its text trimmed. Raises InvalidMailError."""
    for field in ("type", "title", "content", "original_id"):
        _text(getattr(draft, field), field)
    if draft.type not in options.types:
        raise InvalidMailError(
            f"Unknown message type {_shown(draft.type)}. Available types: {', '.join(options.types)}.",
            hint="Use one of these, or add yours to the setting filebox.types.",
        )
    content = well_formed(trimmed(draft.content))
    if not content:
        raise InvalidMailError("The content of a message is empty.", hint="Say what the message is about.")
    size = len(content.encode())
    if size > options.max_content:
        raise InvalidMailError(
            f"The content has {size:,} bytes; a message may have at most {options.max_content:,}.",
            hint="Put long text into a file and send its path, send several messages, or raise filebox.max_content.",
        )
    original_id = checked_id(draft.original_id) if draft.original_id.strip() else ""
    title = _title(draft.title, options) if not original_id else draft.title
    return replace(draft, title=title, content=content, original_id=original_id)


def checked_id(message_id: str) -> str:
    """A message id or a prefix of one. Raises InvalidMailError."""
    text = _text(message_id, "message id").strip()
    if not text or len(text) > _LONGEST_ID or _NOT_ONE_LINE.search(text) or well_formed(text) != text:
        raise InvalidMailError(
            f"{_shown(message_id)} is not a message id.", hint="Take the Message ID from the message's header."
        )
    return text


def checked_box(box: str) -> Box:
    """One of the four boxes. Raises InvalidMailError."""
    if box not in BOXES:
        raise InvalidMailError(f"Unknown box {_shown(box)}. Available boxes: {', '.join(BOXES)}.")
    return cast("Box", box)


def checked_file_name(name: str) -> str:
    """The real name of a file in a box, from its shown name. Raises InvalidMailError."""
    if not is_file_name(_text(name, "file name")):
        raise InvalidMailError(
            f"{_shown(name)} is not the file name of a message.",
            hint="Take a name as filebox_list_messages shows it: no folders, ending in .md.",
        )
    return real_name(name)


def _title(title: str, options: FileBoxOptions) -> str:
    title = _NOT_ONE_LINE.sub(" ", well_formed(title))
    if not title.strip():
        raise InvalidMailError("The title of a message is empty.", hint="Give it a title of a few words.")
    if len(title) > options.max_title:
        raise InvalidMailError(
            f"The title has {len(title)} characters; {options.max_title} are allowed.",
            hint="Shorten it and put details into the content, or raise filebox.max_title.",
        )
    return title


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise InvalidMailError(f"The {field} of a message must be a text, not {_shown(value)}.")
    return value


def _shown(value: object) -> str:
    text = repr(well_formed(value) if isinstance(value, str) else value)
    return text if len(text) <= _LONGEST_ID else f"{text[:_LONGEST_ID]}…"
