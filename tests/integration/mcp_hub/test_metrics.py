"""What ``/metrics`` tells of the work of the servers."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import ClientSession
from prometheus_client.parser import text_string_to_metric_families

StartHub = Callable[..., Awaitable[str]]
CALLS = "nanobot_transcript_mcp_tool_calls_total"
READS = "nanobot_transcript_mcp_resource_reads_total"


async def asked(http: ClientSession, url: str, method: str, **params: Any) -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    async with http.post(url, data=json.dumps(message), headers={"Content-Type": "application/json"}) as answer:
        return await answer.json()


async def called(http: ClientSession, url: str, tool: str, **arguments: Any) -> Any:
    return await asked(http, url, "tools/call", name=tool, arguments=arguments)


async def numbers(http: ClientSession, url: str) -> dict[tuple[str, ...], float]:
    """The samples by name and label values, in the order of the labels' names."""
    async with http.get(f"{url}/metrics") as answer:
        text = await answer.text()
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("nanobot_transcript_mcp_")
    }


async def test_calls_are_counted_and_timed_by_server_tool_and_outcome(hub: StartHub, http: ClientSession) -> None:
    url = await hub()
    for path in ("/mcp", "/mcp/small"):
        await called(http, url + path, "whoami")
    await called(http, f"{url}/mcp/filebox", "mine")
    await called(http, f"{url}/mcp", "refuse")
    await called(http, f"{url}/mcp", "wait", seconds="soon")
    found = await numbers(http, url)
    assert found[CALLS, "ok", "small", "whoami"] == 2
    assert found[CALLS, "ok", "filebox", "mine"] == 1
    assert found[CALLS, "refused", "small", "refuse"] == 1
    assert found[CALLS, "refused", "small", "wait"] == 1
    assert found["nanobot_transcript_mcp_tool_call_seconds_count", "small", "whoami"] == 2
    assert 0 < found["nanobot_transcript_mcp_tool_call_seconds_sum", "small", "whoami"] < 60


async def test_a_session_counts_as_a_single_call_does(hub: StartHub, http: ClientSession) -> None:
    url = await hub()
    both = {"Accept": "application/json, text/event-stream"}
    client = {"name": "test", "version": "1"}
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin}
    async with http.post(f"{url}/mcp", json=hello, headers=both) as answer:
        session = both | {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"]}
    async with http.post(
        f"{url}/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session
    ) as answer:
        assert answer.status == 202
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "whoami", "arguments": {}}}
    async with http.post(f"{url}/mcp", json=call, headers=session) as answer:
        assert "result" in await answer.text()
    assert (await numbers(http, url))[CALLS, "ok", "small", "whoami"] == 1


async def test_what_a_client_makes_up_becomes_no_label(hub: StartHub, http: ClientSession) -> None:
    url = await hub()
    for number in range(3):
        answer = await called(http, f"{url}/mcp", f"made_up_{number}")
        assert "error" in answer
        answer = await asked(http, f"{url}/mcp", "resources/read", uri=f"made://up/{number}")
        assert "error" in answer
    found = await numbers(http, url)
    assert found[CALLS, "refused", "none", "none"] == 3
    assert found[READS, "refused", "none", "none"] == 3
    assert not [labels for labels in found if any("up" in label for label in labels)]


async def test_readings_are_counted_under_the_template_whatever_was_read(hub: StartHub, http: ClientSession) -> None:
    url = await hub()
    for agent in ("BlueLake", "RedStone"):
        await asked(http, f"{url}/mcp/small", "resources/read", uri=f"resource://inbox/{agent}?limit=10")
    await asked(http, f"{url}/mcp/small", "resources/read", uri="resource://inbox/BlueLake?limit=many")
    found = await numbers(http, url)
    template = "resource://inbox/{agent}{?limit}"
    assert found[READS, "ok", template, "small"] == 2
    assert found[READS, "refused", template, "small"] == 1
    assert found["nanobot_transcript_mcp_resource_read_seconds_count", template, "small"] == 3
