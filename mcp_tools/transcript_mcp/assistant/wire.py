"""The messages of ``schema`` as classes, made at import: no compiler, no generated code, one runtime of any age.

    frame = wire.new("WebsocketMessage", Cmd="UserLogin", StrParam=token)
    data = frame.SerializeToString()

A message is ``Any`` to the type checker: its fields come from the table.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import DecodeError

from transcript_mcp.assistant.counting import fields_in, values_in
from transcript_mcp.assistant.schema import MESSAGES, PACKAGE, Field

__all__ = ["TooManyValuesError", "UnreadableError", "decoded", "from_json", "new", "to_json"]

_SCALARS: Final = {"string": 9, "bytes": 12, "bool": 8, "int32": 5, "int64": 3}
_MESSAGE: Final = 11
_OPTIONAL, _REPEATED = 1, 3
_DEEPEST: Final = 64


class UnreadableError(ValueError):
    """Bytes that are not the message they should be."""


class TooManyValuesError(UnreadableError):
    """A message with more fields than it may have."""


def new(name: str, **fields: Any) -> Any:
    """A message of this name."""
    return _CLASSES[name](**fields)


def decoded(name: str, data: bytes, most: int | None = None) -> Any:
    """The message in these bytes, with ``most`` fields in all. Raises UnreadableError."""
    message = _CLASSES[name]()
    if most is not None and fields_in(data, message.DESCRIPTOR, most) > most:
        raise TooManyValuesError(f"{name} may have at most {most} fields in total")
    try:
        message.ParseFromString(data)
    except (DecodeError, ValueError, RecursionError) as error:
        raise UnreadableError(f"not readable as {name}") from error
    return message


def from_json(
    name: str, data: bytes, most: int | None = None, admit: Callable[[dict[str, Any]], object] | None = None
) -> Any:
    """The message in this JSON of ``most`` values; unknown fields are left out. Raises UnreadableError.

    ``admit`` may look at the document and raise what it likes, before time is spent on making a message of it.
    """
    message = _CLASSES[name]()
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


def to_json(message: Any) -> bytes:
    """As Connect's JSON: lowerCamel names, capitals kept, int64 as text."""
    return json_format.MessageToJson(message, indent=None, ensure_ascii=False).encode(errors="replace")


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="agentassist.proto", package=PACKAGE, syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field in fields:
            _add(message, name, field)
    return file


def _add(message: descriptor_pb2.DescriptorProto, owner: str, field: Field) -> None:
    label, kind = _parts(field.kind)
    home = PACKAGE
    if kind.startswith("map<"):
        label, kind, home = "repeated", _map_entry(message, field), f"{PACKAGE}.{owner}"
    cardinality = _REPEATED if label == "repeated" else _OPTIONAL
    added = message.field.add(name=field.name, number=field.number, label=cardinality)
    if kind in _SCALARS:
        added.type = _SCALARS[kind]  # type: ignore[assignment] -- an enum of numbers
    else:
        added.type = _MESSAGE  # type: ignore[assignment]
        added.type_name = f".{home}.{kind}"
    if label == "optional":
        added.proto3_optional = True
        added.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{field.name}")


def _map_entry(message: descriptor_pb2.DescriptorProto, field: Field) -> str:
    key, value = field.kind.removeprefix("map<").removesuffix(">").split(", ")
    name = f"{field.name[:1].upper()}{field.name[1:]}Entry"
    entry = message.nested_type.add(name=name)
    entry.options.map_entry = True
    for number, (part, kind) in enumerate((("key", key), ("value", value)), 1):
        entry.field.add(name=part, number=number, label=_OPTIONAL, type=_SCALARS[kind])  # type: ignore[arg-type]
    return name


def _parts(kind: str) -> tuple[str, str]:
    if kind.startswith("map<"):
        return "", kind
    label, _, name = kind.rpartition(" ")
    return label, name


def _classes() -> Iterator[tuple[str, Any]]:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(_file())
    for name in MESSAGES:
        yield name, message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))


_CLASSES: Final[dict[str, Any]] = dict(_classes())
