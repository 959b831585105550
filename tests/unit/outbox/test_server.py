"""Serving the outbox: sending what is for this bot, and what becomes of failures."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from support.loop_clock import later
from support.waiting import PATIENCE

from nanobot_transcript.errors import (
    DeliveryError,
    NoAnswerError,
    NotPermittedError,
    RateLimitedError,
    RequestRefusedError,
    StoreFullError,
)
from nanobot_transcript.outbox import Job, Outbox, OutboxServer, Receipt

KEY = "feishu:oc_1"


class Platform:
    """Takes what is sent; ``fails`` are raised first, one after the other."""

    def __init__(self, *fails: BaseException) -> None:
        self.fails = list(fails)
        self.sent: list[Job] = []

    async def send(self, job: Job) -> Receipt | str:
        if self.fails:
            raise self.fails.pop(0)
        self.sent.append(job)
        return f"om_{len(self.sent)}"


class Hanging:
    """Takes a post and says nothing more."""

    def __init__(self) -> None:
        self.began = asyncio.Event()

    async def send(self, job: Job) -> str:
        self.began.set()
        await asyncio.Event().wait()
        raise AssertionError


def server(outbox: Outbox, platform: Any, sits_in: Callable[[str], bool] = lambda _: True) -> OutboxServer:
    return OutboxServer(outbox, platform.send, agent="Alpha", sits_in=sits_in, look_every=0.01)


@asynccontextmanager
async def serving(one: OutboxServer) -> AsyncIterator[None]:
    task = asyncio.create_task(one.serve())
    try:
        async with asyncio.timeout(PATIENCE):
            yield
            one.stop()
            await task
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_posts_are_sent_in_order(outbox: Outbox) -> None:
    platform = Platform()
    async with serving(server(outbox, platform)):
        ids = [outbox.post(KEY, text) for text in ("one", "two", "three")]
        states = [await outbox.wait_sent(post_id, PATIENCE) for post_id in ids]
    assert [status.message_id for status in states] == ["om_1", "om_2", "om_3"]
    assert [job.content for job in platform.sent] == ["one", "two", "three"]


async def test_only_chats_in_which_the_bot_sits_are_served(outbox: Outbox) -> None:
    platform = Platform()
    elsewhere = outbox.post("feishu:oc_elsewhere", "text")
    here = outbox.post(KEY, "text")
    async with serving(server(outbox, platform, KEY.__eq__)):
        assert (await outbox.wait_sent(here, PATIENCE)).state == "sent"
    assert outbox.status(elsewhere).state == "queued"


async def test_what_is_for_another_agent_is_left_alone(outbox: Outbox) -> None:
    outbox.post(KEY, "text", agent="Beta")
    assert not await server(outbox, Platform()).send_next()


@pytest.mark.parametrize("error", [DeliveryError("no"), RequestRefusedError("too long")])
async def test_what_cannot_succeed_is_given_up(outbox: Outbox, error: Exception) -> None:
    post_id = outbox.post(KEY, "text")
    assert await server(outbox, Platform(error)).send_next()
    status = outbox.status(post_id)
    assert (status.state, status.error) == ("failed", str(error))


RETRIED = [
    DeliveryError("busy", retryable=True),
    NotPermittedError("not in the chat"),
    NoAnswerError("timeout"),
    RateLimitedError("slow down"),
    StoreFullError("sent, and not recorded"),
    TimeoutError(),
    ZeroDivisionError("a fault of the sender"),
]


@pytest.mark.parametrize("error", RETRIED, ids=lambda error: type(error).__name__)
async def test_what_may_succeed_is_tried_again_under_the_same_uuid(
    outbox: Outbox, clock: Any, error: Exception
) -> None:
    platform = Platform(error)
    post_id = outbox.post(KEY, "text")
    one = server(outbox, platform)
    await one.send_next()
    assert outbox.status(post_id).state == "queued"
    assert not await one.send_next()
    clock.now += 1.1
    await one.send_next()
    status = outbox.status(post_id)
    assert (status.state, status.attempts) == ("sent", 2)
    assert platform.sent[0].uuid == post_id


async def test_the_platform_says_when_to_try_again(outbox: Outbox, clock: Any) -> None:
    outbox.post(KEY, "text")
    one = server(outbox, Platform(DeliveryError("busy", retryable=True, retry_after=30)))
    await one.send_next()
    clock.now += 29
    assert not await one.send_next()
    clock.now += 2
    assert await one.send_next()


async def test_a_send_that_hangs_ends_before_its_lease(make_outbox: Callable[..., Outbox]) -> None:
    hanging, outbox = Hanging(), make_outbox(lease=3600)
    post_id = outbox.post(KEY, "text")
    sending = asyncio.create_task(server(outbox, hanging).send_next())
    await asyncio.wait_for(hanging.began.wait(), PATIENCE)
    later(3599)
    await asyncio.wait_for(sending, PATIENCE)
    assert outbox.status(post_id).error == "TimeoutError"


async def test_stopping_waits_for_the_send_that_is_going_on(outbox: Outbox) -> None:
    class Slow:
        def __init__(self) -> None:
            self.began, self.may_end = asyncio.Event(), asyncio.Event()

        async def send(self, job: Job) -> str:
            self.began.set()
            await self.may_end.wait()
            return "om_1"

    slow = Slow()
    post_id = outbox.post(KEY, "text")
    outbox.post(KEY, "not any more")
    one = server(outbox, slow)
    task = asyncio.create_task(one.serve())
    async with asyncio.timeout(PATIENCE):
        await slow.began.wait()
        one.stop()
        slow.may_end.set()
        await task
    assert outbox.status(post_id).state == "sent"
    assert outbox.waiting() == [KEY]


async def test_a_server_that_is_cancelled_leaves_the_job_to_the_next(outbox: Outbox, clock: Any) -> None:
    hanging, platform = Hanging(), Platform()
    post_id = outbox.post(KEY, "text")
    task = asyncio.create_task(server(outbox, hanging).serve())
    async with asyncio.timeout(PATIENCE):
        await hanging.began.wait()
        task.cancel()
        await asyncio.wait({task})
    assert task.cancelled()
    clock.now += 61
    await server(outbox, platform).send_next()
    assert outbox.status(post_id).state == "sent"


async def test_two_servers_send_a_post_once(outbox: Outbox, make_outbox: Callable[..., Outbox]) -> None:
    platform = Platform()
    async with serving(server(outbox, platform)), serving(server(make_outbox(), platform)):
        for number in range(10):
            outbox.post(KEY, f"{number}")
        last = outbox.post(KEY, "last")
        await outbox.wait_sent(last, PATIENCE)
    assert [job.content for job in platform.sent] == [*map(str, range(10)), "last"]
