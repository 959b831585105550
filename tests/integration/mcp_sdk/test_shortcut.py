"""What needs nothing of the SDK is answered beside it over stdio, and exactly as the SDK answers it."""

import json
import sys
from typing import Annotated, Any

import pytest
from pydantic import Field
from support.mcp_client import SDK
from support.mcp_raw import RawClient
from support.needs import lacks
from support.waiting import until

from transcript_mcp.sdk import Context, Server
from transcript_mcp.sdk.shortcut import Handled, Shortcut

pytestmark = pytest.mark.mcp

GREETING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}}
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
ANY_KEY = {"anything": 1}

only_sdk_1 = pytest.mark.skipif(SDK > 1, reason=lacks("the greeting is answered beside SDK 1", "make test"))


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


class Connection:
    """A shortcut, what it says by itself, and the server whose it is."""

    def __init__(self, shared: Server | None = None) -> None:
        self.said: list[dict[str, Any]] = []
        self.server = shared or server()
        self.shortcut = Shortcut(self.server, self._say)

    async def _say(self, message: dict[str, Any]) -> None:
        self.said.append(message)

    async def greeted(self) -> "Connection":
        """The client has introduced itself."""
        if self.shortcut.take(line("initialize", 0, **GREETING)) is None:
            await self.shortcut.answered(0, well=True)
        self.shortcut.take(INITIALIZED)
        return self

    async def answer(self, said: bytes) -> dict[str, Any]:
        """What is answered to something that is not the SDK's."""
        taken = self.shortcut.take(said)
        assert taken is not None
        assert taken.answer is not None
        return await taken.answer()


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
    connection = await Connection().greeted()
    text = f"{params.get('arguments', {}).get('text', '')} raw None"
    assert await connection.answer(line("tools/call", 2, **params)) == {
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
        line("tools/list", 2, cursor="x"),
        line("tools/list"),
        line("prompts/list", 2),
        line("initialize", 2, **GREETING),
        b'{"jsonrpc":"2.0","id":2.5,"method":"tools/list"}',
        b'{"jsonrpc":"2.0","id":[2],"method":"tools/call","params":{"name":"patient"}}',
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"plain","arguments":{"text":NaN}}}',
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"plain","arguments":{"text":"\\ud83d"}}}',
        b'{"jsonrpc":"2.0","id":2,"method":["tools/list"]}',
        b'{"jsonrpc":"2.0","id":2,"method":{}}',
        b'{"jsonrpc":"2.0","id":2,"result":{}}',
        b"[" * 100_000,
        b"[]",
        b"\xff",
        b"",
    ],
    ids=lambda said: said[:90],
)
async def test_everything_else_is_for_the_sdk(said: bytes) -> None:
    assert (await Connection().greeted()).shortcut.take(said) is None


@pytest.mark.parametrize("said", [line("tools/call", 2, name="plain"), line("tools/list", 2), line("ping", 2)])
async def test_nothing_goes_past_the_sdk_before_the_greeting(said: bytes) -> None:
    assert Connection().shortcut.take(said) is None


async def test_who_was_refused_at_the_greeting_is_answered_nothing_beside_the_sdk() -> None:
    connection = Connection()
    assert connection.shortcut.take(line("initialize", 0, protocolVersion=3)) is None
    assert not await connection.shortcut.answered(0, well=False)
    assert connection.shortcut.take(line("tools/list", 1)) is None


@only_sdk_1
async def test_nobody_waits_for_the_sdk_because_a_call_that_it_has_not_heard_is_cancelled() -> None:
    connection = await Connection().greeted()
    assert connection.shortcut.take(line("notifications/cancelled", requestId=3)) == Handled()


@only_sdk_1
async def test_the_sdk_hears_the_greeting_when_something_is_for_it_and_its_answer_is_the_second_one() -> None:
    connection = Connection()
    greeting = line("initialize", 7, **GREETING)
    assert (await connection.answer(greeting))["id"] == 7
    assert connection.shortcut.take(INITIALIZED) == Handled()
    assert connection.shortcut.unheard() == [greeting, INITIALIZED]
    assert connection.shortcut.unheard() == []
    assert connection.shortcut.take(INITIALIZED) is None
    assert [await connection.shortcut.answered(7, well=True) for _ in range(2)] == [True, False]


