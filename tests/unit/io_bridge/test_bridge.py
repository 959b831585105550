"""What the bridge hands over, to whom, and what becomes of it when that fails."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from support.loop_clock import later
from support.waiting import PATIENCE, until

from nanobot_transcript.errors import QueueFullError, StoreError
from nanobot_transcript.sql.location import Shelf
from transcript_mcp.door.identity import Caller
from transcript_mcp.io_bridge.bridge import Bridge, HandedItem
from transcript_mcp.io_bridge.store import SqlQueueStore
from transcript_mcp.io_bridge.values import Direction, Item, Limits
from transcript_mcp.room import Addressee

MakeBridge = Callable[..., Bridge]

LONG = PATIENCE
SHORT = 0.05


def waiting(bridge: Bridge, session: str = "s", **options: object) -> "asyncio.Task[HandedItem | None]":
    return asyncio.create_task(bridge.next_input(session, **options))  # pyright: ignore[reportArgumentType]


async def has_waiters(bridge: Bridge, count: int, session: str = "s") -> None:
    async def counted() -> int:
        return next((state.waiting_agents for state in await bridge.sessions() if state.id == session), 0)

    async with asyncio.timeout(LONG):
        while await counted() != count:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.005)


async def has_readers(bridge: Bridge, count: int) -> None:
    async with asyncio.timeout(LONG):
        while [state.waiting_readers for state in await bridge.sessions()] != [count]:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.005)


async def got(task: "asyncio.Task[HandedItem | None]") -> HandedItem:
    handed = await asyncio.wait_for(task, LONG)
    assert handed is not None
    return handed


async def states(bridge: Bridge, session: str = "s") -> list[tuple[str, str]]:
    return [(item.text, item.state) for item in await bridge.queue(session)]


async def becomes(bridge: Bridge, expected: list[tuple[str, str]], session: str = "s") -> None:
    async with asyncio.timeout(LONG):
        while await states(bridge, session) != expected:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.005)


async def test_an_input_wakes_the_agent_that_waits_for_it(bridge: Bridge) -> None:
    agent = waiting(bridge)
    await has_waiters(bridge, 1)
    await bridge.send_input("other", "not this")
    await bridge.send_input("s", "hello")
    assert (await got(agent)).text == "hello"


async def test_who_waits_for_words_of_people_is_known_as_long_as_it_waits(bridge: Bridge) -> None:
    alpha, left = Addressee(Caller("program", "me"), "/srv/shop", "Alpha"), False
    calls = [waiting(bridge), *(waiting(bridge, agent=alpha, is_gone=lambda: left) for _ in range(2))]
    await has_waiters(bridge, 3)
    assert bridge.listening("s") == [alpha]
    assert bridge.listening("other") == []
    left = True
    assert bridge.listening("s") == []
    await bridge.send_input("s", "hello")
    assert (await got(calls[0])).text == "hello"
    await asyncio.gather(*calls[1:])


async def test_an_input_that_came_before_is_there_at_once(bridge: Bridge) -> None:
    await bridge.send_input("s", "one")
    await bridge.send_input("s", "two")
    assert (await got(waiting(bridge, wait=0))).text == "one"


async def test_who_waited_longest_is_served_first(bridge: Bridge) -> None:
    agents = []
    for count in range(1, 6):
        agents.append(waiting(bridge))
        await has_waiters(bridge, count)
    for number in range(5):
        await bridge.send_input("s", str(number))
    assert [(await got(agent)).text for agent in agents] == ["0", "1", "2", "3", "4"]


async def test_an_input_that_comes_while_the_queue_is_looked_at_is_handed_over_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Store(SqlQueueStore):
        looked = False

        async def take(self, session: str, direction: Direction) -> Item | None:
            found = await super().take(session, direction)
            if not self.looked:
                self.looked = True
                await bridge.send_input(session, "just then")
            return found

    bridge = Bridge(Store(Shelf(tmp_path / "hub")))
    monkeypatch.setattr(bridge, "_watch", lambda: None)  # what looks at the queues every second
    assert (await got(waiting(bridge))).text == "just then"
    bridge.close()


async def test_without_an_input_the_time_ends_with_nothing(bridge: Bridge) -> None:
    assert await bridge.next_input("s", wait=0) is None
    assert await bridge.next_input("s", wait=SHORT) is None
    assert await bridge.sessions() == []


async def test_while_an_agent_waits_it_is_told_so_now_and_then(make_bridge: MakeBridge) -> None:
    bridge, told = make_bridge(tell_every=0.02), list[float]()

    async def tell(seconds: float) -> None:
        told.append(seconds)

    agent = waiting(bridge, tell=tell)
    await until(lambda: len(told) >= 3)
    await bridge.send_input("s", "x")
    await got(agent)
    assert told == sorted(set(told))


async def test_a_cancelled_call_takes_nothing_with_it(bridge: Bridge) -> None:
    first, second = waiting(bridge), waiting(bridge)
    await has_waiters(bridge, 2)
    first.cancel()
    await bridge.send_input("s", "hello")
    assert (await got(second)).text == "hello"
    assert first.cancelled()


@pytest.mark.parametrize("yields", range(0, 60, 4))
async def test_an_input_survives_a_cancellation_at_any_moment(bridge: Bridge, yields: int) -> None:
    agent = waiting(bridge)
    await has_waiters(bridge, 1)
    sending = asyncio.create_task(bridge.send_input("s", "hello"))
    for _ in range(yields):
        await asyncio.sleep(0.0002)
    agent.cancel()
    await sending
    (outcome,) = await asyncio.gather(agent, return_exceptions=True)
    if isinstance(outcome, HandedItem):
        outcome.arrived(False)
    assert (await got(waiting(bridge, wait=LONG))).text == "hello"


async def test_a_client_that_has_left_gets_nothing_even_if_it_came_first(bridge: Bridge) -> None:
    gone = False
    first = waiting(bridge, is_gone=lambda: gone)
    await has_waiters(bridge, 1)
    second = waiting(bridge)
    await has_waiters(bridge, 2)
    gone = True
    await bridge.send_input("s", "hello")
    assert (await got(second)).text == "hello"
    assert await asyncio.wait_for(first, LONG) is None


async def test_a_client_that_has_left_does_not_wait_for_ever(bridge: Bridge) -> None:
    assert await asyncio.wait_for(waiting(bridge, is_gone=lambda: True), LONG) is None


async def test_an_answer_that_did_not_arrive_puts_its_input_back_at_the_front(bridge: Bridge) -> None:
    await bridge.send_input("s", "one")
    await bridge.send_input("s", "two")
    handed = await got(waiting(bridge, wait=0))
    handed.arrived(False)
    handed.arrived()  # said too late
    await becomes(bridge, [("one", "queued"), ("two", "queued")])
    assert (await got(waiting(bridge, wait=0))).text == "one"


async def test_the_next_call_of_the_session_confirms_what_arrived(bridge: Bridge) -> None:
    for text in ("one", "two", "three"):
        await bridge.send_input("s", text)
    (await got(waiting(bridge, wait=0))).arrived()
    second = await got(waiting(bridge, wait=0))
    assert second.text == "two"
    second.arrived()
    await becomes(bridge, [("two", "delivered"), ("three", "queued")])
    await bridge.send_output("s", "result")
    assert await states(bridge) == [("three", "queued"), ("result", "queued")]
    (await got(waiting(bridge, wait=0))).arrived()
    await becomes(bridge, [("three", "delivered"), ("result", "queued")])
    assert await bridge.confirm("s") == 1
    assert await states(bridge) == [("result", "queued")]


async def test_the_next_call_confirms_nothing_that_is_still_on_its_way(bridge: Bridge) -> None:
    await bridge.send_input("s", "one")
    handed = await got(waiting(bridge, wait=0))
    assert await bridge.next_input("s", wait=0) is None
    handed.arrived(False)
    assert (await got(waiting(bridge, wait=LONG))).text == "one"


async def test_what_nobody_confirms_in_time_is_handed_over_again(make_bridge: MakeBridge) -> None:
    bridge = make_bridge(lease=0.05)
    await bridge.send_input("s", "one")
    first = await got(waiting(bridge, wait=0))
    again = waiting(bridge)
    await has_waiters(bridge, 1)
    first.arrived()
    assert (await got(again)).text == "one"


async def test_a_confirmed_input_is_not_handed_over_again(make_bridge: MakeBridge) -> None:
    bridge = make_bridge(lease=60)
    await bridge.send_input("s", "one")
    (await got(waiting(bridge, wait=0))).arrived()
    await becomes(bridge, [("one", "delivered")])
    assert await bridge.confirm("s") == 1
    later(61)
    assert await bridge.next_input("s", wait=SHORT) is None


async def test_a_slow_answer_still_confirms_the_input_it_belongs_to(make_bridge: MakeBridge) -> None:
    bridge = make_bridge(lease=60)
    await bridge.send_input("s", "one")
    (await got(waiting(bridge, wait=0))).arrived()
    await becomes(bridge, [("one", "delivered")])
    later(61)
    await becomes(bridge, [("one", "queued")])
    await bridge.send_output("s", "result")
    assert await states(bridge) == [("result", "queued")]


async def test_outputs_are_read_once_and_in_order(bridge: Bridge) -> None:
    for text in ("one", "two"):
        await bridge.send_output("s", text)
    read = list[str]()
    while (handed := await bridge.read_output("s")) is not None:
        read.append(handed.text)
        handed.arrived()
    assert read == ["one", "two"]
    await becomes(bridge, [])


async def test_an_output_that_did_not_reach_its_reader_waits_for_the_next(bridge: Bridge) -> None:
    await bridge.send_output("s", "result")
    handed = await bridge.read_output("s")
    assert handed is not None
    assert await bridge.read_output("s") is None
    handed.arrived(False)
    again = await bridge.read_output("s", wait=LONG)
    assert again is not None
    assert (again.text, again.seq) == ("result", handed.seq)


async def test_a_reader_that_waits_is_woken_by_an_output_and_so_is_one_that_peeks(bridge: Bridge) -> None:
    peeking = asyncio.create_task(bridge.peek_output("s", wait=LONG))
    reading = asyncio.create_task(bridge.read_output("s", wait=LONG))
    await has_readers(bridge, 2)
    await bridge.send_output("s", "result")
    read = await asyncio.wait_for(reading, LONG)
    assert read is not None
    assert read.text == "result"
    read.arrived(False)
    peeked = await asyncio.wait_for(peeking, LONG)
    assert peeked is not None
    assert peeked.text == "result"


async def test_a_bridge_of_another_process_is_heard(make_bridge: MakeBridge) -> None:
    one, other = make_bridge(), make_bridge()
    agent, reader = waiting(one), asyncio.create_task(one.read_output("s", wait=LONG))
    await has_waiters(one, 1)
    await other.send_input("s", "from elsewhere")
    await other.send_output("s", "also from there")
    assert (await got(agent)).text == "from elsewhere"
    assert (await got(reader)).text == "also from there"


async def test_what_a_process_held_when_it_ended_is_handed_over_by_the_next(make_bridge: MakeBridge) -> None:
    ended, later = make_bridge(), make_bridge(lease=0.05)
    await ended.send_input("s", "on its way")
    await ended.send_input("t", "unconfirmed")
    await got(waiting(ended, wait=0))
    (await got(waiting(ended, "t", wait=0))).arrived()
    await becomes(ended, [("unconfirmed", "delivered")], "t")
    agent = waiting(later)
    await has_waiters(later, 1)
    ended.close()
    assert (await got(agent)).text == "on its way"
    await becomes(later, [("unconfirmed", "queued")], "t")
    assert (await got(waiting(later, "t", wait=0))).text == "unconfirmed"


async def test_listeners_hear_which_session_has_changed_until_they_stop(bridge: Bridge) -> None:
    heard = list[str | None]()

    def fails(_session: str | None) -> None:
        raise ValueError

    stop_failing = bridge.listen(fails)
    stop = bridge.listen(heard.append)
    await bridge.send_input("s", "x")
    assert "s" in heard
    heard.clear()
    handed = await got(waiting(bridge, wait=0))
    handed.arrived()
    await until(lambda: len(heard) >= 2)
    stop()
    stop_failing()
    heard.clear()
    await bridge.send_output("s", "y")
    assert heard == []


async def test_a_session_tells_who_waits_in_it(bridge: Bridge) -> None:
    agent = waiting(bridge)
    reader = asyncio.create_task(bridge.read_output("s", wait=LONG))
    await has_waiters(bridge, 1)
    await until(lambda: not reader.done())
    (state,) = await bridge.sessions()
    assert (state.id, state.waiting_agents, state.waiting_readers) == ("s", 1, 1)
    agent.cancel()
    reader.cancel()
    await asyncio.gather(agent, reader, return_exceptions=True)
    await until(lambda: not bridge._queues)  # somebody may still be looking for them
    assert await bridge.sessions() == []


async def test_nobody_waits_in_more_sessions_than_there_may_be(make_bridge: MakeBridge) -> None:
    bridge = make_bridge(sessions=1)
    agents = [waiting(bridge, session) for session in ("a", "b")]
    await has_waiters(bridge, 1, "a")
    await has_waiters(bridge, 1, "b")
    with pytest.raises(QueueFullError):
        await bridge.next_input("c", wait=LONG)
    for agent in agents:
        agent.cancel()
    await asyncio.gather(*agents, return_exceptions=True)


async def test_a_full_session_takes_no_more(make_bridge: MakeBridge) -> None:
    bridge = make_bridge(Limits(items=1))
    await bridge.send_output("s", "one")
    with pytest.raises(QueueFullError, match="1 outputs with 3 bytes"):
        await bridge.send_output("s", "two")


async def test_a_store_that_cannot_be_written_is_an_error_for_all_who_need_it(bridge: Bridge, tmp_path: Path) -> None:
    (tmp_path / "hub").write_text("in the way", encoding="utf-8")
    with pytest.raises(StoreError):
        await bridge.send_input("s", "x")
    with pytest.raises(StoreError):
        await bridge.next_input("s", wait=0)


async def test_a_store_that_is_no_database_is_an_error_and_is_kept(bridge: Bridge, tmp_path: Path) -> None:
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub" / "io.sqlite3").write_bytes(b"no database" * 1000)
    for work in (bridge.send_input("s", "x"), bridge.next_input("s", wait=0), bridge.read_output("s")):
        with pytest.raises(StoreError) as caught:
            await work
        assert "backup" in caught.value.hint
    assert (tmp_path / "hub" / "io.sqlite3").read_bytes().startswith(b"no database")


async def test_a_hundred_sessions_at_once_get_each_input_once(bridge: Bridge) -> None:
    agents = [waiting(bridge, f"s{number}") for number in range(100)]
    await asyncio.gather(*(bridge.send_input(f"s{number}", f"for {number}") for number in range(100)))
    assert [(await got(agent)).text for agent in agents] == [f"for {number}" for number in range(100)]
