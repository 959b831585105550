"""The frames of the long connection: ``pbbp2.Frame``, a proto2 message whose descriptor is built at run time.

Fields: 1 SeqID u64, 2 LogID u64, 3 service i32, 4 method i32 (all required), 5 headers (repeated key/value),
6 payload_encoding, 7 payload_type, 8 payload, 9 LogIDNew.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

__all__ = ["Frame", "FrameError", "Method", "data_frames", "pong"]

_Proto = descriptor_pb2.FieldDescriptorProto


class FrameError(ValueError):
    """The bytes are not a frame."""


class Method(IntEnum):
    """Kind of a frame: ``CONTROL`` carries pings and pongs, ``DATA`` events and their acknowledgements."""

    CONTROL = 0
    DATA = 1


def _build() -> type[Any]:
    file = descriptor_pb2.FileDescriptorProto(
        name="transcript_channels/simulator/pbbp2.proto", package="pbbp2", syntax="proto2"
    )
    header = file.message_type.add(name="Header")
    for number, name in enumerate(("key", "value"), start=1):
        header.field.add(name=name, number=number, type=_Proto.TYPE_STRING, label=_Proto.LABEL_REQUIRED)
    frame = file.message_type.add(name="Frame")
    required = (
        ("SeqID", _Proto.TYPE_UINT64),
        ("LogID", _Proto.TYPE_UINT64),
        ("service", _Proto.TYPE_INT32),
        ("method", _Proto.TYPE_INT32),
    )
    for number, (name, kind) in enumerate(required, start=1):
        frame.field.add(name=name, number=number, type=kind, label=_Proto.LABEL_REQUIRED)
    frame.field.add(
        name="headers",
        number=5,
        type=_Proto.TYPE_MESSAGE,
        label=_Proto.LABEL_REPEATED,
        type_name=".pbbp2.Header",
    )
    optional = (
        ("payload_encoding", 6, _Proto.TYPE_STRING),
        ("payload_type", 7, _Proto.TYPE_STRING),
        ("payload", 8, _Proto.TYPE_BYTES),
        ("LogIDNew", 9, _Proto.TYPE_STRING),
    )
    for name, number, kind in optional:
        frame.field.add(name=name, number=number, type=kind, label=_Proto.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("pbbp2.Frame"))


_FrameMessage = _build()


@dataclass(slots=True)
class Frame:
    """One frame; ``headers`` as a dictionary, the last value wins."""

    method: Method
    headers: dict[str, str] = field(default_factory=dict)
    payload: bytes = b""
    service: int = 0
    seq_id: int = 0
    log_id: int = 0

    def encode(self) -> bytes:
        """The bytes that go over the wire."""
        message = _FrameMessage(SeqID=self.seq_id, LogID=self.log_id, service=self.service, method=int(self.method))
        for key, value in self.headers.items():
            message.headers.add(key=key, value=value)
        if self.payload:
            message.payload = self.payload
        return message.SerializeToString()

    @classmethod
    def decode(cls, data: bytes) -> "Frame":
        """Read a frame. Raises FrameError for bytes that are none."""
        message = _FrameMessage()
        try:
            message.ParseFromString(data)
            if not message.IsInitialized():
                raise DecodeError("a required field is missing")
            method = Method(message.method)
        except (DecodeError, ValueError) as error:
            raise FrameError(f"not a frame: {error}") from error
        return cls(
            method=method,
            headers={header.key: header.value for header in message.headers},
            payload=message.payload,
            service=message.service,
            seq_id=message.SeqID,
            log_id=message.LogID,
        )


def data_frames(
    payload: bytes, *, frame_id: str, trace_id: str, service: int, fragment_bytes: int | None = None
) -> Iterator[Frame]:
    """The frames of one event: one, or several pieces of ``fragment_bytes`` that the client puts together
    again.
    """
    size = fragment_bytes or max(1, len(payload))
    pieces = [payload[at : at + size] for at in range(0, len(payload), size)] or [b""]
    for number, piece in enumerate(pieces):
        headers: Mapping[str, str] = {
            "type": "event",
            "message_id": frame_id,
            "trace_id": trace_id,
            "sum": str(len(pieces)),
            "seq": str(number),
        }
        yield Frame(Method.DATA, dict(headers), piece, service=service, seq_id=number + 1)


def pong(ping: Frame, payload: bytes) -> Frame:
    """The answer to a ping; the payload re-configures the client."""
    return Frame(Method.CONTROL, {"type": "pong"}, payload, service=ping.service)
