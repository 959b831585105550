"""Adding the lines of a segment to its id table."""

from typing import Final

import msgspec

from nanobot_transcript.store.jsonl.codec import decode, id_keys
from nanobot_transcript.store.jsonl.idtable import IdTable, hash_key
from nanobot_transcript.store.jsonl.lines import lines_between

__all__ = ["add_lines", "capacity_for"]

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
        for key in _keys(line):
            key_hash = hash_key(key)
            if table.find(key_hash) is None and table.insert(key_hash, offset):
                table = table.grown()
    table.indexed = end
    return table


def _keys(line: bytes) -> list[str]:
    try:
        ids = _ids.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        ids = None
    if ids is None or ids.op is not None or ids.message_ids:
        entry = decode(line)
        return [] if entry is None else id_keys(entry)
    return [ids.message_id] if ids.message_id else []
