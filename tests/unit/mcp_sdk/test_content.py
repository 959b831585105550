"""How what a tool returns looks on the wire."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel

from transcript_mcp.sdk import Audio, Embedded, Image, Link, Message, Text
from transcript_mcp.sdk.content import blocks, clean, json_text


class Model(BaseModel):
    """Pydantic."""

    name: str
    at: datetime


class Struct(msgspec.Struct):
    """msgspec."""

    name: str
    inner: Model | None = None


@dataclass
class Plain:
    """A dataclass."""

    name: str


NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def text_of(value: Any) -> str:
    (block,) = blocks(value)
    assert block["type"] == "text"
    return block["text"]


def test_text_stays_text() -> None:
    assert blocks("群里说了什么\n") == [{"type": "text", "text": "群里说了什么\n"}]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"名": "小明", "n": None}, '{"名":"小明","n":null}'),
        (["a", 1], '["a",1]'),
        ([], "[]"),
        (7, "7"),
        (True, "true"),
        (Plain("a"), '{"name":"a"}'),
        (Model(name="a", at=NOON), '{"name":"a","at":"2026-01-02T12:00:00Z"}'),
        ([Struct("a", Model(name="b", at=NOON))], '[{"name":"a","inner":{"name":"b","at":"2026-01-02T12:00:00Z"}}]'),
        ({"at": NOON, "tags": {"x"}}, '{"at":"2026-01-02T12:00:00Z","tags":["x"]}'),
    ],
)
def test_everything_else_becomes_compact_json(value: Any, text: str) -> None:
    assert text_of(value) == text


def test_nothing_is_no_content() -> None:
    assert blocks(None) == []


def test_half_a_character_does_not_get_into_the_protocol() -> None:
    assert clean("a\ud83d") == "a\N{REPLACEMENT CHARACTER}"
    assert clean("\ud83d\ude00") == "😀"
    assert json.loads(text_of({"text": "a\ud83d"})) == {"text": "a\N{REPLACEMENT CHARACTER}"}


def test_content_that_is_more_than_text_has_its_own_blocks() -> None:
    assert blocks(Image(b"\x00", "image/png")) == [{"type": "image", "data": "AA==", "mimeType": "image/png"}]
    assert blocks(Audio(b"\x00", "audio/wav")) == [{"type": "audio", "data": "AA==", "mimeType": "audio/wav"}]
    assert blocks(Embedded("a://b", b"\x00")) == [{"type": "resource", "resource": {"uri": "a://b", "blob": "AA=="}}]
    assert blocks(Embedded("a://b", "x", "text/plain")) == [
        {"type": "resource", "resource": {"uri": "a://b", "mimeType": "text/plain", "text": "x"}}
    ]
    assert blocks(Link("a://b", "b", size=3)) == [{"type": "resource_link", "uri": "a://b", "name": "b", "size": 3}]


def test_a_list_with_content_in_it_is_a_list_of_blocks() -> None:
    kinds = [block["type"] for block in blocks(["a", Text("b"), Image(b"", "image/png"), {"c": 1}])]
    assert kinds == ["text", "text", "image", "text"]


def test_a_message_of_a_prompt_has_a_role() -> None:
    assert Message("hi").wire() == {"role": "user", "content": {"type": "text", "text": "hi"}}
    assert Message(Image(b"", "image/png"), "assistant").wire()["role"] == "assistant"


def test_what_has_no_json_form_is_an_error() -> None:
    with pytest.raises(TypeError, match="object has no JSON form"):
        json_text({"a": object()})