UNUSUAL: list[dict[str, Any]] = [
    {"protocolVersion": "1999-01-01"},
    {"protocolVersion": 3},
    {"capabilities": {"roots": 3}},
    {"capabilities": {"roots": {"listChanged": 1}}},
    {"capabilities": {"sampling": {"tools": 1}}},
    {"capabilities": {"unheard-of": {}}},
    {"capabilities": {"experimental": {"a": {"b": {"c": {"d": {}}}}}}},
    {"capabilities": []},
    {"clientInfo": {"name": "raw"}},
    {"clientInfo": {"name": "raw", "version": 1}},
    {"clientInfo": {"name": "raw", "version": "0", "icons": []}},
    {"clientInfo": None},
    {"_meta": {}},
]


@pytest.mark.parametrize("unusual", UNUSUAL, ids=str)
def test_an_unusual_greeting_is_the_sdks(unusual: dict[str, Any]) -> None:
    assert Connection().shortcut.take(line("initialize", 1, **GREETING | unusual)) is None


async def test_who_has_not_met_the_sdk_is_told_of_lists_and_who_has_is_told_by_the_sdk() -> None:
    shared = server()
    one, two = await Connection(shared).greeted(), await Connection(shared).greeted()
    shared.lists_changed()
    await until(lambda: len(one.said) == len(two.said) == 3)
    assert {message["method"] for message in one.said} == {
        f"notifications/{what}/list_changed" for what in ("tools", "prompts", "resources")
    }
    assert two.shortcut.take(line("tools/call", 2, name="patient")) is None
    assert not await two.shortcut.answered(2, well=True)
    shared.lists_changed()
    await until(lambda: len(one.said) == 6)
    assert len(two.said) == 3


# -- beside the real one


def theirs(client: RawClient, method: str, **params: Any) -> Any:
    return client.answer(client.ask(method, **params))


@pytest.mark.parametrize(
    "said",
    [
        *({"protocolVersion": version} for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")),
        {"clientInfo": {"name": "raw", "version": "0", "websiteUrl": "https://example.com"}},
        {"capabilities": {"roots": {"listChanged": True}, "elicitation": {"form": {}}, "sampling": {}}},
    ],
    ids=str,
)
def test_the_greeting_is_the_sdks(said: dict[str, Any]) -> None:
    with RawClient() as ours, RawClient() as other:
        usual = theirs(ours, "initialize", **GREETING | said)
        assert usual == theirs(other, "initialize", **GREETING | said | {"_meta": {}})


@pytest.mark.parametrize("what", ["tools", "prompts", "resources", "resources/templates"])
def test_lists_are_the_sdks(what: str) -> None:
    with RawClient() as client:
        client.begin()
        ours = theirs(client, f"{what}/list")
        assert theirs(client, f"{what}/list", cursor="") == ours


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("echo", {"text": "你好 🙂"}),
    ("echo", {"text": 3}),
    ("echo", {}),
    ("numbers", {"count": 3}),
    ("numbers", {"count": "many"}),
    ("numbers", {"count": 2**70}),
]


@pytest.mark.parametrize(("tool", "arguments"), CALLS, ids=str)
def test_answers_of_tools_are_the_sdks(tool: str, arguments: dict[str, Any]) -> None:
    with RawClient() as client:
        client.begin()
        ours = client.call(tool, **arguments)
        assert theirs(client, "tools/call", name=tool, arguments=arguments, **ANY_KEY) == ours


@only_sdk_1
def test_the_sdk_is_not_imported_before_something_is_asked_of_it() -> None:
    code = (
        "import asyncio, sys\n"
        "from transcript_mcp.sdk import Server, serve_stdio\n"
        "server = Server('small', version='1')\n"
        "def loaded() -> str:\n"
        "    'Whether the SDK is there.'\n"
        "    return str('mcp' in sys.modules)\n"
        "async def patient() -> str:\n"
        "    'The same.'\n"
        "    return loaded()\n"
        "server.tool(loaded)\n"
        "server.tool(patient)\n"
        "asyncio.run(serve_stdio(server))\n"
    )
    with RawClient([sys.executable, "-c", code]) as client:
        client.begin()
        client.answer(client.ask("tools/list"))
        assert [client.call(tool)["content"][0]["text"] for tool in ("loaded", "patient")] == ["False", "True"]


def test_a_client_that_never_asks_the_sdk_is_answered_and_may_ask_it_later() -> None:
    with RawClient() as client:
        client.begin()
        assert client.call("echo", text="a")["content"][0]["text"] == "a"
        assert client.call("who")["content"][0]["text"] == "None with raw"
        assert client.call("echo", text="b")["content"][0]["text"] == "b"
        assert client.end()[:2] == (0, [])
