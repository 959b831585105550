"""The HTTP interface: what is taken, what is refused and how, and what becomes of clients that leave."""

import asyncio
import json
import signal
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
import pytest_asyncio
from aiohttp import ClientSession, TCPConnector
from support.hubs import listening
from support.io_hub import Person
from support.mcp_client import connected
from support.waiting import PATIENCE, until

from nanobot_transcript.settings import Settings
from nanobot_transcript.settings.lazy_record import Opening
from transcript_mcp.hub import create_app
from transcript_mcp.io_bridge.bridge import Bridge
from transcript_mcp.io_bridge.routes import QueueRoutes
from transcript_mcp.io_bridge.server import bridge_from, build_server
from transcript_mcp.room import OpenRoom

TOKEN, AGENT = "0123456789abcdef", "fedcba9876543210"

Serve = Callable[..., Awaitable[Person]]


@pytest_asyncio.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    """``await serve(io={"max_items": 2})``: a hub in this process, and somebody who calls it."""
    async with ClientSession(connector=TCPConnector(limit=0)) as http:
        stack: list[Any] = []

        async def start(**sections: dict[str, Any]) -> Person:
            hub = {"data_dir": tmp_path / "hub", **sections.pop("hub", {})}
            settings = Settings.model_validate({"hub": hub, **sections})
            opening = Opening(settings)
            bridge = bridge_from(settings, opening)
            server = build_server(bridge)
            server.on_close(opening.close)
            serving = listening(create_app(settings, {"io": OpenRoom(server, QueueRoutes(bridge))}))
            url = await serving.__aenter__()
            stack.append(serving)
            person = Person(http, url)
            person.bridge = bridge
            return person

        yield start
        for serving in reversed(stack):
            await serving.__aexit__(None, None, None)


def bridge_of(person: Person) -> Bridge:
    bridge = person.bridge
    assert isinstance(bridge, Bridge)
    return bridge


async def posted(person: Person, session: str, body: bytes, kind: str, **headers: str) -> tuple[int, Any, Any]:
    url = f"{person.url}/agent/input/{session}"
    async with person.http.post(url, data=body, headers={"Content-Type": kind, **headers}) as answer:
        return answer.status, await answer.json(), answer.headers


async def taken(person: Person, session: str = "s") -> str | None:
    handed = await bridge_of(person).next_input(session, wait=0)
    if handed is None:
        return None
    handed.arrived()
    return handed.text


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        (b'{"data": "hello"}', "application/json", "hello"),
        ('{"问题": [1]}'.encode(), "application/json; charset=utf-8", '{"问题": [1]}'),
        ("纯文本".encode(), "text/plain", "纯文本"),
        (b'{"data": "as curl sends it"}', "application/x-www-form-urlencoded", "as curl sends it"),
        (b'{"data": ""}', "application/json", ""),
    ],
)
async def test_data_other_json_and_plain_text_become_inputs(serve: Serve, body: bytes, kind: str, text: str) -> None:
    person = await serve()
    status, document, headers = await posted(person, "s", body, kind)
    assert (status, document["session_id"], document["sequence"]) == (202, "s", 1)
    assert headers["Cache-Control"] == "no-store"
    assert await taken(person) == text


@pytest.mark.parametrize("body", [b"", b"{}{", b'{"data": null}', b"\xff"])
async def test_an_input_that_says_nothing_is_refused(serve: Serve, body: bytes) -> None:
    person = await serve()
    status, document, _ = await posted(person, "s", body, "application/json")
    assert (status, document["error"]["code"]) == (400, "invalid_item")
    assert document["error"]["hint"]
    assert await bridge_of(person).sessions() == []


@pytest.mark.parametrize("session", ["", "%2e%2e", "a%2Fb", "a/b", "%00", "a%0Ab", "%E2%80%AE", "x" * 201, "x" * 5000])
async def test_session_ids_that_cannot_be_one_are_refused(serve: Serve, session: str) -> None:
    person = await serve()
    for method, door in (("POST", "input"), ("GET", "output")):
        status, document = await raw(person, method, f"/agent/{door}/{session}", b"x" if method == "POST" else b"")
        assert (status, document["error"]["code"]) == (400, "invalid_item")


