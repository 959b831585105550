"""What a store of questions promises."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from contract.assistant.conftest import MakeStore
from msgspec.structs import replace

from transcript_mcp.assistant.questions.contract import End, Ended, QuestionStore
from transcript_mcp.assistant.questions.values import (
    AnswerContent,
    Choices,
    Ending,
    HistoryQuery,
    Inquiry,
    Option,
    Question,
)

ASKED = Question(
    scope="assistant/ada",
    id="q1",
    kind="question",
    text="发布到生产环境吗？",
    said_as="AskQuestion",
    project="/srv/shop",
    agent="Alpha",
    model="opus",
    client="claude-code",
    choices=(Choices("which?", "Window", (Option("Wednesday", "quiet"), Option("周五")), multiple=True, custom=False),),
    timeout=90,
    chat="feishu:oc_1",
)
YES = Ending(
    "answered",
    "Ada",
    "web",
    (AnswerContent("text", "好的，周三"), AnswerContent("image", data=b"\x89PNG", mime_type="image/png")),
)


def other(**changes: Any) -> Question:
    return replace(ASKED, **changes)


async def end(store: QuestionStore, scope: str, id: str, ending: Ending) -> Ended:
    """How one question ends."""
    (ended,) = await store.end_all([End(scope, id, ending)])
    assert not isinstance(ended, Exception)
    return ended


async def picked_up(store: QuestionStore, taker: Question) -> Sequence[Inquiry]:
    """What this question's agent gets with its answer, once that was written."""
    await store.lend(taker)
    await store.settle(taker, got=True)
    return await store.lend(taker)


async def test_what_is_asked_comes_back_as_it_was(store: QuestionStore) -> None:
    record, new = await store.put(ASKED, "waiting")
    assert new
    assert record.question == ASKED
    assert (record.state, record.shown, record.ended_ts, record.contents) == ("waiting", 0, None, ())
    assert await store.get("assistant/ada", "q1") == record


async def test_the_same_id_again_joins(store: QuestionStore) -> None:
    first, _ = await store.put(ASKED, "waiting")
    again, new = await store.put(ASKED, "waiting")
    assert not new
    assert again == first


async def test_an_answer_that_came_meanwhile_is_kept_for_who_asks_again(make_store: MakeStore) -> None:
    await make_store().put(ASKED, "waiting")
    await end(make_store(), "assistant/ada", "q1", YES)
    record, new = await make_store().put(ASKED, "waiting")
    assert not new
    assert (record.state, record.by, record.where, record.contents) == ("answered", "Ada", "web", YES.contents)
    assert record.ended_ts is not None


async def test_the_first_answer_wins(make_store: MakeStore) -> None:
    one, two = make_store(), make_store()
    await one.put(ASKED, "waiting")
    endings = [Ending("answered", f"person {number}", "web") for number in range(20)]
    outcomes = await asyncio.gather(
        *(end(one if number % 2 else two, "assistant/ada", "q1", each) for number, each in enumerate(endings))
    )
    assert all(outcome is not None for outcome in outcomes)
    assert sum(first for _, first in outcomes if outcomes) == 1  # type: ignore[misc]
    winner = next(record.by for record, first in outcomes if first)  # type: ignore[misc]
    assert {record.by for record, _ in outcomes} == {winner}  # type: ignore[misc]


async def test_every_ending_is_final(store: QuestionStore) -> None:
    for state in ("timeout", "cancelled", "withdrawn"):
        await store.put(other(id=state), "waiting")
        await end(store, "assistant/ada", state, Ending(state))  # type: ignore[arg-type] - a plain text
        outcome = await end(store, "assistant/ada", state, YES)
        assert outcome is not None
        assert (outcome[0].state, outcome[1]) == (state, False)


@pytest.mark.parametrize("ended", [False, True])
async def test_each_of_many_ends_as_it_would_alone(make_store: MakeStore, ended: bool) -> None:
    store = make_store()
    known = [(await store.put(other(id=each), "waiting"))[0] for each in ("a", "b", "c")]
    if ended:
        await end(make_store(), "assistant/ada", "b", Ending("answered", "Bo", "connect"))
    outcomes = await store.end_all([End("assistant/ada", each.question.id, YES, each) for each in known])
    assert [isinstance(outcome, tuple) and outcome[1] for outcome in outcomes] == [True, not ended, True]
    assert [isinstance(outcome, tuple) and outcome[0].by for outcome in outcomes] == [
        "Ada",
        "Bo" if ended else "Ada",
        "Ada",
    ]
    for each, outcome in zip(known, outcomes, strict=True):
        assert isinstance(outcome, tuple)
        kept = await store.get("assistant/ada", each.question.id)
        assert kept is not None
        assert replace(outcome[0], has_messages=kept.has_messages) == kept


