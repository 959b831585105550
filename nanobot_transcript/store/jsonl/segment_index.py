"""Adding the lines of a segment to its id table."""

from typing import Final

import msgspec

from nanobot_transcript.entry import Entry
from nanobot_transcript.store.jsonl.escapes import is_plain
from nanobot_transcript.store.jsonl.id_table import IdTable, hash_key
from nanobot_transcript.store.jsonl.lines import line_at, lines_between
from nanobot_transcript.store.lines.codec import decode
from nanobot_transcript.store.lines.ids import id_keys
from nanobot_transcript.store.lines.ops import is_op

__all__ = ["add_lines", "capacity_for", "line_with"]

_SMALLEST_LINE: Final = 128


class _Ids(msgspec.Struct):
    message_id: str | None = None
    message_ids: list[str] | None = None
    op: str | None = None


_ids = msgspec.json.Decoder(_Ids)


def capacity_for(length: int) -> int:
    """How many slots a segment of ``length`` bytes will need, a power of two."""
    return max(1024, 1 << (length // _SMALLEST_LINE * 2).bit_length())


def add_lines(table: IdTable, descriptor: int, start: int, end: int) -> IdTable:
    """Index the complete lines in [start, end); returns the table, or a larger one that took its place."""
    for offset, line in lines_between(descriptor, start, end):
        keys, is_message = _keys(line)
        if not is_plain(line):
            table.note_other_spelling()
        for key in keys:
            key_hash = hash_key(key)
            # A repeated message adds nothing. But a recall must be found even when its message is gone, and an erased
            # message may be said again.
            offsets = table.find(key_hash) if is_message else None
            if offsets and line_with(descriptor, offsets, key) is not None:
                continue
            if table.insert(key_hash, offset):
                table = table.grown()
    table.indexed = end
    return table


def line_with(descriptor: int, offsets: list[int], key: str) -> Entry | None:
    """The first line at one of the offsets that stands in the table under ``key``."""
    for offset in offsets:
        entry = decode(line_at(descriptor, offset))
        if entry is not None and key in id_keys(entry):
            return entry
    return None


def _keys(line: bytes) -> tuple[list[str], bool]:
    try:
        ids = _ids.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        ids = None
    if ids is None or ids.op is not None or ids.message_ids:
        entry = decode(line)
        return ([], True) if entry is None else (id_keys(entry), not is_op(entry))
    return [ids.message_id] if ids.message_id else [], True