async def raw(person: Person, method: str, path: str, body: bytes = b"") -> tuple[int, Any]:
    """A request whose path nobody mends before it is sent."""
    at = urlsplit(person.url)
    reader, writer = await asyncio.open_connection(at.hostname, at.port)
    head = f"{method} {path} HTTP/1.1\r\nHost: {at.netloc}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + body)
    async with asyncio.timeout(PATIENCE):
        answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    head_of, _, document = answer.partition(b"\r\n\r\n")
    return int(head_of.split()[1]), json.loads(document)


async def test_a_session_id_may_be_of_any_script(serve: Serve) -> None:
    person = await serve()
    assert (await person.send(quote("会话 1"), "hello"))[0] == 202
    assert await taken(person, "会话 1") == "hello"
    await bridge_of(person).send_output("会话 1", "result")
    assert await person.read(quote("会话 1")) == (200, {"output": "result"})


async def test_a_session_that_holds_all_it_may_answers_429_until_there_is_room(serve: Serve) -> None:
    person = await serve(io={"max_items": 2, "max_bytes": 2000})
    assert [(await person.send("s", "x"))[0] for _ in range(2)] == [202, 202]
    status, document, headers = await posted(person, "s", b"x", "text/plain")
    assert (status, document["error"]["code"]) == (429, "queue_full")
    assert int(headers["Retry-After"]) > 0
    assert (await person.send("large", "x" * 2001))[0] == 429
    assert await taken(person) == "x"
    assert await taken(person) == "x"
    assert (await person.send("s", "x"))[0] == 202


async def test_there_are_no_more_sessions_than_there_may_be(serve: Serve) -> None:
    person = await serve(io={"max_sessions": 200})
    sent = await asyncio.gather(*(person.send(f"s{number}", "x") for number in range(210)))
    assert Counter(status for status, _ in sent) == {202: 200, 429: 10}
    assert (await person.send("one more", "x"))[0] == 429


@pytest.mark.soak
async def test_ten_thousand_sessions_each_keep_their_input_and_no_more_come(serve: Serve) -> None:
    person = await serve()
    statuses: Counter[int] = Counter()
    for hundred in range(101):
        sent = await asyncio.gather(*(person.send(f"s{hundred * 100 + one}", "x") for one in range(100)))
        statuses.update(status for status, _ in sent)
    assert statuses == {202: 10_000, 429: 100}
    assert [await taken(person, f"s{number}") for number in (0, 5_000, 9_999)] == ["x"] * 3
    assert (await person.send("one more", "x"))[0] == 429  # those three are not confirmed yet


async def test_a_body_that_is_larger_than_the_hub_takes_is_refused(serve: Serve) -> None:
    person = await serve(hub={"max_body": 2048})
    status, document, _ = await posted(person, "s", b"x" * 4096, "text/plain")
    assert (status, document["error"]["code"]) == (413, "too_large")


async def test_a_repeated_request_with_its_key_is_queued_once(serve: Serve) -> None:
    person = await serve()
    first = await person.send("s", "x", **{"Idempotency-Key": "k"})
    again = await person.send("s", "x", **{"Idempotency-Key": "k"})
    assert again == (202, {**first[1], "repeated": True})
    assert [await taken(person) for _ in range(2)] == ["x", None]


async def test_outputs_are_read_once_in_their_order_with_their_numbers(serve: Serve) -> None:
    person = await serve()
    for text in ("one", "two"):
        await bridge_of(person).send_output("s", text)
    assert await person.read("s", "?peek=1") == (200, {"output": "one"})
    numbers = list[str]()
    for text in ("one", "two"):
        async with person.http.get(f"{person.url}/agent/output/s") as answer:
            assert await answer.json() == {"output": text}
            numbers.append(answer.headers["X-Sequence"])
    assert numbers == ["1", "2"]
    assert (await person.read("s"))[0] == 404


async def test_looking_for_the_head_alone_takes_nothing(serve: Serve) -> None:
    person = await serve()
    await bridge_of(person).send_output("s", "result")
    async with person.http.head(f"{person.url}/agent/output/s") as answer:
        assert answer.status == 405
    assert (await person.read("s"))[0] == 200


@pytest.mark.parametrize("query", ["?wait=61", "?wait=-1", "?wait=nan", "?wait=", "?wait=soon", "?peek=maybe"])
async def test_a_wish_that_cannot_be_granted_is_refused_at_once(serve: Serve, query: str) -> None:
    status, document = await (await serve()).read("s", query)
    assert (status, document["error"]["code"]) == (400, "invalid_item")


