import asyncio

import pytest
from aiohttp.test_utils import make_mocked_request
from support.waiting import PATIENCE, until

from transcript_mcp.door.waits import Calls, StoppingError

REQUEST = make_mocked_request("POST", "/mcp")


async def test_a_call_that_ends_by_itself_is_answered() -> None:
    assert await Calls().run(REQUEST, asyncio.sleep(0, "done")) == "done"


async def test_what_a_call_raises_is_raised() -> None:
    async def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await Calls().run(REQUEST, fail())


async def test_calls_under_way_are_ended_at_the_stop_and_none_begins_any_more() -> None:
    calls = Calls()
    waiting = asyncio.create_task(calls.run(REQUEST, asyncio.sleep(100)))
    await asyncio.sleep(0)
    await calls.close(0.01)
    with pytest.raises(StoppingError):
        await asyncio.wait_for(waiting, PATIENCE)
    with pytest.raises(StoppingError):
        await calls.run(REQUEST, asyncio.sleep(0))


async def test_a_call_that_is_nearly_done_is_still_answered_at_the_stop() -> None:
    calls, finish = Calls(), asyncio.Event()
    waiting = asyncio.create_task(calls.run(REQUEST, finish.wait()))
    await asyncio.sleep(0)
    closing = asyncio.create_task(calls.close(5))
    await asyncio.sleep(0)
    finish.set()
    assert await asyncio.wait_for(waiting, PATIENCE) is True
    await closing


async def test_a_cancelled_caller_takes_its_work_along() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            ended.set()

    waiting = asyncio.create_task(Calls().run(REQUEST, work()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting.cancel()
    await until(ended.is_set)
