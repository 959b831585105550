"""What goes over the line as messages of ``proto``, and those as what goes over the line.

How many values a message has is counted before it is understood: what is small on the line may be large in memory.
"""

import json
from collections.abc import Callable
from typing import Any, Final, TypeVar

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError, Message

__all__ = ["TooManyValuesError", "UnreadableError", "decoded", "from_json", "to_json", "values_in"]

_DEEPEST: Final = 64
_NUMBER, _EIGHT_BYTES, _COUNTED_BYTES, _FOUR_BYTES = 0, 1, 2, 5
_LONGEST_NUMBER: Final = 10
_BEGINS: Final = (b"{", b"[", b",")

_M = TypeVar("_M", bound=Message)


class UnreadableError(ValueError):
    """Bytes that are not the message they should be."""


class TooManyValuesError(UnreadableError):
    """A message with more fields than it may have."""


def decoded(kind: type[_M], data: bytes, most: int | None = None) -> _M:
    """The message in these bytes, with ``most`` fields in all. Raises UnreadableError."""
    message, name = kind(), kind.DESCRIPTOR.name
    if most is not None and fields_in(data, kind.DESCRIPTOR, most) > most:  # type: ignore[arg-type] -- of any runtime
        raise TooManyValuesError(f"{name} may have at most {most} fields in total")
    try:
        message.ParseFromString(data)
    except (DecodeError, ValueError, RecursionError) as error:
        raise UnreadableError(f"not readable as {name}") from error
    return message


def from_json(
    kind: type[_M], data: bytes, most: int | None = None, admit: Callable[[dict[str, Any]], object] | None = None
) -> _M:
    """The message in this JSON of ``most`` values; unknown fields are left out. Raises UnreadableError.

    ``admit`` may look at the document and raise what it likes, before time is spent on making a message of it.
    """
    message, name = kind(), kind.DESCRIPTOR.name
    if most is not None and values_in(data, most) > most:
        raise TooManyValuesError(f"{name} may have at most {most} values in total")
    try:
        document = json.loads(data.decode("utf-8-sig"))  # in no other encoding: the values were counted in this one
        if not isinstance(document, dict):
            raise UnreadableError(f"{name} in JSON has to be an object")
        if admit is not None:
            admit(document)
        json_format.ParseDict(document, message, ignore_unknown_fields=True, max_recursion_depth=_DEEPEST)
    except (json_format.Error, ValueError, RecursionError, TypeError, AttributeError) as error:
        raise UnreadableError(f"not readable as {name} in JSON") from error
    return message


def to_json(message: Message) -> bytes:
    """As Connect's JSON: lowerCamel names, capitals kept, int64 as text."""
    return json_format.MessageToJson(message, indent=None, ensure_ascii=False).encode(errors="replace")


def fields_in(data: bytes, kind: Descriptor, most: int) -> int:
    """Fields of a message of this kind with those of the messages in it; more than ``most`` are not counted to the end.

    Costs time by fields, not by bytes. Does not say whether it is such a message.
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
