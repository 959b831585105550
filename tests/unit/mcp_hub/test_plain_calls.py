import json
from typing import Any

import pytest

from transcript_mcp.hub.plain_calls import is_plain, with_fields_on_top


def call(method: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method}


@pytest.mark.parametrize("message", [call("tools/call"), [call("ping")], [], 1, None, {}, [[]], {"method": []}])
def test_what_has_no_session_and_begins_none_is_plain(message: Any) -> None:
    assert is_plain({}, message)
    assert is_plain({"MCP-Protocol-Version": "2025-11-25"}, message)


@pytest.mark.parametrize("version", ["", "draft", "DRAFT-2026", "9", "2026"])
def test_a_version_that_is_no_date_says_nothing(version: str) -> None:
    assert is_plain({"MCP-Protocol-Version": version}, call("tools/call"))


def test_a_session_is_not_plain() -> None:
    assert not is_plain({}, call("initialize"))
    assert not is_plain({}, [call("initialize")])
    assert not is_plain({"Mcp-Session-Id": "x"}, call("tools/call"))


def test_the_protocol_that_has_no_sessions_is_not_plain() -> None:
    assert not is_plain({"MCP-Protocol-Version": "2026-07-28"}, call("tools/call"))


def answer(text: Any, **more: Any) -> bytes:
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": text}], **more}}
    ).encode()


def test_the_fields_of_an_answer_stand_on_top_and_the_protocols_stay() -> None:
    text = json.dumps({"name": "蓝湖", "content": "hidden", "isError": 1})
    result = json.loads(with_fields_on_top(answer(text, isError=False)))["result"]
    assert result["name"] == "蓝湖"
    assert result["content"] == [{"type": "text", "text": text}]
    assert result["isError"] is False


def test_a_text_says_nothing_in_the_name_of_the_protocol() -> None:
    text = json.dumps({"structuredContent": {"input": None}, "_meta": {}, "name": "蓝湖"})
    assert json.loads(with_fields_on_top(answer(text)))["result"].keys() == {"content", "name"}


def test_a_resource_is_read_the_same_way() -> None:
    contents = [{"uri": "resource://x", "text": '{"messages": []}'}]
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"contents": contents}}).encode()
    assert json.loads(with_fields_on_top(body))["result"] == {"messages": [], "contents": contents}


@pytest.mark.parametrize(
    "body",
    [
        answer("not json"),
        answer("[1]"),
        answer("{}"),
        answer('{"a": 1}', isError=True),
        answer(None),
        b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}',
        b'{"result": []}',
        b'{"result": {"content": [1]}}',
        b'{"result": {"content": {"a": 1}}}',
        b"[]",
        b"",
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_everything_else_is_left_as_it_is(body: bytes) -> None:
    assert with_fields_on_top(body) == body
