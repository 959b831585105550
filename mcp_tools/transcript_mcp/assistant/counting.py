"""How many values a message has, before it is understood: what is small on the line may be large in memory.

Neither of these says whether a message is one; that is found when it is understood.
"""

from typing import Final

from google.protobuf.descriptor import Descriptor

__all__ = ["fields_in", "values_in"]

_NUMBER, _EIGHT_BYTES, _COUNTED_BYTES, _FOUR_BYTES = 0, 1, 2, 5
_LONGEST_NUMBER: Final = 10
_BEGINS: Final = (b"{", b"[", b",")


def fields_in(data: bytes, kind: Descriptor, most: int) -> int:
    """Fields of a message of this kind with those of the messages in it; more than ``most`` are not counted to the end.

    Costs time by fields, not by bytes.
    """
    counted = 0
    inside: list[tuple[Descriptor, int, int]] = [(kind, 0, len(data))]
    while inside:
        here, at, end = inside.pop()
        while at < end:
            counted += 1
            if counted > most:
                return counted
            tag, at = _number(data, at, end)
            if tag & 7 == _COUNTED_BYTES:
                size, at = _number(data, at, end)
                field = here.fields_by_number.get(tag >> 3)
                if field is not None and field.message_type is not None:
                    inside.append((field.message_type, at, min(at + size, end)))
                at += size
            elif tag & 7 == _NUMBER:
                _, at = _number(data, at, end)
            else:
                at += {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}.get(tag & 7, 0)
    return counted


def values_in(data: bytes, most: int) -> int:
    """About as many values as a JSON text has, not looking into its strings; ``most`` bounds the memory of counting."""
    bare = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    if bare.count(b'"') > 4 * most:  # a member has a name, and may have a text
        return most + 1
    outside = bare.split(b'"')[::2]
    return sum(part.count(begin) for part in outside for begin in _BEGINS)


def _number(data: bytes, at: int, end: int) -> tuple[int, int]:
    """A number of variable length, and where it ends; what is none ends the message."""
    number = 0
    for place in range(min(_LONGEST_NUMBER, end - at)):
        byte = data[at + place]
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, at + place + 1
    return 0, end
