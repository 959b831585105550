"""Packed bodies, which may be a thousand times as large as what arrives: nobody else waits while one is unpacked."""

import asyncio
import contextlib
import gzip
import io
import json
import os
import subprocess
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

import pytest
from aiohttp import ClientSession, web
from support.bombs import MIB, bomb
from support.forking import HUB, Streamed, preload
from support.hubs import listening
from support.procs import processor_time
from support.sizes import short_and_full
from support.waiting import PATIENCE

from nanobot_transcript.settings import Settings
from transcript_mcp.assistant.protocol import proto
from transcript_mcp.hub import create_app

preload(*HUB)

LONGEST_GAP: Final = 0.5
"""Seconds of the hub's own work in which it answers nobody; the promise is 0.1 on a quiet machine, so only ``make
soak`` judges it. Without it the hub still has to answer, and with little memory."""

MOST_MEMORY: Final = 40 * MIB
"""Of a bomb of 1 GiB, sent to one route after the other."""

ASK: Final = "/agentassistproto.SrvAgentAssist/AskQuestion"
REPLY: Final = "/agentassistproto.SrvAgentAssistReply/AskQuestionReply"
JSON: Final = {"Content-Type": "application/json"}
PROTO: Final = {"Content-Type": "application/proto"}
TOKEN: Final = "NANOBOT_TRANSCRIPT_HUB__TOKENS__ME"


@asynccontextmanager
async def serving(home: Path, **variables: str) -> AsyncIterator[tuple[int, str]]:
    """Process id and address of a hub."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("NANOBOT_")}
    hub = await Streamed.start(
        *("nanobot_transcript.cli", "serve", "--port", "0", "--jsonl"),
        env=env | {"HOME": str(home)} | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert hub.stdout is not None
        line = await asyncio.wait_for(hub.stdout.readline(), PATIENCE)
        yield hub.pid, json.loads(line)["url"]
    finally:
        with contextlib.suppress(ProcessLookupError):
            hub.kill()
        await hub.communicate()


@asynccontextmanager
async def watched(http: ClientSession, hub: int, url: str) -> AsyncIterator[list[float]]:
    """The seconds that the hub's main thread has worked until it answered /healthz, asked again and again."""
    took, over = list[float](), asyncio.Event()

    async def look() -> None:
        while not over.is_set():
            before = processor_time(hub, thread=hub)
            async with http.get(f"{url}/healthz") as answer:
                await answer.read()
            took.append(processor_time(hub, thread=hub) - before)
            await asyncio.sleep(0.01)

    looking = asyncio.create_task(look())
    try:
        yield took
    finally:
        over.set()
        await asyncio.wait_for(looking, PATIENCE)


@contextmanager
def sent(body: bytes) -> Iterator[io.BytesIO]:
    with io.BytesIO(body) as stream:  # aiohttp warns of large bodies that are bytes
        yield stream


async def status_of(http: ClientSession, method: str, url: str, body: bytes, headers: dict[str, str]) -> int:
    with sent(body) as stream:
        async with asyncio.timeout(PATIENCE), http.request(method, url, data=stream, headers=headers) as answer:
            await answer.read()
            return answer.status


