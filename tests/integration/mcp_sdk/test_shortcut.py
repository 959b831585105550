"""Calls of plain functions over stdin are answered beside the SDK, and exactly as the SDK answers them."""

import json
from typing import Annotated, Any

import pytest
from pydantic import Field
from support.mcp_raw import RawClient

from transcript_mcp.sdk import Context, Server
from transcript_mcp.sdk.shortcut import Shortcut

pytestmark = pytest.mark.mcp

GREETING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "0"},
}


def line(method: str, request_id: Any = None, **params: Any) -> bytes:
    head = {"jsonrpc": "2.0"} | ({} if request_id is None else {"id": request_id})
    return json.dumps(head | {"method": method, "params": params}).encode()


def server() -> Server:
    made = Server("small", version="1")

    def plain(context: Context, text: Annotated[str, Field(description="What.")] = "") -> str:
        """Say it to whoever asks."""
        return f"{text} {context.client_name} {context.caller}"

    async def patient() -> str:
        """Wait."""
        return ""

    made.tool(plain)
    made.tool(patient)
    return made


def begun() -> Shortcut:
    """A connection whose client has introduced itself and asked something."""
    shortcut = Shortcut(server())
    for number, said in enumerate([line("initialize", 0, **GREETING), line("tools/list", 1)]):
        assert shortcut.call(said) is None
        shortcut.answered(number)
    return shortcut


@pytest.mark.parametrize(
    "params",
    [
        {"name": "plain"},
        {"name": "plain", "arguments": {"text": "a"}},
        {"name": "plain", "arguments": {}, "_meta": {"progressToken": 1}},
    ],
    ids=str,
)
async def test_the_call_of_a_plain_function_takes_the_short_way(params: dict[str, Any]) -> None:
    shortcut = begun()
    call = shortcut.call(line("tools/call", 2, **params))
    assert call is not None
    answer = json.loads(await shortcut.answer(call))
    text = f"{params.get('arguments', {}).get('text', '')} raw None"
    assert answer == {
        "jsonrpc": "2.0",
        "id": 2,
        "result": {"content": [{"type": "text", "text": text}], "isError": False},
    }


@pytest.mark.parametrize(
    "said",
    [
        line("tools/call", 2, name="patient"),
        line("tools/call", 2, name="nobody-made-this"),
        line("tools/call", 2, name="plain", task={"ttl": 1}),
        line("tools/call", name="plain"),
        line("tools/list", 2),
        line("ping", 2),
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"plain","arguments":{"text":NaN}}}',
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"plain","arguments":{"text":"\\ud83d"}}}',
        b"[" * 100_000,
        b"[]",
        b"\xff",
        b"",
    ],
    ids=lambda said: said[:90],
)
def test_everything_else_is_for_the_sdk(said: bytes) -> None:
    assert begun().call(said) is None


@pytest.mark.parametrize("missing", ["the greeting", "a request", "its answer"])
def test_the_sdk_knows_the_client_before_anything_goes_past_it(missing: str) -> None:
    shortcut = Shortcut(server())
    if missing != "the greeting":
        shortcut.call(line("initialize", 0, **GREETING))
        shortcut.answered(0)
    shortcut.call(line("ping" if missing == "a request" else "tools/call", 1, name="plain"))
    if missing != "its answer":
        shortcut.answered(1)
    assert shortcut.call(line("tools/call", 2, name="plain")) is None


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("echo", {"text": "你好 🙂"}),
    ("echo", {"text": 3}),
    ("echo", {}),
    ("numbers", {"count": 3}),
    ("numbers", {"count": "many"}),
    ("numbers", {"count": 2**70}),
]


@pytest.mark.parametrize(("tool", "arguments"), CALLS, ids=str)
def test_the_answer_is_the_sdks(tool: str, arguments: dict[str, Any]) -> None:
    """The first request of a client is always the SDK's."""
    with RawClient() as client:
        client.begin()
        theirs = client.call(tool, **arguments)
        assert client.call(tool, **arguments) == theirs
