"""How many values a message has, before it is understood."""

import json
from typing import Any

import pytest

from transcript_mcp.assistant import proto, wire
from transcript_mcp.assistant.counting import values_in

MOST = 1000


def asked(options: int, text: str = "?") -> Any:
    listed = [proto.QuestionOption(label=f'{{"{number}"}}', description=r"\",[") for number in range(options)]
    request = proto.McpAskQuestionRequest(Question=text, Questions=[proto.Question(options=listed)])
    return proto.AskQuestionRequest(ID="q1", UserToken="t", Request=request)


def test_a_message_of_a_few_fields_is_understood_however_long_they_are() -> None:
    long = asked(200, '{["\\' * 100_000)
    assert wire.decoded(proto.AskQuestionRequest, long.SerializeToString(), MOST) == long
    assert wire.from_json(proto.AskQuestionRequest, wire.to_json(long), MOST) == long
    escaped = json.dumps(json.loads(wire.to_json(long))).encode()
    assert wire.from_json(proto.AskQuestionRequest, escaped, MOST) == long


def test_a_message_of_too_many_fields_is_refused_however_short_they_are() -> None:
    many = asked(2000)
    with pytest.raises(wire.TooManyValuesError):
        wire.decoded(proto.AskQuestionRequest, many.SerializeToString(), MOST)
    with pytest.raises(wire.TooManyValuesError):
        wire.from_json(proto.AskQuestionRequest, wire.to_json(many), MOST)
    assert wire.decoded(proto.AskQuestionRequest, many.SerializeToString()) == many


@pytest.mark.parametrize(
    "body",
    [
        b'{"Request":{"Questions":[' + b"{}," * 1_000_000 + b"{}]}}",
        b'{"x":[' + b"[]," * 1_000_000 + b"[]]}",
        b'{"x":[' + b"0," * 1_000_000 + b"0]}",
        b'{"x":[' + b'"",' * 1_000_000 + b'""]}',
        b'{"x":["\\\\",' + b"{}," * 1_000_000 + b"{}]}",
        b"[" * 1_000_000,
    ],
)
def test_json_of_too_many_values_is_not_even_read(body: bytes) -> None:
    with pytest.raises(wire.TooManyValuesError):
        wire.from_json(proto.AskQuestionRequest, body, MOST)


def test_json_in_another_encoding_than_the_one_that_was_counted_is_refused() -> None:
    hidden = '{"x":"' + '"["' * 2000 + '"}'
    for encoding in ("utf-16", "utf-32-le"):
        with pytest.raises(wire.UnreadableError):
            wire.from_json(proto.AskQuestionRequest, hidden.encode(encoding), MOST)
    marked = b"\xef\xbb\xbf" + b'{"ID": "q1"}'
    assert wire.from_json(proto.AskQuestionRequest, marked, MOST).ID == "q1"


@pytest.mark.parametrize(
    "data", [b"\x1a\x02\x3a\x00" * 2000, b"\x08\x01" * 2000, b"\x1b\x1c" * 1000, b"\x09" + b"x" * 8]
)
def test_fields_that_nobody_knows_count_too(data: bytes) -> None:
    with pytest.raises(wire.UnreadableError):
        wire.decoded(proto.AskQuestionRequest, data, 500 if len(data) > 9 else 0)


@pytest.mark.parametrize("data", [b"\xff" * 100, b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x1a\x05\x3a", b"\x80"])
def test_bytes_that_are_no_message_are_left_to_who_reads_them(data: bytes) -> None:
    with pytest.raises(wire.UnreadableError) as refused:
        wire.decoded(proto.AskQuestionRequest, data, MOST)
    assert not isinstance(refused.value, wire.TooManyValuesError)


def test_values_are_counted_outside_of_texts() -> None:
    assert values_in(rb'{"a": "{[,\"{[,\\", "b": [1, 2], "c": {}}', MOST) == 6
