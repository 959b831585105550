"""What every backend of ``QueueStore`` does."""

import asyncio
from collections.abc import Callable

import pytest
from support.queues import Clocks

from nanobot_transcript.errors import QueueFullError
from transcript_mcp.io_bridge.contract import QueueStore
from transcript_mcp.io_bridge.values import Direction, Item

MakeStore = Callable[..., QueueStore]


async def taken(store: QueueStore, session: str = "s", direction: Direction = "in") -> str | None:
    item = await store.take(session, direction)
    return None if item is None else item.text


async def some(store: QueueStore, *texts: str) -> list[int]:
    return [(await store.put("s", "in", text)).seq for text in texts]


async def test_an_empty_queue_gives_nothing_and_makes_no_session(store: QueueStore) -> None:
    assert await store.take("s", "in") is None
    assert await store.peek("s", "out") is None
    assert await store.sessions(10) == []


async def test_items_come_out_in_the_order_in_which_they_went_in(store: QueueStore) -> None:
    await some(store, "one", "two", "three")
    assert [await taken(store) for _ in range(4)] == ["one", "two", "three", None]


async def test_sessions_and_directions_do_not_see_each_other(store: QueueStore) -> None:
    await store.put("a", "in", "for a")
    await store.put("a", "out", "of a")
    await store.put("b", "in", "for b")
    assert await taken(store, "b") == "for b"
    assert await taken(store, "a", "out") == "of a"
    assert await taken(store, "a") == "for a"


@pytest.mark.parametrize("text", ["", "中文 🙂", "x" * 300_000, "line\r\nline\u2028"])
async def test_a_text_comes_out_as_it_went_in(store: QueueStore, text: str) -> None:
    await store.put("s", "out", text)
    assert await taken(store, "s", "out") == text


async def test_what_was_given_back_stands_at_its_old_place(store: QueueStore) -> None:
    first, _ = await some(store, "one", "two")
    assert await taken(store) == "one"
    await store.give_back([first])
    assert [await taken(store) for _ in range(3)] == ["one", "two", None]


async def test_peeking_takes_nothing(store: QueueStore) -> None:
    (seq,) = await some(store, "one")
    for _ in range(2):
        assert await store.peek("s", "in") == Item(seq, "s", "in", "one")
    assert await taken(store) == "one"
    assert await store.peek("s", "in") is None


async def test_only_what_was_delivered_can_be_confirmed(store: QueueStore) -> None:
    first, second = await some(store, "one", "two")
    await taken(store)
    assert await store.confirm("s", given_back=True) == 0
    await store.delivered([first])
    assert await store.confirm("s", given_back=False) == 1
    await store.give_back([first])
    assert await taken(store) == "two"
    await store.give_back([second])
    assert await taken(store) == "two"


async def test_what_nobody_confirmed_in_time_is_confirmed_by_an_answer_only(store: QueueStore) -> None:
    (seq,) = await some(store, "one")
    await taken(store)
    await store.delivered([seq])
    await store.give_back([seq])
    assert await store.confirm("s", given_back=False) == 0
    assert await store.confirm("s", given_back=True) == 1
    assert await taken(store) is None


async def test_an_answer_confirms_what_was_delivered_together_with_being_kept(store: QueueStore) -> None:
    first, second = await some(store, "one", "two")
    await taken(store)
    await store.delivered([first])
    await store.give_back([first])
    assert (await store.put("s", "out", "answer", "k", confirms=True)).confirmed == 1
    assert [item.text for item in await store.queue("s", 10, 10)] == ["two", "answer"]
    await taken(store)
    await store.delivered([second])
    again = await store.put("s", "out", "answer", "k", confirms=True)
    assert (again.repeated, again.confirmed) == (True, 1)


async def test_an_answer_that_finds_no_room_confirms_nothing(make_store: MakeStore) -> None:
    store = make_store(items=1)
    (first,) = await some(store, "one")
    await taken(store)
    await store.delivered([first])
    await store.put("s", "out", "earlier")
    with pytest.raises(QueueFullError):
        await store.put("s", "out", "answer", confirms=True)
    assert [(item.text, item.state) for item in await store.queue("s", 10, 10)] == [
        ("one", "delivered"),
        ("earlier", "queued"),
    ]


async def test_a_second_hand_over_is_not_delivered_yet(store: QueueStore) -> None:
    (seq,) = await some(store, "one")
    await taken(store)
    await store.delivered([seq])
    await store.give_back([seq])
    assert await taken(store) == "one"
    assert await store.confirm("s", given_back=True) == 0


