"""Posts on their way into groups: put down by one process, sent by another, answered to the first."""

import asyncio
from collections.abc import Callable

import pytest
from contract.conftest import MakeRecord
from support.procs import until as eventually
from support.waiting import PATIENCE, until

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import InvalidPostError, PostConflictError, UnknownPostError
from nanobot_transcript.outbox import Action, Job, OutboxLimits, OutboxServer, Postbox, Receipt

KEY = "feishu:oc_1"
MakeOutbox = Callable[..., Postbox]


@pytest.fixture
def make_outbox(make_record: MakeRecord) -> MakeOutbox:
    """One more object on the same place, as another process would have."""
    return lambda **limits: make_record(posting=OutboxLimits(**limits)).outbox


def reply(to: str, text: str, message_id: str = "om_reply") -> Entry:
    return {
        "role": "user",
        "content": text,
        "sender": "on_ada",
        "message_id": message_id,
        "ts": 1_700_000_000_000,
        "sender_name": "Ada",
        "reply_to": to,
    }


def send(outbox: Postbox, message_id: str = "om_1", agent: str = "Alpha") -> str:
    """Take the next post and confirm it; its id."""
    job = outbox.take(f"{agent}#1", [KEY], agent)
    assert job is not None
    outbox.sent(job, Receipt(message_id), agent)
    return job.id


def test_a_post_is_taken_by_one_and_sent_once(make_outbox: MakeOutbox) -> None:
    poster, first, second = make_outbox(), make_outbox(), make_outbox()
    post = poster.post(KEY, "hello", reply_to="om_0")
    assert first.waiting("Alpha") == [KEY]
    job = first.take("Alpha#1", [KEY], "Alpha")
    assert job is not None
    assert (job.id, job.session_key, job.content, job.reply_to, job.attempt) == (post, KEY, "hello", "om_0", 1)
    assert second.take("Beta#1", [KEY], "Beta") is None
    first.sent(job, Receipt("om_1"), "Alpha")
    status = poster.status(post)
    assert (status.state, status.message_id, status.attempts) == ("sent", "om_1", 1)
    assert second.waiting("Beta") == []


def test_the_same_key_is_the_same_post_and_another_text_a_conflict(make_outbox: MakeOutbox) -> None:
    first, second = make_outbox(), make_outbox()
    assert first.post(KEY, "hello", idempotency_key="k") == second.post(KEY, "hello", idempotency_key="k")
    with pytest.raises(PostConflictError):
        second.post(KEY, "something else", idempotency_key="k")
    send(first)
    assert first.take("Alpha#1", [KEY], "Alpha") is None


def test_the_posts_of_a_chat_go_out_in_their_order(make_outbox: MakeOutbox) -> None:
    outbox = make_outbox()
    posts = [outbox.post(KEY, f"text {number}") for number in range(5)]
    assert [send(outbox, f"om_{number}") for number in range(5)] == posts


def test_only_the_bot_that_is_named_may_send(make_outbox: MakeOutbox) -> None:
    outbox = make_outbox()
    outbox.post(KEY, "for Beta", agent="Beta")
    assert (outbox.waiting("Alpha"), outbox.take("Alpha#1", [KEY], "Alpha")) == ([], None)
    assert outbox.waiting("Beta") == [KEY]


def test_what_failed_is_tried_again_and_in_the_end_given_up(make_outbox: MakeOutbox) -> None:
    outbox = make_outbox(max_attempts=2)
    post = outbox.post(KEY, "hello")
    for attempt in (1, 2):
        job = outbox.take("Alpha#1", [KEY], "Alpha")
        assert job is not None
        assert job.attempt == attempt
        outbox.failed(job, "no network", 0.0)
    status = outbox.status(post)
    assert (status.state, status.error) == ("failed", "no network")
    assert outbox.take("Alpha#1", [KEY], "Alpha") is None


def test_what_a_killed_process_had_taken_comes_back_under_the_same_uuid(make_outbox: MakeOutbox) -> None:
    dies, lives = make_outbox(lease=0.05), make_outbox(lease=0.05)
    dies.post(KEY, "hello")
    first = dies.take("Alpha#1", [KEY], "Alpha")
    assert first is not None
    taken: list[Job] = []

    def comes_back() -> bool:
        taken.extend(filter(None, [lives.take("Alpha#2", [KEY], "Alpha")]))
        return bool(taken)

    eventually(comes_back, "it comes back")
    (again,) = taken
    assert (again.id, again.uuid, again.attempt, again.in_doubt) == (first.id, first.uuid, 2, True)


