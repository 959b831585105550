"""What goes over the line as messages of ``proto``, and those as what goes over the line."""

import json
from collections.abc import Callable
from typing import Any, Final, TypeVar

from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message

from transcript_mcp.assistant.counting import fields_in, values_in

__all__ = ["TooManyValuesError", "UnreadableError", "decoded", "from_json", "to_json"]

_DEEPEST: Final = 64

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