async def test_the_first_of_the_same_moment_ends_it(store: QuestionStore) -> None:
    known, _ = await store.put(ASKED, "waiting")
    endings = [Ending("answered", by, "web") for by in ("Ada", "Bo")]
    outcomes = await store.end_all(
        [*(End("assistant/ada", "q1", each, known) for each in endings), End("assistant/ada", "q2", YES)]
    )
    assert [outcome and (outcome[0].by, outcome[1]) for outcome in outcomes if not isinstance(outcome, Exception)] == [
        ("Ada", True),
        ("Ada", False),
        None,
    ]


async def test_an_id_of_another_scope_is_unknown(store: QuestionStore) -> None:
    await store.put(ASKED, "waiting")
    assert await store.get("assistant/bo", "q1") is None
    assert await end(store, "assistant/bo", "q1", YES) is None
    _, new = await store.put(other(scope="assistant/bo", text="mine"), "waiting")
    assert new
    assert (await store.get("assistant/ada", "q1")).question.text == ASKED.text  # type: ignore[union-attr]


async def test_what_waits_is_listed_the_oldest_first(store: QuestionStore) -> None:
    for number in range(3):
        await store.put(other(id=f"q{number}"), "waiting")
    await store.put(other(id="told", kind="report", expects=False), "notified")
    await store.put(other(scope="assistant/bo"), "waiting")
    await end(store, "assistant/ada", "q1", YES)
    assert [record.question.id for record in await store.waiting("assistant/ada")] == ["q0", "q2"]
    assert len(await store.waiting()) == 3


async def test_what_has_ended_in_chats_is_listed_the_newest_first(store: QuestionStore) -> None:
    for name, chat in (("a", "feishu:oc_1"), ("b", ""), ("c", "feishu:oc_2"), ("d", "feishu:oc_1")):
        await store.put(other(id=name, chat=chat), "waiting")
    assert await store.ended(0) == []
    for name in "abc":
        await end(store, "assistant/ada", name, YES)
    assert await store.ended(0) == [("assistant/ada", "c"), ("assistant/ada", "a")]
    assert await store.ended(0, limit=1) == [("assistant/ada", "c")]
    last = await store.get("assistant/ada", "c")
    assert last is not None
    assert await store.ended((last.ended_ts or 0) + 1) == []


async def test_who_was_shown_it_is_counted(store: QuestionStore) -> None:
    await store.put(ASKED, "waiting")
    await asyncio.gather(*(store.shown("assistant/ada", "q1", 2) for _ in range(5)))
    record = await store.get("assistant/ada", "q1")
    assert record is not None
    assert record.shown == 10


async def test_a_message_waits_for_its_agent_and_is_picked_up_once(store: QuestionStore) -> None:
    message = other(id="m1", kind="message", text="先停一下", choices=())
    await store.write(message, Ending("waiting", "Ada", "web", (AnswerContent("file", data=b"x", uri="a.txt"),)))
    _, new = await store.write(message, Ending("waiting", "Ada", "web"))
    assert not new
    assert await picked_up(store, other(id="q2", agent="Beta")) == ()
    assert await picked_up(store, other(id="q2", scope="assistant/bo")) == ()
    (got,) = await picked_up(store, other(id="q2"))
    assert (got.question.text, got.state, got.by, got.taken_by) == ("先停一下", "picked_up", "Ada", "q2")
    assert got.contents[0].uri == "a.txt"
    assert await picked_up(store, other(id="q3")) == ()


async def test_the_same_question_gets_its_messages_again(make_store: MakeStore) -> None:
    await make_store().write(other(id="m1", kind="message", text="stop"), Ending("waiting", "Ada", "web"))
    first = await picked_up(make_store(), ASKED)
    assert [each.question.id for each in first] == ["m1"]
    assert await picked_up(make_store(), ASKED) == first


async def test_what_was_lent_and_not_settled_is_given_to_the_same_question_again(make_store: MakeStore) -> None:
    store = make_store()
    await store.write(other(id="m1", kind="message", text="stop"), Ending("waiting", "Ada", "web"))
    (first,) = await store.lend(ASKED)
    assert (first.question.id, first.state) == ("m1", "waiting")
    assert list(await make_store().lend(ASKED)) == [first]