async def test_a_removed_item_is_gone_for_good(store: QueueStore) -> None:
    await store.put("s", "out", "one")
    item = await store.take("s", "out")
    assert item is not None
    await store.remove([item.seq])
    await store.give_back([item.seq])
    assert await store.peek("s", "out") is None
    assert await store.queue("s", 10, 10) == []


async def test_numbers_grow_and_are_never_given_twice(store: QueueStore) -> None:
    first, second = await some(store, "one", "two")
    item = await store.take("s", "in")
    assert item is not None
    await store.remove([item.seq])
    (third,) = await some(store, "three")
    assert first < second < third


async def test_a_key_that_is_known_puts_nothing_in(store: QueueStore) -> None:
    first = await store.put("s", "in", "one", key="k")
    again = await store.put("s", "in", "one", key="k")
    assert (again.seq, again.repeated, first.repeated) == (first.seq, True, False)
    assert (await store.put("t", "in", "one", key="k")).repeated is False
    assert (await store.put("s", "out", "one", key="k")).repeated is False
    assert [await taken(store) for _ in range(2)] == ["one", None]


async def test_a_key_is_known_also_when_its_item_is_gone(store: QueueStore) -> None:
    await store.put("s", "in", "one", key="k")
    item = await store.take("s", "in")
    assert item is not None
    await store.remove([item.seq])
    assert (await store.put("s", "in", "one", key="k")).repeated


async def test_a_session_holds_no_more_items_than_it_may(make_store: MakeStore) -> None:
    store = make_store(items=2)
    await some(store, "one", "two")
    with pytest.raises(QueueFullError) as caught:
        await store.put("s", "in", "three")
    assert caught.value.retry_after > 0
    await store.put("s", "out", "the other direction has room")
    await store.put("t", "in", "and so has another session")


async def test_a_session_holds_no_more_bytes_than_it_may(make_store: MakeStore) -> None:
    store = make_store(bytes=10)
    await some(store, "字字字")
    with pytest.raises(QueueFullError):
        await store.put("s", "in", "字")
    await some(store, "x")


async def test_what_was_handed_out_counts_until_it_is_confirmed(make_store: MakeStore) -> None:
    store = make_store(items=1)
    (seq,) = await some(store, "one")
    await taken(store)
    with pytest.raises(QueueFullError):
        await store.put("s", "in", "two")
    await store.delivered([seq])
    await store.confirm("s", given_back=False)
    await some(store, "two")


async def test_a_full_queue_refuses_one_and_lets_the_others_of_the_same_moment_in(make_store: MakeStore) -> None:
    store = make_store(items=1)
    puts = [store.put(session, "in", "x") for session in ("a", "a", "b", "c")]
    outcomes = await asyncio.gather(*puts, return_exceptions=True)
    assert [type(outcome).__name__ for outcome in outcomes] == ["Put", "QueueFullError", "Put", "Put"]


async def test_there_are_no_more_sessions_than_there_may_be_but_empty_ones_make_room(make_store: MakeStore) -> None:
    store = make_store(sessions=2)
    await store.put("a", "in", "one")
    item = await store.take("a", "in")
    await store.put("b", "in", "one")
    with pytest.raises(QueueFullError):
        await store.put("c", "in", "one")
    assert item is not None
    await store.remove([item.seq])
    await store.put("c", "in", "one")
    assert {state.id for state in await store.sessions(10)} == {"b", "c"}


async def test_two_stores_on_one_place_never_take_the_same(make_store: MakeStore) -> None:
    one, other = make_store(), make_store()
    for number in range(40):
        await one.put("s", "in", str(number))
    texts = [await asyncio.gather(taken(one), taken(other)) for _ in range(20)]
    assert sorted(int(text) for pair in texts for text in pair if text is not None) == list(range(40))


async def test_what_another_store_has_changed_is_noticed_and_what_this_one_has_is_not(make_store: MakeStore) -> None:
    one, other = make_store(), make_store()
    await one.put("s", "in", "mine")
    assert not await one.changed()
    await one.put("s", "in", "mine")
    assert not await one.changed()
    await other.put("s", "in", "theirs")
    assert await one.changed()
    assert not await one.changed()


