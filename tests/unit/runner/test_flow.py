"""The small parts things flow through: pipes, lanes, texts that grow, memories."""

import asyncio

import pytest
from support.waiting import PATIENCE

from nanobot_transcript.runner.bus import Pipe
from nanobot_transcript.runner.chat_queues import Lanes
from nanobot_transcript.runner.live_text import LiveText
from nanobot_transcript.runner.memory import Sessions


async def test_a_pipe_ends_when_it_is_closed_and_empty() -> None:
    pipe: Pipe[int] = Pipe(2)
    assert pipe.offer(1)
    assert pipe.offer(2)
    assert not pipe.offer(3)
    pipe.close()
    assert not pipe.offer(4)
    assert [item async for item in pipe] == [1, 2]


async def test_putting_into_a_full_pipe_waits_for_room() -> None:
    pipe: Pipe[int] = Pipe(1)
    pipe.offer(1)
    waiting = asyncio.ensure_future(pipe.put(2))
    await asyncio.sleep(0)
    assert not waiting.done()
    assert await anext(pipe) == 1
    assert await waiting
    waiting = asyncio.ensure_future(pipe.put(3))
    await asyncio.sleep(0)
    pipe.close()
    assert not await waiting


async def test_closing_wakes_whoever_waits_for_an_item() -> None:
    pipe: Pipe[int] = Pipe(1)
    waiting = asyncio.ensure_future(anext(pipe, None))
    await asyncio.sleep(0)
    pipe.close()
    async with asyncio.timeout(PATIENCE):
        assert await waiting is None


async def test_a_lane_keeps_its_order_and_pushes_out_the_oldest_when_it_is_full() -> None:
    go, seen = asyncio.Event(), []

    async def handle(item: int) -> None:
        await go.wait()
        seen.append(item)

    lanes: Lanes[int] = Lanes(handle, backlog=2)
    lanes.put("a", 0)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [lanes.put("a", item) for item in (1, 2, 3)] == [None, None, 1]
    go.set()
    assert await lanes.finish()
    assert seen == [0, 2, 3]
    assert not lanes.busy


async def test_an_item_that_fails_does_not_stop_its_lane(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[int] = []

    async def handle(item: int) -> None:
        seen.append(10 // item)

    lanes: Lanes[int] = Lanes(handle)
    for item in (0, 1, 2):
        lanes.put("a", item)
    await lanes.finish()
    assert seen == [10, 5]
    assert "Handling a message failed" in caplog.text


async def test_what_does_not_finish_in_time_is_cancelled() -> None:
    lanes: Lanes[int] = Lanes(lambda _: asyncio.Event().wait())  # pyright: ignore[reportArgumentType]
    lanes.put("a", 1)
    await asyncio.sleep(0)
    assert not await lanes.finish(0)
    assert not lanes.busy


async def test_whoever_shows_a_growing_text_sees_the_newest_state_and_always_the_last() -> None:
    text, seen = LiveText(), []

    async def show() -> None:
        async for state in text.states():
            seen.append(state)
            await asyncio.sleep(0)

    showing = asyncio.ensure_future(show())
    for number in range(1000):
        text.add("x")
        if number == 500:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
    text.finish("the end")
    async with asyncio.timeout(PATIENCE):
        await showing
    assert seen[-1] == "the end"
    assert len(seen) < 10
    assert await text.whole() == "the end"


async def test_a_text_that_fails_raises_for_everybody_who_shows_it() -> None:
    text = LiveText()
    text.add("half")
    text.fail(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        await text.whole()


def test_a_memory_is_bounded_per_chat_and_in_all() -> None:
    sessions = Sessions(chats=2, entries=3)
    for key in ("a", "b", "c"):
        for number in range(5):
            sessions.add(
                key, {"role": "user", "content": f"{number}", "sender": "s", "message_id": f"{number}", "ts": 0}
            )
    assert sessions.history("a") == []
    assert [entry["content"] for entry in sessions.history("c")] == ["2", "3", "4"]
    sessions.forget("c", "3")
    sessions.forget("nobody", "3")
    assert [entry["content"] for entry in sessions.history("c")] == ["2", "4"]
