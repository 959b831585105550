"""The hub as clients and people at a terminal see it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from aiohttp import ClientResponse, ClientSession, web
from support.hubs import listening, small_server
from support.waiting import PATIENCE

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.settings import Settings
from transcript_mcp.hub import create_app
from transcript_mcp.room import OpenRoom
from transcript_mcp.sdk import Server

pytestmark = pytest.mark.mcp

TOKEN, OTHER = "0123456789abcdef", "fedcba9876543210"
JSON = {"Content-Type": "application/json"}
BOTH = JSON | {"Accept": "application/json, text/event-stream"}

StartHub = Callable[..., Awaitable[str]]


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return request("tools/call", name=tool, arguments=arguments)


HELLO = request(
    "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"}
)


async def posted(http: ClientSession, url: str, message: Any, **headers: str) -> tuple[int, Any]:
    async with http.post(url, data=json.dumps(message), headers=JSON | headers) as answer:
        return answer.status, await answer.json()


async def begun(http: ClientSession, url: str, **headers: str) -> dict[str, str]:
    """A session: the headers that belong to it."""
    async with http.post(url, json=HELLO, headers=BOTH | headers) as answer:
        assert answer.status == 200, await answer.text()
        session = {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-06-18"}
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    async with http.post(url, json=note, headers=BOTH | headers | session) as answer:
        assert answer.status == 202
    return BOTH | headers | session


async def streamed(answer: ClientResponse) -> Any:
    """The JSON-RPC answer at the end of an event stream."""
    data = [line[6:] for line in (await answer.text()).splitlines() if line.startswith("data: {")]
    return json.loads(data[-1])


@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/mcp/small", "/mcp/small/"])
async def test_a_call_typed_into_curl_is_answered_with_its_fields_on_top(
    hub: StartHub, http: ClientSession, path: str
) -> None:
    status, answer = await posted(http, await hub() + path, call("whoami"))
    assert status == 200
    assert answer["result"]["name"] == "蓝湖"
    assert answer["result"]["content"][0]["type"] == "text"


async def test_curl_reads_a_resource_with_its_query(hub: StartHub, http: ClientSession) -> None:
    status, answer = await posted(
        http, await hub() + "/mcp/", request("resources/read", uri="resource://inbox/BlueLake?limit=10")
    )
    assert (status, answer["result"]["agent"], answer["result"]["limit"]) == (200, "BlueLake", 10)


async def test_curl_without_a_content_type_is_told_what_to_add(hub: StartHub, http: ClientSession) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    async with http.post(await hub() + "/mcp", data=json.dumps(call("whoami")), headers=form) as answer:
        assert answer.status == 415
        assert "-H 'Content-Type: application/json'" in (await answer.json())["error"]["hint"]


async def test_the_content_type_may_be_spelled_in_capitals(hub: StartHub, http: ClientSession) -> None:
    status, _ = await posted(http, await hub() + "/mcp", call("whoami"), **{"Content-Type": "application/JSON"})
    assert status == 200


async def test_an_error_of_the_product_is_said_with_its_hint(hub: StartHub, http: ClientSession) -> None:
    _, answer = await posted(http, await hub() + "/mcp", call("refuse"))
    assert answer["result"]["isError"] is True
    assert answer["result"]["content"][0]["text"] == "There is no such thing.\nMake one."


async def test_a_client_with_a_session_is_answered_as_the_protocol_says(hub: StartHub, http: ClientSession) -> None:
    url = await hub() + "/mcp"
    session = await begun(http, url)
    async with http.post(url, json=call("whoami"), headers=session) as answer:
        result = (await streamed(answer))["result"]
    assert json.loads(result["content"][0]["text"])["name"] == "蓝湖"
    assert "name" not in result
    async with http.delete(url, headers=session) as answer:
        assert answer.status == 200
    async with http.post(url, json=call("whoami"), headers=session) as answer:
        assert answer.status == 404


async def test_everything_together_and_each_server_alone(hub: StartHub, http: ClientSession) -> None:
    url = await hub()
    tools = {}
    for path in ("/mcp", "/mcp/small", "/mcp/filebox"):
        _, answer = await posted(http, url + path, request("tools/list"))
        tools[path] = sorted(tool["name"] for tool in answer["result"]["tools"])
    assert tools["/mcp"] == sorted(tools["/mcp/small"] + tools["/mcp/filebox"])
    assert tools["/mcp/filebox"] == ["mine"]


async def test_the_settings_say_which_servers_are_offered_together(hub: StartHub, http: ClientSession) -> None:
    url = await hub(servers=["filebox"])
    _, answer = await posted(http, f"{url}/mcp", request("tools/list"))
    assert [tool["name"] for tool in answer["result"]["tools"]] == ["mine"]
    status, _ = await posted(http, f"{url}/mcp/small", call("whoami"))
    assert status == 200


async def test_what_is_not_there_says_where_to_look(hub: StartHub, http: ClientSession) -> None:
    url = await hub()
    async with http.get(f"{url}/mcp/nowhere") as answer:
        assert answer.status == 404
        assert "/mcp" in (await answer.json())["error"]["hint"]


async def test_the_wrong_name_and_the_wrong_page_come_before_everything(hub: StartHub, http: ClientSession) -> None:
    url = await hub(tokens={"laptop": TOKEN})
    for headers, expected in (({"Host": "evil.example"}, 421), ({"Origin": "http://["}, 403), ({}, 401)):
        for path in ("/mcp", "/metrics", "/nowhere"):
            async with http.post(url + path, data=b"{", headers=headers) as answer:
                assert answer.status == expected, path
    async with http.get(f"{url}/healthz", headers={"Host": "evil.example"}) as answer:
        assert answer.status == 421


async def test_a_token_opens_the_door_and_servers_learn_whose_it_is(hub: StartHub, http: ClientSession) -> None:
    url = await hub(tokens={"laptop": TOKEN})
    status, refusal = await posted(http, f"{url}/mcp", call("whoami"))
    assert (status, refusal["error"]["code"]) == (401, "no_token")
    status, answer = await posted(http, f"{url}/mcp", call("whoami"), **bearer(TOKEN))
    assert (status, answer["result"]["caller"]) == (200, "token/laptop")


async def test_behind_a_proxy_that_does_tls_the_hub_goes_by_its_public_name_and_asks_for_the_token(
    hub: StartHub, http: ClientSession
) -> None:
    url = await hub(tokens={"laptop": TOKEN}, allowed_hosts=["mail.example.com"]) + "/mcp"
    proxied = {"Host": "mail.example.com", "X-Forwarded-Proto": "https", "X-Forwarded-For": "127.0.0.1"}
    status, refusal = await posted(http, url, call("whoami"), **proxied)
    assert (status, refusal["error"]["code"]) == (401, "no_token"), "what a proxy forwards is not this machine's own"
    status, refusal = await posted(http, url, call("whoami"), **proxied | bearer(TOKEN) | {"Host": "other.example.com"})
    assert (status, refusal["error"]["code"]) == (421, "wrong_host")
    page = proxied | bearer(TOKEN) | {"Origin": "https://mail.example.com"}
    status, answer = await posted(http, url, call("whoami"), **page)
    assert (status, answer["result"]["caller"]) == (200, "token/laptop")
    session = await begun(http, url, **page)
    async with http.post(url, json=call("whoami"), headers=session) as answer:
        assert json.loads((await streamed(answer))["result"]["content"][0]["text"])["caller"] == "token/laptop"


async def test_a_mailbox_agents_token_opens_the_mailboxes_only(hub: StartHub, http: ClientSession) -> None:
    url = await hub(filebox={"tokens": {"qa_agent": TOKEN}})
    status, answer = await posted(http, f"{url}/mcp/filebox", call("mine"), **bearer(TOKEN))
    assert (status, answer["result"]["caller"]) == (200, "agent/qa_agent")
    for path in ("/mcp", "/mcp/small"):
        status, refusal = await posted(http, url + path, call("whoami"), **bearer(TOKEN))
        assert (status, refusal["error"]["code"]) == (403, "not_for_this_token")
    async with http.get(f"{url}/metrics", headers=bearer(TOKEN)) as answer:
        assert answer.status == 403


async def test_nobody_goes_on_with_the_session_of_another(hub: StartHub, http: ClientSession) -> None:
    url = await hub(tokens={"laptop": TOKEN, "phone": OTHER}) + "/mcp"
    session = await begun(http, url, **bearer(TOKEN))
    async with http.post(url, json=call("whoami"), headers=session | bearer(OTHER)) as answer:
        assert answer.status in (403, 404)
    async with http.post(url, json=call("whoami"), headers=session) as answer:
        assert answer.status == 200


async def test_health_is_told_without_a_token_and_numbers_are_not(hub: StartHub, http: ClientSession) -> None:
    url = await hub(tokens={"laptop": TOKEN})
    for path in ("/healthz", "/readyz"):
        async with http.get(url + path) as answer:
            assert answer.status == 200
    async with http.get(f"{url}/metrics") as answer:
        assert answer.status == 401
    async with http.get(f"{url}/metrics", headers=bearer(TOKEN)) as answer:
        text = await answer.text()
    assert 'nanobot_transcript_hub_requests_total{method="GET",route="/healthz",status="200"} 1.0' in text


async def chunks(size: int) -> Any:
    for _ in range(size // 1000):
        yield b" " * 1000


@pytest.mark.parametrize("tool", ["leave", "leave_later"])
async def test_a_tool_that_ends_the_process_ends_its_call_only(
    http: ClientSession, caplog: pytest.LogCaptureFixture, tool: str
) -> None:
    server = Server("small", version="1")

    @server.tool
    def leave() -> str:
        """Ends the process."""
        raise SystemExit(3)

    @server.tool
    async def leave_later() -> str:
        """Ends the process."""
        raise SystemExit(3)

    async with listening(create_app(Settings(), {"small": OpenRoom(server)})) as url:
        for _ in range(2):
            status, answer = await posted(http, f"{url}/mcp", call(tool))
            assert (status, answer["result"]["isError"]) == (200, True)
    assert "SystemExit" in caplog.text


async def test_what_clients_say_is_never_logged(
    hub: StartHub, http: ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    url = await hub() + "/mcp"
    session = await begun(http, url)
    bodies: list[dict[str, Any]] = [
        {"id": 1, "result": {"secret": "WHAT-WAS-SAID"}},
        {"id": "77", "error": {"code": 1, "message": "WHAT-WAS-SAID"}},
        {"id": "", "method": "tools/call", "params": {"name": 5, "arguments": {"x": "WHAT-WAS-SAID"}}},
        {"method": "notifications/progress", "params": {"progressToken": [], "x": "WHAT-WAS-SAID"}},
        call("whoami", x="WHAT-WAS-SAID"),
    ]
    for headers in (JSON, session):
        for body in bodies:
            async with http.post(url, json={"jsonrpc": "2.0", **body}, headers=headers) as answer:
                await answer.read()
    assert (await posted(http, url, call("whoami")))[0] == 200
    assert "WHAT-WAS-SAID" not in caplog.text
    assert "The MCP SDK logged a message" in caplog.text


async def test_a_call_ends_when_its_client_has_left(http: ClientSession) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()
    server = Server("small", version="1")

    @server.tool
    async def wait() -> str:
        """Waits for long."""
        begun.set()
        try:
            await asyncio.sleep(100)
        finally:
            ended.set()
        return "done"

    async with listening(create_app(Settings(), {"small": OpenRoom(server)})) as url:
        asking = asyncio.create_task(posted(http, f"{url}/mcp", call("wait")))
        await asyncio.wait_for(begun.wait(), PATIENCE)
        asking.cancel()
        await asyncio.wait_for(ended.wait(), PATIENCE)


async def test_large_bodies_are_refused_announced_or_not(hub: StartHub, http: ClientSession) -> None:
    url = await hub(max_body=100_000) + "/mcp"
    async with http.post(url, data=b" " * 200_000, headers=JSON) as answer:
        assert answer.status == 413
        assert (await answer.json())["error"]["hint"]
    async with http.post(url, data=chunks(200_000), headers=JSON) as answer:
        assert answer.status == 413


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"[" * 50_000,
        b"\xff\xfe",
        b'{"jsonrpc":"2.0","id":1}',
        rb'{"jsonrpc":"2.0","id":"\ud800","method":"ping"}',
    ],
)
async def test_garbage_is_answered_and_harms_nobody(hub: StartHub, http: ClientSession, body: bytes) -> None:
    url = await hub() + "/mcp"
    async with http.post(url, data=body, headers=JSON) as answer:
        assert 400 <= answer.status < 500
    assert (await posted(http, url, call("whoami")))[0] == 200


async def test_it_lives_inside_of_another_application(http: ClientSession, hub: StartHub) -> None:
    async def mine(_request: web.Request) -> web.Response:
        return web.Response(text="mine")

    outer = web.Application()
    outer.router.add_get("/mine", mine)
    outer.add_subapp(
        "/hub",
        create_app(Settings.model_validate({"hub": {"tokens": {"me": TOKEN}}}), {"small": OpenRoom(small_server())}),
    )
    async with listening(outer) as url:
        async with http.get(f"{url}/mine") as answer:
            assert await answer.text() == "mine"
        for path in ("healthz", "readyz"):
            async with http.get(f"{url}/hub/{path}") as answer:
                assert answer.status == 200
        assert (await posted(http, f"{url}/hub/mcp/small", call("whoami")))[0] == 401
        assert (await posted(http, f"{url}/hub/mcp/small", call("whoami"), **bearer(TOKEN)))[0] == 200


def test_an_open_hub_for_other_machines_is_refused_with_the_fix() -> None:
    with pytest.raises(ConfigError) as refusal:
        create_app(
            Settings.model_validate({"hub": {"host": "0.0.0.0"}}), {"small": OpenRoom(Server("small", version="1"))}
        )
    assert "HUB__TOKENS__" in refusal.value.hint


class Untold:
    """A room of whose routes nothing is told."""

    def client(self, _request: web.Request, _program: str) -> None:
        return None

    def called(self, _request: web.Request) -> None:
        return None

    def fault(self, _request: web.Request, _answer: Mapping[str, Any]) -> None:
        return None


async def test_what_a_room_serves_beside_mcp_needs_the_hubs_token_unless_it_looks_at_tokens_itself() -> None:
    async def hello(_request: web.Request) -> web.Response:
        return web.Response(text="hello")

    rooms = {
        "shut": OpenRoom(Server("shut", version="1"), lambda: [web.get("/shut/hello", hello)]),
        "open": OpenRoom(Server("open", version="1"), lambda: [web.get("/open/hello", hello)], own_access=Untold),
    }
    app = create_app(Settings.model_validate({"hub": {"tokens": {"me": TOKEN}}}), rooms)
    async with listening(app) as url, ClientSession() as http:
        for path, headers, status in (
            ("shut", {}, 401),
            ("shut", bearer(TOKEN), 200),
            ("open", {}, 200),
            ("open", {"Origin": "https://elsewhere.example"}, 403),
            ("open", {"Host": "elsewhere.example"}, 421),
        ):
            async with http.get(f"{url}/{path}/hello", headers=headers) as answer:
                assert answer.status == status, (path, headers, await answer.text())