async def test_what_is_lent_still_waits_and_nobody_else_gets_it(make_store: MakeStore) -> None:
    store, other_process = make_store(), make_store()
    await store.write(other(id="m1", kind="message", text="stop"), Ending("waiting", "Ada", "web"))
    (lent,) = await store.lend(other(id="session"))
    assert (lent.question.text, lent.state, lent.ended_ts) == ("stop", "waiting", None)
    assert not await other_process.lend(other(id="other session"))
    assert not await picked_up(other_process, other(id="q2"))
    assert not await store.lend(other(id="third", agent="Beta"))


@pytest.mark.parametrize("got", [True, False])
async def test_what_was_lent_is_picked_up_or_can_be_had_again(make_store: MakeStore, got: bool) -> None:
    store, other_process = make_store(), make_store()
    for number in range(2):
        await store.write(other(id=f"m{number}", kind="message", text="stop"), Ending("waiting", "Ada", "web"))
        await store.lend(other(id="session"))
    await store.write(other(id="m2", kind="message", text="later"), Ending("waiting", "Ada", "web"))
    settled = await other_process.settle(other(id="session"), got=got)
    assert [each.question.id for each in settled] == ["m0", "m1"]
    assert {(each.state, each.ended_ts is None) for each in settled} == {("picked_up" if got else "waiting", not got)}
    assert not await store.settle(other(id="session"), got=got)
    left = [each.question.id for each in await picked_up(store, other(id="q2"))]
    assert left == (["m2"] if got else ["m0", "m1", "m2"])


async def test_what_a_process_lent_that_has_ended_can_be_had_again(make_store: MakeStore) -> None:
    first = make_store()
    await first.free()
    await first.write(other(id="m1", kind="message", text="stop"), Ending("waiting", "Ada", "web"))
    await first.lend(other(id="session"))
    second = make_store()
    await second.free()
    assert [each.question.id for each in await picked_up(second, other(id="q2"))] == ["m1"]


async def test_a_message_is_no_question_that_can_be_answered(store: QuestionStore) -> None:
    await store.write(other(id="m1", kind="message"), Ending("waiting", "Ada", "web"))
    assert list(await store.waiting("assistant/ada")) == []
    outcome = await end(store, "assistant/ada", "m1", YES)
    assert outcome is not None
    assert not outcome[1]


async def test_the_history_is_paged_from_the_newest(store: QuestionStore) -> None:
    for number in range(7):
        await store.put(other(id=f"q{number}"), "waiting")
    await store.put(other(scope="assistant/bo", id="foreign"), "waiting")
    seen: list[str] = []
    before, pages = 0, 0
    while pages == 0 or before:
        page = await store.history(("assistant/ada",), HistoryQuery(limit=3, before=before))
        seen += [record.question.id for record in page.records]
        before, pages = page.next_before, pages + 1
    assert (seen, pages) == ([f"q{number}" for number in reversed(range(7))], 3)


async def test_a_page_of_the_history_holds_what_fits_and_one_record_at_least(store: QuestionStore) -> None:
    sizes = {"a": 3, "b": 4, "c": 9, "d": 3, "e": 3}
    for each, megabytes in sizes.items():
        await store.put(other(id=each), "waiting")
        files = (AnswerContent("file", data=b"x" * megabytes * 1024 * 1024, uri="big.bin"),)
        await end(store, "assistant/ada", each, Ending("answered", "Ada", "web", files))
    pages, before = list[list[str]](), 0
    while not pages or before:
        page = await store.history(("assistant/ada",), HistoryQuery(before=before))
        pages.append([record.question.id for record in page.records])
        before = page.next_before
    assert pages == [["e", "d"], ["c"], ["b", "a"]]


async def test_a_page_of_the_history_counts_bytes_and_options(store: QuestionStore) -> None:
    # signs of three bytes each that are no words: nothing of them has to be indexed
    options = tuple(Option(str(number), "…" * 50_000) for number in range(2))
    for number in range(20):
        long = {"text": "—" * 100_000, "choices": (Choices("Which?", options=options),)}
        await store.put(other(id=f"q{number}", **long), "waiting")
    page = await store.history(("assistant/ada",), HistoryQuery(limit=200))
    assert page.next_before
    assert len(page.records) == 13  # of 600 kB each
    assert 7 * 1024 * 1024 < page.size <= 8 * 1024 * 1024


