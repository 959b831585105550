"""Positions in a transcript as opaque strings: the number of the line in front of the position."""

import re
from hashlib import sha256
from typing import Final

from nanobot_transcript.errors import InvalidCursorError

__all__ = ["format_cursor", "parse_cursor", "tag_of"]

_CURSOR: Final = re.compile(r"e1\.([0-9a-f]{6})\.([0-9a-f]{1,15})")


def tag_of(session_key: str) -> str:
    """The chat's name in the database, derived from its session key."""
    return sha256(session_key.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def format_cursor(tag: str, seq: int) -> str:
    """The string for the position behind a line of the chat."""
    return f"e1.{tag[-6:]}.{seq:x}"


def parse_cursor(tag: str, cursor: str) -> int:
    """The number of the line in front of a cursor; InvalidCursorError when it is not one of this chat."""
    match = _CURSOR.fullmatch(cursor) if isinstance(cursor, str) else None
    if match is None:
        raise InvalidCursorError(
            f"{cursor!r} is not a cursor.", hint="Use a cursor as returned by read, recent or end, unchanged."
        )
    if match[1] != tag[-6:]:
        raise InvalidCursorError("The cursor belongs to another chat.", hint="Keep one cursor per chat.")
    return int(match[2], 16)
