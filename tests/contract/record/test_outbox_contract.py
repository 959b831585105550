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
OTHER = "feishu:oc_2"
SHORT = 0.05
LONG = 3600.0
MakeOutbox = Callable[..., Postbox]


@pytest.fixture
def make_outbox(make_record: MakeRecord) -> MakeOutbox:
    """One more object on the same place, as another process would have."""
    return lambda **limits: make_record(posting=OutboxLimits(**limits)).outbox


def reply(to: str, text: str, message_id: str = "om_reply", sender: str = "on_ada") -> Entry:
    return {
        "role": "user",
        "content": text,
        "sender": sender,
        "message_id": message_id,
        "ts": 1_700_000_000_000,
        "sender_name": "Ada",
        "reply_to": to,
    }


def taken(outbox: Postbox, holder: str = "Alpha#1", chat: str = KEY) -> Job:
    """The next post, which can be taken now."""
    job = outbox.take(holder, [chat], "Alpha")
    assert job is not None
    return job


def taken_over(outbox: Postbox, holder: str) -> Job:
    """The next post as soon as it can be taken."""
    jobs: list[Job] = []

    def comes_back() -> bool:
        jobs.extend(filter(None, [outbox.take(holder, [KEY], "Alpha")]))
        return bool(jobs)

    eventually(comes_back, "it comes back")
    return jobs[0]


def send(outbox: Postbox, message_id: str = "om_1", chat: str = KEY) -> str:
    """Take the next post and confirm it; its id."""
    job = taken(outbox, chat=chat)
    outbox.sent(job, Receipt(message_id), "Alpha")
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
    dies, lives = make_outbox(lease=SHORT), make_outbox()
    dies.post(KEY, "hello")
    first = taken(dies)
    again = taken_over(lives, "Alpha#2")
    assert (again.id, again.uuid, again.attempt, again.in_doubt) == (first.id, first.uuid, 2, True)


def test_who_failed_when_another_process_had_the_job_already_changes_nothing(make_outbox: MakeOutbox) -> None:
    slow, other = make_outbox(lease=SHORT), make_outbox(lease=LONG)
    post = slow.post(KEY, "hello")
    first, again = taken(slow), taken_over(other, "Alpha#2")
    for retry_after in (0.0, None):
        slow.failed(first, "too late", retry_after)
        status = other.status(post)
        assert (status.state, status.error) == ("queued", None)
        assert slow.take("Alpha#3", [KEY], "Alpha") is None
    other.sent(again, Receipt("om_1"), "Alpha")
    assert slow.status(post).state == "sent"


def test_what_failed_is_not_tried_before_its_time(make_outbox: MakeOutbox) -> None:
    outbox = make_outbox()
    post = outbox.post(KEY, "hello")
    outbox.failed(taken(outbox), "too many requests", LONG)
    assert (outbox.waiting("Alpha"), outbox.take("Alpha#1", [KEY], "Alpha")) == ([], None)
    assert (outbox.status(post).state, outbox.status(post).error) == ("queued", "too many requests")


def test_what_is_to_be_tried_again_is_not_overtaken_in_its_chat(make_outbox: MakeOutbox) -> None:
    outbox = make_outbox()
    for chat in (KEY, KEY, OTHER):
        outbox.post(chat, "hello")
    outbox.failed(taken(outbox), "no network", LONG)
    assert outbox.take("Alpha#1", [KEY], "Alpha") is None
    assert outbox.waiting("Alpha") == [OTHER], "nobody asks in vain again and again"
    send(outbox, chat=OTHER)
    assert outbox.waiting("Alpha") == []


def test_what_was_given_up_lets_the_next_one_pass(make_outbox: MakeOutbox) -> None:
    outbox = make_outbox()
    first, second = (outbox.post(KEY, "hello") for _ in range(2))
    outbox.failed(taken(outbox), "refused")
    assert (outbox.status(first).state, send(outbox)) == ("failed", second)


