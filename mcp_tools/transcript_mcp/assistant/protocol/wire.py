"""Parses messages of ``proto`` from protobuf and JSON, and writes them as JSON.

Fields are counted before parsing: a message that is small on the wire, such as one of many empty fields, may be large
in memory.
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
    """Bytes that cannot be parsed as the message."""


class TooManyValuesError(UnreadableError):
    """A message with too many fields."""


def decoded(kind: type[_M], data: bytes, most: int | None = None) -> _M:
    """The message in these bytes, with at most ``most`` fields, nested ones included. Raises UnreadableError."""
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
    """The message in this JSON of at most ``most`` values; unknown fields are ignored. Raises UnreadableError.

    ``admit`` is called with the document before the slow conversion to a message, and may raise any error.
    """
    message, name = kind(), kind.DESCRIPTOR.name
    if most is not None and values_in(data, most) > most:
        raise TooManyValuesError(f"{name} may have at most {most} values in total")
    try:
        # Decoded here, because json.loads would also accept UTF-16, in which values_in has counted nothing.
        document = json.loads(data.decode("utf-8-sig"))
        if not isinstance(document, dict):
            raise UnreadableError(f"{name} in JSON has to be an object")
        if admit is not None:
            admit(document)
        json_format.ParseDict(document, message, ignore_unknown_fields=True, max_recursion_depth=_DEEPEST)
    except (json_format.Error, ValueError, RecursionError, TypeError, AttributeError) as error:
        raise UnreadableError(f"not readable as {name} in JSON") from error
    return message


def to_json(message: Message) -> bytes:
    """Protobuf's JSON, as Connect uses it: lowerCamel names, int64 as strings."""
    return json_format.MessageToJson(message, indent=None, ensure_ascii=False).encode(errors="replace")


def fields_in(data: bytes, kind: Descriptor, most: int) -> int:
    """The number of fields in a message of this kind, nested ones included; counting stops above ``most``.

    Takes time in proportion to fields, not bytes. Does not validate: garbage may have any number.
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
    """About the number of values in a JSON text: counts ``{``, ``[`` and commas outside of strings. ``most`` bounds the
    memory that counting takes.
    """
    bare = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    if bare.count(b'"') > 4 * most:  # a member has at most four quotes: of its name and of a string
        return most + 1
    outside = bare.split(b'"')[::2]
    return sum(part.count(begin) for part in outside for begin in _BEGINS)


def _number(data: bytes, at: int, end: int) -> tuple[int, int]:
    """A varint, and where it ends; a broken one ends the message."""
    number = 0
    for place in range(min(_LONGEST_NUMBER, end - at)):
        byte = data[at + place]
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, at + place + 1
    return 0, end