async def test_the_history_has_records_by_their_ids_and_without_files(store: QuestionStore) -> None:
    files = (AnswerContent("text", "周三"), AnswerContent("file", data=b"x" * 9 * 1024 * 1024, uri="big.bin"))
    for each in "abc":
        await store.put(other(id=each), "waiting")
        await end(store, "assistant/ada", each, Ending("answered", "Ada", "web", files))
    whole = await store.history(("assistant/ada",), HistoryQuery(ids=("a", "c", "foreign")))
    words = await store.history(("assistant/ada",), HistoryQuery(ids=("a", "c", "foreign"), words_only=True))
    assert [record.contents for record in whole.records] == [files]
    assert [(each.question.id, each.contents) for each in words.records] == [("c", files[:1]), ("a", files[:1])]
    assert whole.next_before
    assert not words.next_before
    assert replace(words.records[0], contents=files) == whole.records[0]


async def test_the_history_has_records_by_scope_and_id_where_two_programs_use_one_id(store: QuestionStore) -> None:
    for scope, each in (("assistant/ada", "1"), ("assistant/bo", "1"), ("assistant/bo", "2"), ("assistant/cy", "3")):
        await store.put(other(id=each, scope=scope), "waiting")
    scopes = ("assistant/ada", "assistant/bo", "assistant/cy")

    async def found(**query: Any) -> list[tuple[str, str]]:
        return [each.question.key for each in (await store.history(scopes, HistoryQuery(**query))).records]

    assert await found(keys=(("assistant/ada", "1"),), limit=1) == [("assistant/ada", "1")]
    assert await found(keys=(("assistant/ada", "1"),), ids=("3",)) == [("assistant/cy", "3"), ("assistant/ada", "1")]
    assert await found(ids=("1",)) == [("assistant/bo", "1"), ("assistant/ada", "1")]


async def test_the_history_of_several_scopes_is_one_and_of_none_is_empty(store: QuestionStore) -> None:
    for number, scope in enumerate(("assistant/ada", "assistant/bo", "assistant/cy", "assistant/ada")):
        await store.put(other(id=f"q{number}", scope=scope, text="Deploy the shop?"), "waiting")

    async def found(*scopes: str, **query: Any) -> list[str]:
        return [each.question.id for each in (await store.history(scopes, HistoryQuery(**query))).records]

    both = ("assistant/bo", "assistant/ada")
    assert await found(*both) == await found(*both, text="deploy") == ["q3", "q1", "q0"]
    assert await found(*both, limit=2) == ["q3", "q1"]
    assert await found(*both, ids=("q0", "q1", "q2")) == ["q1", "q0"]
    assert await found() == await found(text="deploy") == await found(ids=("q0",)) == []


async def test_the_history_finds_words_of_question_and_answer_in_any_script(store: QuestionStore) -> None:
    await store.put(ASKED, "waiting")
    await store.put(other(id="q2", text="Deploy the shop?"), "waiting")
    await store.put(other(id="q3", scope="assistant/bo"), "waiting")
    await end(store, "assistant/ada", "q2", YES)

    async def found(text: str) -> list[str]:
        page = await store.history(("assistant/ada",), HistoryQuery(text=text))
        return [record.question.id for record in page.records]

    assert await found("生产") == ["q1"]
    assert await found("周三") == ["q2"]
    assert await found("deploy SHOP") == ["q2"]
    assert await found("产生") == []
    assert await found('" OR 1=1 NEAR(') == []
    assert await found("?!") == []


async def test_the_history_is_narrowed_to_one_agent(store: QuestionStore) -> None:
    await store.put(ASKED, "waiting")
    await store.put(other(id="q2", agent="Beta"), "waiting")
    await store.put(other(id="q3", agent=""), "waiting")
    page = await store.history(("assistant/ada",), HistoryQuery(project="/srv/shop", agent=""))
    assert [record.question.id for record in page.records] == ["q3"]


async def test_a_restart_loses_nothing(make_store: MakeStore) -> None:
    first = make_store()
    await first.put(ASKED, "waiting")
    await first.shown("assistant/ada", "q1", 1)
    first.close()
    (record,) = await make_store().waiting()
    assert (record.question, record.shown) == (ASKED, 1)


async def test_a_burst_is_kept_whole(store: QuestionStore) -> None:
    ids = [f"q{number}" for number in range(200)]
    await asyncio.gather(*(store.put(other(id=each), "waiting") for each in ids))
    outcomes = await asyncio.gather(*(end(store, "assistant/ada", each, YES) for each in ids))
    assert all(outcome is not None and outcome[1] for outcome in outcomes)
    assert list(await store.waiting()) == []
