"""A hub that is killed again and again with questions open, a burst with its times, and a hub at rest."""

import asyncio
import json
import os
import random
import statistics
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio
from integration.assistant.test_adapter import Place
from support.assistant_clients import Caller, Page, answer_times, bare_relay, page
from support.waiting import PATIENCE

from transcript_mcp.assistant.questions.values import Inquiry, Question
from transcript_mcp.assistant.remote_desk import RemoteDesk

pytestmark = pytest.mark.soak

SoakRow = Callable[..., None]
KILLS = 20


@pytest_asyncio.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with AsyncExitStack() as stack:
        yield Place(tmp_path, stack)


async def answered(opened: Page, said: dict[str, str], ends: float) -> None:
    """Answer whatever is shown until then, each question in words of its own."""
    while (left := ends - time.monotonic()) > 0:
        try:
            frame = await opened.frame(timeout=left)
        except TimeoutError:
            return
        if frame.Cmd == "AskQuestion":
            asked = frame.AskQuestionRequest.ID
            await opened.reply(asked, f"answer to {asked}")
            said[asked] = f"answer to {asked}"


async def test_no_kill_of_the_hub_loses_or_doubles_an_answer(place: Place, soak_row: SoakRow) -> None:
    asked = 0
    got: dict[str, Inquiry] = {}
    said: dict[str, str] = {}
    waiting: list[asyncio.Task[None]] = []
    chance = random.Random(4)

    async def ask(number: int) -> None:
        desk, name = RemoteDesk(place.url, "test-token"), f"q{number}"
        await desk.ask(Question("", name, "question", f"question {number}", said_as="AskQuestion", timeout=600))
        record = await desk.wait("", name)
        assert name not in got
        got[name] = record

    for _ in range(KILLS):
        hub = await place.hub()
        for _ in range(5):
            waiting.append(asyncio.create_task(ask(asked)))
            asked += 1
        try:
            async with page(place.url, "test-token", "Ada") as ada:
                await answered(ada, said, time.monotonic() + chance.uniform(0.05, 0.6))
                hub.kill()
        except (ConnectionError, OSError):
            hub.kill()
        await hub.wait()
    await place.hub()
    deadline = time.monotonic() + 60
    while len(got) < asked and time.monotonic() < deadline:
        async with page(place.url, "test-token", "Ada") as ada:
            await answered(ada, said, time.monotonic() + 1)
    await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE)
    soak_row(kills=KILLS, questions=asked, answered=len(got), lost=asked - len(got))
    assert {name: record.contents[0].text for name, record in got.items()} == {
        f"q{number}": f"answer to q{number}" for number in range(asked)
    }


async def test_answers_reach_their_callers_in_time_also_fifty_at_once(place: Place, soak_row: SoakRow) -> None:
    await place.hub()
    async with bare_relay() as relay:
        singles = await answer_times(place.port, 200, 1)
        burst, bare = await answer_times(place.port, 20, 50), await answer_times(relay, 20, 50)
    single, p50, bare_p50 = (statistics.median(map(statistics.median, times)) for times in (singles, burst, bare))
    soak_row(
        single_p50_ms=round(single, 1),
        burst_p50_ms=round(p50, 1),
        burst_last_ms=round(statistics.median(map(max, burst)), 1),
        bare_relay_p50_ms=round(bare_p50, 1),
        arrived=sum(map(len, burst)),
    )
    assert [len(times) for times in burst] == [50] * 20
    assert single <= 5
    assert p50 <= 5


async def test_a_hub_with_two_hundred_pages_and_questions_stays_small(place: Place, soak_row: SoakRow) -> None:
    hub = await place.hub(forked=False)
    caller = Caller(place.url)
    async with AsyncExitStack() as stack:
        pages = [await stack.enter_async_context(page(place.url, "test-token")) for _ in range(200)]
        asking = [asyncio.create_task(caller.ask(f"q{number}", timeout=600)) for number in range(200)]
        for _ in range(200):
            await pages[0].until("AskQuestion")
        before = _processor_seconds(hub.pid)
        await asyncio.sleep(5)
        used = (_processor_seconds(hub.pid) - before) / 5
        resident = _resident(hub.pid)
        soak_row(sockets=200, questions=200, megabytes=round(resident), core_at_rest=f"{used:.1%}")
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    assert resident <= 120


def _resident(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise AssertionError(json.dumps({"pid": pid}))


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