def most_memory(pid: int) -> int:
    """Bytes that a process has had at the most."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


@pytest.mark.parametrize("judged", short_and_full(False, True))
@pytest.mark.parametrize(("packing", "form"), [("gzip", 31), ("deflate", 15), ("deflate", -15)])
async def test_a_bomb_keeps_nobody_waiting_and_takes_little_memory(
    tmp_path: Path, http: ClientSession, packing: str, form: int, judged: bool
) -> None:
    routes = {
        f"POST {ASK}": 413 if packing == "gzip" else 404,
        f"POST {REPLY}": 401,
        "POST /agentassistproto.SrvAgentAssist/Nothing": 404,
        "POST /mcp": 413,
        "POST /mcp/io": 413,
        "POST /api/io/input": 413,
        "POST /agent/input/s": 413,
        "POST /nothing": 404,
        "GET /healthz": 200,
        "GET /": 200,
    }
    heavy, found, longest = bomb(form), {}, {}
    async with serving(tmp_path) as (pid, url):
        before = 0
        for route in routes:
            method, _, path = route.partition(" ")
            async with watched(http, pid, url) as took:
                found[route] = await status_of(http, method, url + path, heavy, JSON | {"Content-Encoding": packing})
            longest[route] = max(took)
            before = before or most_memory(pid)
        after = most_memory(pid)
    assert found == routes
    assert not judged or {route: seconds for route, seconds in longest.items() if seconds > LONGEST_GAP} == {}
    assert after - before < MOST_MEMORY


@pytest.mark.parametrize("judged", short_and_full(False, True))
async def test_a_bomb_without_a_token_keeps_nobody_waiting(tmp_path: Path, http: ClientSession, judged: bool) -> None:
    heavy, found, headers = bomb(31), {}, JSON | {"Content-Encoding": "gzip"}
    async with serving(tmp_path, **{TOKEN: "0123456789abcdef"}) as (pid, url), watched(http, pid, url) as took:
        for path in ("/mcp", "/api/io/input", "/agent/input/s"):
            found[path] = await status_of(http, "POST", url + path, heavy, headers)
    assert set(found.values()) == {401}
    assert not judged or max(took) <= LONGEST_GAP


@pytest.mark.parametrize("packing", ["gzip", "deflate"])
async def test_packed_inputs_and_calls_arrive(tmp_path: Path, http: ClientSession, packing: str) -> None:
    pack = {"gzip": gzip.compress, "deflate": zlib.compress}[packing]
    packed = JSON | {"Content-Encoding": packing}
    taking = {"name": "i_tool", "arguments": {"session_id": "s"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": taking}
    async with serving(tmp_path) as (_, url):
        data = pack(json.dumps({"data": "é" * 100_000}).encode())
        async with http.post(f"{url}/agent/input/s", data=data, headers=packed) as answer:
            assert answer.status == 202
        async with http.post(f"{url}/mcp/io", data=pack(json.dumps(call).encode()), headers=packed) as answer:
            assert answer.status == 200
            assert (await answer.text()).count("é") >= 100_000
        for cut in (data[:-1], data + b"more"):
            async with http.post(f"{url}/agent/input/s", data=cut, headers=packed) as answer:
                assert answer.status == 400
                assert "cannot be decompressed" in await answer.text()


async def test_the_largest_calls_and_answers_come_packed_and_keep_nobody_waiting(
    tmp_path: Path, http: ClientSession
) -> None:
    headers = PROTO | {"Content-Encoding": "gzip", "Authorization": "Bearer test-token"}
    question = proto.McpAskQuestionRequest(Question="?", Timeout=60)
    asked = proto.AskQuestionRequest(ID="q1", UserToken="test-token", Request=question, Wait=0, Fetched=True)
    data = os.urandom(MIB) * 60
    file = proto.EmbeddedResource(type="embedded_resource", uri="a.bin", mime_type="x/y", data=data)
    said = proto.AskQuestionResponse(ID="q1", contents=[])
    said.contents.append(proto.McpResultContent(type=4, embedded_resource=file))
    large = json.dumps({"ID": "q2", "UserToken": "test-token", "Request": {"Question": "?"}, "Wait": 0}).encode()
    large += b" " * (8 * MIB - len(large))
    async with serving(tmp_path) as (pid, url), watched(http, pid, url) as took:
        assert await status_of(http, "POST", url + ASK, gzip.compress(asked.SerializeToString()), headers) == 200
        assert await status_of(http, "POST", url + REPLY, gzip.compress(said.SerializeToString(), 1), headers) == 200
        assert await status_of(http, "POST", url + ASK, gzip.compress(large), headers | JSON) == 200
        assert await status_of(http, "POST", url + ASK, gzip.compress(large + b" "), headers | JSON) == 413
    assert max(took) <= 2 * LONGEST_GAP  # an answer of 60 MiB is a lot of work, too


async def test_a_server_that_unpacks_itself_may_have_the_hub_in_it(tmp_path: Path, http: ClientSession) -> None:
    places = {"hub": {"data_dir": tmp_path / "hub"}, "store": {"dir": tmp_path / "groups"}}
    outer = web.Application()
    outer.add_subapp("/agents", create_app(Settings.model_validate(places)))
    packed = JSON | {"Content-Encoding": "gzip"}
    async with listening(outer) as url:
        for data, status in ((gzip.compress(b'{"data": "x"}'), 202), (b"not gzip", 400)):
            assert await status_of(http, "POST", f"{url}/agents/agent/input/s", data, packed) == status
