"""Messages of the wire by their numbers alone, with nothing of ours and no protobuf."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

__all__ = ["Value", "all_at", "at", "encoded"]

Value: TypeAlias = "int | str | bytes | Mapping[int, Value] | Sequence[Value]"
"""What a field holds; a list is a repeated field."""

_NUMBER, _BYTES = 0, 2


def encoded(fields: Mapping[int, Value]) -> bytes:
    """A message by the numbers of its fields, in their order."""
    return b"".join(_field(number, value) for number, value in fields.items())


def at(message: bytes, *path: int) -> int | bytes:
    """What a message holds at this path of numbers; of a repeated field, the first. Raises IndexError: nothing."""
    return all_at(message, *path)[0]


def all_at(message: bytes, *path: int) -> list[int | bytes]:
    """All that a message holds there."""
    found: list[int | bytes] = [message]
    for number in path:
        found = [
            value for each in found if isinstance(each, bytes) for known, value in _fields(each) if known == number
        ]
    return found


def _field(number: int, value: Value) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3 | _NUMBER) + _varint(value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return b"".join(_field(number, each) for each in value)
    data = encoded(value) if isinstance(value, Mapping) else value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | _BYTES) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    place = 0
    while place < len(message):
        tag, place = _read_varint(message, place)
        value, place = _read_varint(message, place)
        if tag & 7 == _NUMBER:
            yield tag >> 3, value
            continue
        assert tag & 7 == _BYTES, f"field {tag >> 3} is of another type"
        yield tag >> 3, message[place : place + value]
        place += value


def _read_varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place
