"""The messages of ``schema`` as protobuf classes, built at import: no compiler, no generated code that would need a
matching version of the runtime.

    frame = proto.WebsocketMessage(Cmd="UserLogin", StrParam=token)
    data = frame.SerializeToString()

``proto.pyi`` describes the classes to the type checker; see ``schema``.
"""

from collections.abc import Iterator
from typing import Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

from transcript_mcp.assistant.protocol.schema import MESSAGES, PACKAGE, Field

_SCALARS: Final = {"string": 9, "bytes": 12, "bool": 8, "int32": 5, "int64": 3}
_MESSAGE: Final = 11
_OPTIONAL, _REPEATED = 1, 3


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
        added.type = _MESSAGE  # type: ignore[assignment] -- an enum of numbers
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
        added = entry.field.add(name=part, number=number, label=_OPTIONAL)
        added.type = _SCALARS[kind]  # type: ignore[assignment] -- an enum of numbers
    return name


def _parts(kind: str) -> tuple[str, str]:
    if kind.startswith("map<"):
        return "", kind
    label, _, name = kind.rpartition(" ")
    return label, name


def _classes() -> Iterator[tuple[str, type[Message]]]:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(_file())
    for name in MESSAGES:
        yield name, message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))


globals().update(_classes())