async def test_what_an_ended_process_held_is_free_and_what_it_had_delivered_is_taken_over(
    make_store: MakeStore,
) -> None:
    ended, next_one = make_store(), make_store()
    first, _ = await some(ended, "delivered", "on its way")
    await taken(ended)
    await taken(ended)
    await ended.delivered([first])
    assert await next_one.adopt() == ([], 0), "it lives"
    ended.close()
    adopted, freed = await next_one.adopt()
    assert ([(item.seq, item.session, item.direction) for item in adopted], freed) == ([(first, "s", "in")], 1)
    assert [await taken(next_one) for _ in range(2)] == ["on its way", None]
    assert await next_one.confirm("s", given_back=False) == 1


async def test_what_an_ended_process_had_noted_as_arrived_has_arrived(make_store: MakeStore) -> None:
    ended, later = make_store(), make_store()
    (first, second) = await some(ended, "arrived", "on its way")
    output = await ended.put("s", "out", "read")
    for _ in range(2):
        await taken(ended)
    await taken(ended, "s", "out")
    ended.note(first)
    ended.note(output.seq)
    ended.close()
    adopted, freed = await later.adopt()
    assert ([item.seq for item in adopted], freed) == ([first], 1)
    assert [(item.seq, item.state) for item in await later.queue("s", 10, 10)] == [
        (first, "delivered"),
        (second, "queued"),
    ]


async def test_a_note_does_not_count_for_a_later_hand_over_of_the_same_item(make_store: MakeStore) -> None:
    ended, later = make_store(), make_store()
    (seq, other) = await some(ended, "again", "other")
    await taken(ended)
    await taken(ended)
    ended.note(other)
    ended.note(seq)
    await ended.delivered([seq])
    await ended.give_back([seq])
    assert await taken(ended) == "again"
    ended.close()
    adopted, freed = await later.adopt()
    assert ([item.seq for item in adopted], freed) == ([other], 1)
    assert await taken(later) == "again"


async def test_everything_is_there_for_the_next_process(make_store: MakeStore) -> None:
    store = make_store()
    await some(store, "one", "two")
    await store.put("s", "out", "result", key="k")
    store.close()
    later = make_store()
    assert [await taken(later) for _ in range(3)] == ["one", "two", None]
    assert (await later.put("s", "out", "result", key="k")).repeated
    assert await taken(later, "s", "out") == "result"


async def test_sessions_tell_what_they_hold_the_most_recent_first(store: QueueStore, clocks: Clocks) -> None:
    first, _ = await some(store, "one", "字")
    clocks.pass_by(5)
    await store.put("t", "out", "result")
    assert [state.id for state in await store.sessions(10)] == ["t", "s"]
    clocks.pass_by(5)
    await taken(store)
    await store.delivered([first])
    (newest,) = await store.sessions(1)
    assert (newest.id, newest.inputs, newest.unconfirmed, newest.input_bytes) == ("s", 2, 1, 6)
    assert (newest.outputs, newest.output_bytes) == (0, 0)
    assert newest.active_ts - newest.created_ts == 10


async def test_a_queue_shows_its_items_with_their_states_and_the_beginning_of_their_texts(store: QueueStore) -> None:
    first, *_ = await some(store, "delivered", "handed", "queued")
    await taken(store)
    await taken(store)
    await store.delivered([first])
    shown = await store.queue("s", 10, 4)
    assert [(item.state, item.text, item.size) for item in shown] == [
        ("delivered", "deli", 9),
        ("handed", "hand", 6),
        ("queued", "queu", 6),
    ]
    assert len(await store.queue("s", 2, 4)) == 2


async def test_a_session_without_activity_is_removed_after_its_time(make_store: MakeStore, clocks: Clocks) -> None:
    store = make_store(keep=1000.0)
    await store.put("old", "in", "one")
    clocks.pass_by(600)
    await store.put("young", "in", "one")
    clocks.pass_by(600)
    assert await store.sweep() == 1
    assert [state.id for state in await store.sessions(10)] == ["young"]
    assert await store.take("old", "in") is None


@pytest.mark.parametrize("jump", [10_000_000.0, -10_000_000.0])
async def test_a_clock_that_jumps_removes_nothing(make_store: MakeStore, clocks: Clocks, jump: float) -> None:
    store = make_store(keep=1000.0)
    await store.put("s", "in", "one")
    clocks.wall += jump
    clocks.pass_by(100)
    assert await store.sweep() == 0
    assert await taken(store) == "one"


async def test_time_in_which_no_process_worked_does_not_count(make_store: MakeStore, clocks: Clocks) -> None:
    store = make_store(keep=1000.0)
    await store.put("s", "in", "one")
    store.close()
    clocks.pass_by(10_000)
    later = make_store(keep=1000.0)
    assert await later.sweep() == 0
    assert await taken(later) == "one"
