"""Who waits for an answer, and how that ends."""

import asyncio
from unittest.mock import Mock

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from support.waiting import PATIENCE, until

from transcript_mcp.door.delivery import ClientLeftError
from transcript_mcp.door.waits import StoppingError, TimeIsOverError, Waits, WorkCancelledError


def a_request(*, has_left: bool = False) -> web.Request:
    """From a client that is there, or not."""
    transport = Mock()
    transport.is_closing.return_value = has_left
    return make_mocked_request("POST", "/mcp", transport=transport)


REQUEST = a_request()


async def test_a_call_that_ends_by_itself_is_answered() -> None:
    assert await Waits().until(REQUEST, asyncio.sleep(0, "done")) == "done"


async def test_what_a_call_raises_is_raised() -> None:
    async def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await Waits().until(REQUEST, fail())


async def test_waits_under_way_are_ended_at_the_stop_and_none_begins_any_more() -> None:
    waits = Waits()
    waiting = asyncio.create_task(waits.until(REQUEST, asyncio.sleep(100)))
    await asyncio.sleep(0)
    await waits.close(0.01)
    with pytest.raises(StoppingError):
        await asyncio.wait_for(waiting, PATIENCE)
    with pytest.raises(StoppingError):
        await waits.until(REQUEST, asyncio.sleep(0))


async def test_a_call_that_is_nearly_done_is_still_answered_at_the_stop() -> None:
    waits, finish = Waits(), asyncio.Event()
    waiting = asyncio.create_task(waits.until(REQUEST, finish.wait()))
    await asyncio.sleep(0)
    closing = asyncio.create_task(waits.close(5))
    await asyncio.sleep(0)
    finish.set()
    assert await asyncio.wait_for(waiting, PATIENCE) is True
    await closing


async def test_a_timeout_of_the_work_itself_is_no_end_of_the_wait() -> None:
    async def fail() -> None:
        raise TimeoutError("the work's own")

    with pytest.raises(TimeoutError, match="own"):
        await Waits().until(REQUEST, fail(), PATIENCE)


async def test_who_waits_no_longer_than_it_says_is_told_so() -> None:
    with pytest.raises(TimeIsOverError):
        await Waits().until(REQUEST, asyncio.Event().wait(), 0.01)


async def test_work_whose_client_leaves_ends() -> None:
    with pytest.raises(ClientLeftError):
        await Waits().until(a_request(has_left=True), asyncio.Event().wait())


async def test_work_that_goes_on_after_it_was_ended_may_still_be_done() -> None:
    """As a write that must not be torn."""
    waits, ended = Waits(), asyncio.Event()

    async def work() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.set()
        return "done"

    waiting = asyncio.create_task(waits.until(REQUEST, work()))
    await asyncio.sleep(0)
    await waits.close(0)
    assert await waiting == "done"
    assert ended.is_set()


async def test_work_that_goes_on_is_ended_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cleanup may hang as its client did."""
    monkeypatch.setattr("transcript_mcp.door.waits._LOOK", 0.01)
    cancelled: list[str] = []

    async def work() -> None:
        while len(cancelled) < 3:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append("")
        raise KeyError("the end")

    with pytest.raises(KeyError):
        await asyncio.create_task(Waits().until(a_request(has_left=True), work()))
    assert len(cancelled) == 3


async def test_work_that_hangs_at_the_stop_is_ended_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transcript_mcp.door.waits._LOOK", 0.01)
    waits = Waits()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.Event().wait()

    waiting = asyncio.create_task(waits.until(REQUEST, work()))
    await asyncio.sleep(0)
    await waits.close(0)
    with pytest.raises((StoppingError, asyncio.CancelledError)):
        await asyncio.wait_for(waiting, PATIENCE)


async def test_work_that_is_cut_off_by_itself_is_an_error_that_can_be_told() -> None:
    async def work() -> None:
        inner = asyncio.create_task(asyncio.Event().wait())
        inner.cancel()
        await inner

    with pytest.raises(WorkCancelledError):
        await Waits().until(REQUEST, work())


async def test_a_cancelled_caller_takes_its_work_along() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            ended.set()

    waiting = asyncio.create_task(Waits().until(REQUEST, work()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting.cancel()
    await until(ended.is_set)