def test_what_nobody_sent_in_its_time_expires(make_outbox: MakeOutbox) -> None:
    outbox = make_outbox()
    post, later = outbox.post(KEY, "hello", expires_in=0), outbox.post(KEY, "hello", expires_in=LONG)
    assert [outbox.status(each).state for each in (post, later)] == ["expired", "queued"]
    assert outbox.waiting("Alpha") == [KEY]
    assert send(outbox) == later
    assert outbox.status(post).state == "expired"


def test_what_ended_long_ago_is_removed_and_nothing_else(make_outbox: MakeOutbox) -> None:
    outbox = make_outbox(keep=0.0)
    overdue = outbox.post(KEY, "hello", expires_in=0)
    eventually(lambda: outbox.clean() == 1, "what ended is removed")
    with pytest.raises(UnknownPostError):
        outbox.status(overdue)
    asking, queued = outbox.post(KEY, "hello"), outbox.post(OTHER, "hello")
    send(outbox)
    told = outbox.post(KEY, "hello", wants_answers=False)
    send(outbox, "om_2")
    eventually(lambda: outbox.clean() == 1, "what nobody may answer is removed")
    with pytest.raises(UnknownPostError):
        outbox.status(told)
    assert [outbox.status(each).state for each in (asking, queued)] == ["sent", "queued"]


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


def test_what_was_answered_before_the_post_was_known_to_be_sent_comes_back(make_outbox: MakeOutbox) -> None:
    poster, bot, other = make_outbox(), make_outbox(), make_outbox()
    post = poster.post(KEY, card={"a": "card"})
    job = taken(bot)
    press = Action("om_1", {"choice": 2}, "on_bo", action_id="ev_1", session_key=KEY)
    for one in (bot, other):
        assert not one.offer_reply(reply("om_1", "yes"), KEY)
        assert not one.offer_reply(reply("om_0", "to somebody else", "om_else"), KEY)
        assert not one.offer_action(press)
    assert poster.answers(post) == []
    bot.sent(job, Receipt("om_1"), "Alpha")
    assert other.offer_action(press)
    assert [(answer.text, answer.value) for answer in poster.answers(post)] == [("yes", {}), ("", {"choice": 2})]


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
    other = outbox.post(OTHER, "hello")
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


@pytest.mark.parametrize("early", [False, True], ids=["noted before", "noted after"])
def test_an_id_is_a_place_in_its_own_chat_only(make_outbox: MakeOutbox, early: bool) -> None:
    """Some platforms count the messages of each chat from one."""
    outbox = make_outbox()
    chats = ("line:1", "line:2")
    posts = [outbox.post(chat, "Which day?") for chat in chats]
    jobs = [taken(outbox, chat=chat) for chat in chats]
    if not early:
        for job in jobs:
            outbox.sent(job, Receipt("1"), "Alpha")
    for chat in (*reversed(chats), "line:3"):
        reply: Entry = {"role": "user", "content": chat, "sender": "7", "message_id": "2", "ts": 1.0, "reply_to": "1"}
        assert outbox.offer_reply(reply, chat) == (not early and chat in chats)
    if early:
        for job in jobs:
            outbox.sent(job, Receipt("1"), "Alpha")
    assert [[answer.text for answer in outbox.answers(post)] for post in posts] == [["line:1"], ["line:2"]]


def test_a_persons_answers_are_erased_in_one_chat_alone(make_outbox: MakeOutbox) -> None:
    outbox = make_outbox()
    here, there = outbox.post(KEY, "hello"), outbox.post(OTHER, "hello")
    for message_id, chat in (("om_1", KEY), ("om_2", OTHER)):
        send(outbox, message_id, chat)
        for sender in ("on_ada", "on_bo"):
            assert outbox.offer_reply(reply(message_id, "yes", f"{message_id} {sender}", sender), chat)
    assert outbox.forget(session_key=KEY, sender="on_ada") == 1
    for post, left in ((here, ["on_bo"]), (there, ["on_ada", "on_bo"])):
        assert outbox.status(post).state == "sent"
        assert [answer.sender for answer in outbox.answers(post)] == left


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
    await asyncio.to_thread(poster.post, OTHER, "for somebody else")
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
