"""A tool call that needs no session is answered without the SDK, and exactly as the SDK answers it."""

import json
from typing import Annotated, Any

import pytest
from pydantic import Field

from nanobot_transcript.errors import TranscriptError
from transcript_mcp.door.identity import Caller
from transcript_mcp.hub.plain_calls import answer_plainly, fields_on_top, json_bytes, parsed
from transcript_mcp.sdk import Context, Image, Server, http_app
from transcript_mcp.sdk.direct import Direct, is_tool_call

pytestmark = pytest.mark.mcp


def call(name: str = "say", **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def nested(levels: int) -> list[Any]:
    """Lists in lists."""
    made: list[Any] = []
    for _ in range(levels):
        made = [made]
    return made


def server() -> Server:
    made = Server("small", version="1")

    def say(
        text: Annotated[str, Field(description="What.")], times: Annotated[int, Field(description="How often.")] = 1
    ) -> str:
        """Say it."""
        return text * times

    def fields() -> dict[str, Any]:
        """An object."""
        return {"名": "值", "none": None, "list": [1, 2.5, True]}

    def picture() -> Image:
        """A picture."""
        return Image(b"\x00\x01", "image/webp")

    def refuse() -> str:
        """Refuse."""
        raise TranscriptError("Not today.", hint="Come back tomorrow.")

    async def ask(context: Context) -> str:
        """Ask the person, and say how it goes."""
        await context.progress(0.5)
        await context.log("warning", "asking")
        return (await context.elicit("Well?", {"type": "object", "properties": {}})).action

    async def who(context: Context) -> str:
        """Who asks."""
        return f"{context.caller} {context.client_name}"

    def counted() -> list[int]:
        """Data beside the text."""
        return [1, 2]

    for tool in (say, fields, picture, refuse, ask, who):
        made.tool(tool)
    made.tool(counted, structured=True)
    return made


@pytest.mark.parametrize(
    "message",
    [
        call(text="你好"),
        call(text="a", times=3),
        call(text="a", times="many"),
        call(),
        call(unknown=1),
        call("fields"),
        call("picture"),
        call("refuse"),
        call("ask"),
        call("who"),
        call("counted"),
        call("nobody-made-this"),
        call("fields") | {"id": "a name"},
        call("fields") | {"params": {"name": "fields"}},
    ],
    ids=str,
)
async def test_the_answer_is_the_sdks(message: dict[str, Any]) -> None:
    assert is_tool_call(message)
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "query_string": b"",
        "nanobot_transcript.caller": Caller("program", "me"),
    }
    scope["headers"] = [(b"content-type", b"application/json")]
    app = http_app(server(), stateless=True, json=True)
    async with app.running():
        status, _, theirs = await answer_plainly(app, scope, json.dumps(message).encode())
    ours = await Direct(server()).answer(message, Caller("program", "me"))
    assert status == 200
    assert json.loads(json_bytes(fields_on_top(ours))) == json.loads(theirs)


@pytest.mark.parametrize(
    "message",
    [
        None,
        [],
        [call()],
        {},
        call() | {"id": None},
        call() | {"id": True},
        call() | {"id": 1.5},
        call() | {"jsonrpc": "1.0"},
        call() | {"method": "tools/list"},
        call() | {"method": ["tools/call"]},
        call() | {"more": 1},
        call() | {"params": []},
        call() | {"params": {"name": 1}},
        call() | {"params": {"name": "say", "arguments": []}},
        call() | {"params": {"name": "say", "arguments": None}},
        call() | {"params": {"name": "say", "_meta": {"progressToken": 1}}},
        {key: value for key, value in call().items() if key != "id"},
        call(deep=nested(100)),
        call(deep=[{"deeper": nested(100)}]),
    ],
    ids=lambda message: str(message)[:80],
)
def test_everything_else_is_for_the_sdk(message: Any) -> None:
    assert not is_tool_call(message)


@pytest.mark.parametrize("message", [call(text="half \ud83d"), call("half \ud83d")], ids=("argument", "name"))
async def test_half_a_character_is_answered_without_it(message: dict[str, Any]) -> None:
    """SDK 1 does this, too; SDK 2 refuses the request."""
    answer = json_bytes(await Direct(server()).answer(message, None)).decode()
    assert "half \N{REPLACEMENT CHARACTER}" in answer or "half ?" in answer


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_what_is_no_number_of_json_is_no_message(number: str) -> None:
    """The SDK makes null of it, and a tool would take that for an argument that was left out."""
    text = json.dumps(call(text="a", times=1)).replace(": 1", f": {number}")
    with pytest.raises(ValueError, match="is no JSON"):
        parsed(text.encode())
    assert parsed(b'{"id": 1, "params": [1.5e300, 1180591620717411303424]}')["params"] == [1.5e300, 2**70]