@pytest.mark.parametrize("query", ["?wait=60", "?wait=60&peek=1"])
async def test_a_reader_that_waits_is_answered_when_the_output_comes(serve: Serve, query: str) -> None:
    person = await serve()
    reading = asyncio.create_task(person.read("s", query))
    await readers(person, 1)
    await bridge_of(person).send_output("s", "result")
    assert await asyncio.wait_for(reading, PATIENCE) == (200, {"output": "result"})


async def test_a_wait_ends_with_404(serve: Serve) -> None:
    person = await serve()
    assert (await person.read("s", "?wait=0.05"))[0] == 404
    assert await bridge_of(person).sessions() == []


async def readers(person: Person, count: int) -> None:
    async def counted() -> int:
        return sum(state.waiting_readers for state in await bridge_of(person).sessions())

    async with asyncio.timeout(PATIENCE):
        while await counted() != count:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


async def agents(person: Person, count: int) -> None:
    async def counted() -> int:
        return sum(state.waiting_agents for state in await bridge_of(person).sessions())

    async with asyncio.timeout(PATIENCE):
        while await counted() != count:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


def hung_up(person: Person, method: str, path: str, body: bytes = b"", *, reset: bool = False) -> socket.socket:
    """A connection on which a request was sent; closing it is hanging up, with a reset where that is asked for."""
    at = urlsplit(person.url)
    assert at.hostname
    assert at.port
    line = socket.create_connection((at.hostname, at.port), PATIENCE)
    if reset:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    head = f"{method} {path} HTTP/1.1\r\nHost: {at.netloc}\r\nContent-Type: application/json\r\n"
    line.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return line


@pytest.mark.parametrize("reset", [False, True])
async def test_a_reader_that_hangs_up_takes_no_output_with_it(serve: Serve, reset: bool) -> None:
    person = await serve()
    line = await asyncio.to_thread(hung_up, person, "GET", "/agent/output/s?wait=60", reset=reset)
    await readers(person, 1)
    line.close()
    await bridge_of(person).send_output("s", "result")
    assert await asyncio.wait_for(person.read("s", "?wait=20"), PATIENCE) == (200, {"output": "result"})


CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "i_tool", "arguments": {"session_id": "s"}},
}


@pytest.mark.parametrize("reset", [False, True])
async def test_an_agent_whose_connection_breaks_takes_no_input_with_it(serve: Serve, reset: bool) -> None:
    person = await serve()
    body = json.dumps(CALL).encode()
    line = await asyncio.to_thread(hung_up, person, "POST", "/mcp", body, reset=reset)
    await agents(person, 1)
    line.close()
    await person.send("s", "hello")
    assert await asyncio.wait_for(called(person), PATIENCE) == "hello"


async def called(person: Person) -> str:
    async with person.http.post(f"{person.url}/mcp", json=CALL) as answer:
        return (await answer.json())["result"]["content"][0]["text"]