def test_replies_and_pressed_buttons_come_back_once(make_outbox: MakeOutbox) -> None:
    poster, one, two = make_outbox(), make_outbox(), make_outbox()
    post = poster.post(KEY, card={"a": "card"})
    send(one)
    assert [bot.offer_reply(reply("om_1", "yes"), KEY) for bot in (one, two)] == [True, True]
    assert one.offer_action(Action("om_1", {"choice": 2}, "on_bo", action_id="ev_1"), max_wait=1.0)
    assert two.offer_action(Action("om_1", {"choice": 2}, "on_bo", action_id="ev_1"))
    found = poster.answers(post)
    assert [(answer.kind, answer.text, answer.value) for answer in found] == [
        ("reply", "yes", {}),
        ("action", "", {"choice": 2}),
    ]
    assert poster.answers(post, found[0].seq) == found[1:]
    assert [(known, answer.seq) for known, answer in poster.news()] == [(post, answer.seq) for answer in found]
    poster.close_answers(post)
    assert not one.offer_reply(reply("om_1", "too late", "om_late"), KEY)
    assert poster.open_posts() == []


def test_a_card_is_replaced_by_the_bot_that_sent_it(make_outbox: MakeOutbox) -> None:
    poster, bot = make_outbox(), make_outbox()
    post = poster.post(KEY, card={"a": 1})
    send(bot)
    poster.revise(post, {"a": 2})
    assert bot.take_revision("Beta#1", "Beta") is None
    revision = bot.take_revision("Alpha#1", "Alpha")
    assert revision is not None
    assert (revision.post_id, revision.message_id, revision.card) == (post, "om_1", {"a": 2})
    bot.revised(revision)
    assert bot.take_revision("Alpha#1", "Alpha") is None


def test_what_is_erased_is_gone(make_outbox: MakeOutbox) -> None:
    outbox = make_outbox()
    post = outbox.post(KEY, "hello")
    other = outbox.post("feishu:oc_2", "hello")
    send(outbox)
    outbox.offer_reply(reply("om_1", "secret"), KEY)
    assert outbox.forget(sender="on_ada") == 1
    assert outbox.answers(post) == []
    assert outbox.forget(session_key=KEY) == 1
    with pytest.raises(UnknownPostError) as caught:
        outbox.status(post)
    assert caught.value.hint
    assert outbox.status(other).state == "queued"
    with pytest.raises(InvalidPostError):
        outbox.forget()


@pytest.mark.parametrize("fields", [{}, {"content": ""}, {"content": "x", "card": {"a": 1}, "agent": 7}])
def test_what_is_no_post_is_refused(make_outbox: MakeOutbox, fields: dict[str, object]) -> None:
    with pytest.raises(InvalidPostError):
        make_outbox().post(KEY, **fields)  # type: ignore[arg-type] - a wrong one


async def test_who_waits_hears_of_the_send_and_of_the_answer(make_outbox: MakeOutbox) -> None:
    poster, bot = make_outbox(), make_outbox()
    post = await asyncio.to_thread(poster.post, KEY, "hello")
    sent = asyncio.create_task(poster.wait_sent(post, PATIENCE))
    answered = asyncio.create_task(poster.wait_answer(post, PATIENCE))
    await asyncio.to_thread(send, bot)
    assert (await sent).message_id == "om_1"
    await asyncio.to_thread(bot.offer_reply, reply("om_1", "yes"), KEY)
    answer = await answered
    assert answer is not None
    assert answer.text == "yes"
    assert await poster.wait_answer(post, 0.05, answer.seq) is None


async def test_a_server_sends_what_any_process_posts(make_outbox: MakeOutbox) -> None:
    poster, sent = make_outbox(), list[str | None]()

    async def deliver(job: Job) -> str:
        sent.append(job.content)
        return f"om_{len(sent)}"

    server = OutboxServer(make_outbox(), deliver, agent="Alpha", sits_in=lambda key: key == KEY, look_every=PATIENCE)
    serving = asyncio.create_task(server.serve())
    for number in range(3):
        await asyncio.to_thread(poster.post, KEY, f"text {number}")
        await until(lambda number=number: len(sent) > number)
    await asyncio.to_thread(poster.post, "feishu:oc_2", "for somebody else")
    server.stop()
    await asyncio.wait_for(serving, PATIENCE)
    assert sent == ["text 0", "text 1", "text 2"]


def test_an_outbox_that_was_begun_anew_is_another_one(make_outbox: MakeOutbox) -> None:
    outbox = make_outbox()
    assert outbox.edition() is None
    outbox.post(KEY, "hello")
    edition = outbox.edition()
    assert edition is not None
    outbox.post(KEY, "hello again")
    assert make_outbox().edition() == edition
