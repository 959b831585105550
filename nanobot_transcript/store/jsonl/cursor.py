"""Positions in a transcript, handed out as opaque strings.

A position is a segment number and a byte offset. Both stay valid: a chat never uses a number twice, and erasing text
never moves a line.
"""

import re
from typing import Final, NamedTuple

from nanobot_transcript.errors import InvalidCursorError

__all__ = ["START", "SegmentPosition", "format_cursor", "parse_cursor"]

_CURSOR = re.compile(r"c1\.([0-9a-f]{6})\.([0-9a-f]{1,12})\.([0-9a-f]{1,15})")


class SegmentPosition(NamedTuple):
    """A segment number and an offset in that segment (bytes)."""

    number: int
    offset: int


START: Final = SegmentPosition(0, 0)


def format_cursor(stem: str, place: SegmentPosition) -> str:
    """The string for a place in the chat whose files have this stem."""
    return f"c1.{stem[-6:]}.{place.number:x}.{place.offset:x}"


def parse_cursor(stem: str, cursor: str) -> SegmentPosition:
    """The place of a cursor; InvalidCursorError when it is not one of this chat."""
    match = _CURSOR.fullmatch(cursor) if isinstance(cursor, str) else None
    if match is None:
        raise InvalidCursorError(
            f"{cursor!r} is not a cursor.", hint="Use a cursor as returned by read, recent or end, unchanged."
        )
    if match[1] != stem[-6:]:
        raise InvalidCursorError("The cursor belongs to another chat.", hint="Keep one cursor per chat.")
    return SegmentPosition(int(match[2], 16), int(match[3], 16))