async def session_of(person: Person) -> dict[str, str]:
    """A session of MCP, by hand: the headers that belong to it."""
    kinds = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    async with person.http.post(f"{person.url}/mcp", json=hello, headers=kinds) as answer:
        session = {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-06-18"}
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    async with person.http.post(f"{person.url}/mcp", json=note, headers=kinds | session) as answer:
        assert answer.status == 202
    return kinds | session


async def test_a_call_in_a_session_whose_connection_breaks_takes_no_input_with_it(serve: Serve) -> None:
    person = await serve()
    headers = await session_of(person)
    broken = await person.http.post(f"{person.url}/mcp", json=CALL, headers=headers)
    await agents(person, 1)
    broken.close()
    await person.send("s", "hello")
    async with person.http.post(f"{person.url}/mcp", json=CALL | {"id": 2}, headers=headers) as answer:
        async with asyncio.timeout(PATIENCE):
            assert '"text":"hello"' in await answer.text()


async def test_a_cancelled_call_takes_no_input_with_it(serve: Serve) -> None:
    person = await serve()
    headers = await session_of(person)
    waiting = asyncio.create_task(person.http.post(f"{person.url}/mcp", json=CALL, headers=headers).__aenter__())
    await agents(person, 1)
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    async with person.http.post(f"{person.url}/mcp", json=note, headers=headers):
        await agents(person, 0)
    await person.send("s", "hello")
    assert await asyncio.wait_for(called(person), PATIENCE) == "hello"
    (await waiting).close()


async def test_an_answer_that_was_read_is_confirmed_by_the_next_call(serve: Serve) -> None:
    person = await serve()
    async with asyncio.timeout(PATIENCE), connected(f"{person.url}/mcp") as agent:
        for text in ("one", "two"):
            await person.send("s", text)
        assert await agent.text("i_tool", session_id="s") == "one"
        assert await called(person) == "two"
        assert "no input" in (await agent.text("i_tool", session_id="s", timeout=0)).lower()
        assert await bridge_of(person).queue("s") == []


async def test_a_waiting_agent_is_told_that_it_waits_before_its_client_gives_up(serve: Serve) -> None:
    person = await serve()
    bridge_of(person)._tell_every = 0.05  # pyright: ignore[reportPrivateUsage] -- ten seconds in life
    async with asyncio.timeout(PATIENCE), connected(f"{person.url}/mcp") as agent:
        told: list[tuple[float, float | None]] = []

        async def heard(progress: float, total: float | None, message: str | None) -> None:
            assert message == "No input in session s yet."
            told.append((progress, total))

        waiting = asyncio.create_task(agent.session.call_tool("i_tool", {"session_id": "s"}, progress_callback=heard))
        await until(lambda: len(told) >= 2)
        await person.send("s", "hello")
        await waiting
    assert told == sorted(told)


async def test_with_tokens_nobody_comes_in_without_one_and_mailbox_agents_never(serve: Serve) -> None:
    person = await serve(hub={"tokens": {"laptop": TOKEN}}, filebox={"tokens": {"qa_agent": AGENT}})
    for token, status in ((None, 401), ("wrong-token", 401), (AGENT, 403), (TOKEN, 202)):
        who = Person(person.http, person.url, token)
        assert (await who.send("s", "x"))[0] == status
        assert (await who.read("s"))[0] == {202: 404}.get(status, status)


async def test_pages_from_elsewhere_neither_send_nor_read_nor_take_away(serve: Serve) -> None:
    person = await serve()
    await bridge_of(person).send_output("s", "result")
    assert (await person.send("s", "x", Origin="https://evil.example"))[0] == 403
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        async with person.http.get(f"{person.url}/agent/output/s", headers=headers) as answer:
            assert answer.status == 403
    async with person.http.get(f"{person.url}/agent/output/s", headers={"Host": "evil.example"}) as answer:
        assert answer.status == 421
    assert (await person.read("s"))[0] == 200


async def test_a_store_that_cannot_be_used_is_said_with_a_status_that_programs_know(
    serve: Serve, tmp_path: Path
) -> None:
    person = await serve()
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub" / "io.sqlite3").write_bytes(b"no database" * 1000)
    for status, document in (await person.send("s", "x"), await person.read("s")):
        assert (status, document["error"]["code"]) == (503, "store_unavailable")
        assert document["error"]["hint"]


async def test_a_full_disk_is_said_and_what_was_accepted_before_stays(
    serve: Serve, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    person = await serve()
    await person.send("s", "before")
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    size = sum(path.stat().st_size for path in (tmp_path / "hub").glob("io.sqlite3*"))
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        status, document = await person.send("s", "x" * 500_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert (status, document["error"]["code"]) == (507, "store_full")
    assert [await taken(person) for _ in range(2)] == ["before", None]
    assert "before" not in capfd.readouterr().err


async def test_a_hundred_sessions_at_once_get_each_input_once(serve: Serve) -> None:
    person = await serve()
    names = [f"s{number}" for number in range(100)]
    calls = [CALL | {"params": {"name": "i_tool", "arguments": {"session_id": name}}} for name in names]

    async def asked(call: dict[str, Any]) -> str:
        async with person.http.post(f"{person.url}/mcp", json=call) as answer:
            return (await answer.json())["result"]["content"][0]["text"]

    async with asyncio.timeout(PATIENCE):
        waiting = [asyncio.create_task(asked(call)) for call in calls]
        statuses = await asyncio.gather(*(person.send(name, f"for {name}") for name in names))
        assert {status for status, _ in statuses} == {202}
        assert await asyncio.gather(*waiting) == [f"for {name}" for name in names]


async def test_no_text_reaches_the_log(
    serve: Serve, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    person = await serve()
    await person.send("s", "very-secret-input")
    await posted(person, "s", b'{"data": "very-secret-broken"', "application/json")
    assert await called(person) == "very-secret-input"
    await bridge_of(person).send_output("s", "very-secret-output")
    assert (await person.read("s"))[0] == 200
    said = "".join(capfd.readouterr()) + caplog.text
    assert "very-secret" not in said
