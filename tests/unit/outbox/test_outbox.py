"""Posts: queued once, sent in order by one process, and what comes back."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.waiting import PATIENCE
from unit.outbox.conftest import in_a_file

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import InvalidPostError, PostConflictError, UnknownPostError
from nanobot_transcript.outbox import Action, Job, Outbox, Receipt, offers, replies

KEY = "feishu:oc_1"
OTHER = "feishu:oc_2"
MakeOutbox = Callable[..., Outbox]


def taken(outbox: Outbox, agent: str | None = None, keys: tuple[str, ...] = (KEY, OTHER), holder: str = "one") -> Job:
    job = outbox.take(holder, keys, agent)
    assert job is not None
    return job


def sent(outbox: Outbox, message_id: str = "om_1", **fields: Any) -> str:
    post_id = outbox.post(KEY, "Ship it?", **fields)
    outbox.sent(taken(outbox), message_id)
    return post_id


def reply(message_id: str = "om_9", role: str = "user", **fields: Any) -> Entry:
    entry: Any = {"role": role, "content": "Yes", "sender": "on_ada", "message_id": message_id, "ts": 1_763_600_001_000}
    return {**entry, "sender_name": "Ada", **fields}


# -- posting


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), float("-inf"), 1e300, 10**400, "3", True])
def test_a_post_that_would_never_end_is_refused(outbox: Outbox, seconds: Any) -> None:
    with pytest.raises(InvalidPostError, match="seconds"):
        outbox.post(KEY, "Hello", expires_in=seconds)
    assert outbox.waiting() == []


@pytest.mark.parametrize("wish", ["no", None, 2])
def test_whether_answers_are_wanted_is_true_or_false(outbox: Outbox, wish: Any) -> None:
    with pytest.raises(InvalidPostError, match="true or false"):
        outbox.post(KEY, "Hello", wants_answers=wish)


@pytest.mark.parametrize("ts", [float("nan"), float("inf"), 1e300])
def test_a_reply_without_a_sensible_time_is_kept_nevertheless(outbox: Outbox, ts: float) -> None:
    post_id = sent(outbox)
    assert outbox.offer_reply(reply(reply_to="om_1", ts=ts))
    assert [(answer.text, answer.ts) for answer in outbox.answers(post_id)] == [("Yes", 0)]


def test_an_answer_to_a_post_that_is_erased_meanwhile_is_none(outbox: Outbox) -> None:
    # Both steps of an offer, with the erasing of another process between them.
    post_id = sent(outbox)
    said, pressed = offers.of_reply(reply(reply_to="om_1"), None), offers.of_action(Action("om_1", {"ok": 1}), 1)
    for offer in (said, pressed):
        assert offer is not None
        assert outbox._database.read(lambda db, offer=offer: replies.is_wanted(db, offer), False)
    outbox.forget(session_key=KEY)
    assert [outbox._database.write(lambda db, offer=offer: replies.keep(db, offer)) for offer in (said, pressed)] == [
        False,
        False,
    ]
    assert outbox.answers(post_id) == []


def test_a_post_is_queued_and_given_to_one_that_sits_in_the_chat(outbox: Outbox) -> None:
    post_id = outbox.post(KEY, "Build 7 is done.", reply_to="om_0")
    status = outbox.status(post_id)
    assert (status.state, status.session_key, status.attempts, status.message_id) == ("queued", KEY, 0, None)
    assert outbox.take("one", [OTHER]) is None
    job = taken(outbox)
    assert (job.id, job.session_key, job.content, job.card, job.reply_to) == (
        post_id, KEY, "Build 7 is done.", None, "om_0",
    )  # fmt: skip
    assert 0 < len(job.uuid) <= 50


def test_what_is_sent_has_a_message_id(outbox: Outbox, make_outbox: MakeOutbox) -> None:
    post_id = sent(outbox, "om_1")
    status = make_outbox().status(post_id)
    assert (status.state, status.message_id, status.error) == ("sent", "om_1", None)
    assert outbox.take("one", [KEY]) is None


def test_a_card_comes_out_as_it_went_in(outbox: Outbox) -> None:
    card = {"elements": [{"tag": "button", "text": "好的 \ud83d"}], "schema": "2.0", "n": 1.5, "b": None}
    outbox.post(KEY, card=card)
    assert taken(outbox).card == card


def test_the_same_key_is_the_same_post(outbox: Outbox, make_outbox: MakeOutbox) -> None:
    first = outbox.post(KEY, "text", idempotency_key="build 7")
    assert make_outbox().post(KEY, "text", idempotency_key="build 7") == first
    outbox.sent(taken(outbox), "om_1")
    assert outbox.post(KEY, "text", idempotency_key="build 7") == first
    assert outbox.take("one", [KEY]) is None


@pytest.mark.parametrize(
    "other",
    [
        {"content": "other"},
        {"session_key": OTHER},
        {"agent": "Beta"},
        {"card": {"a": 1}},
        {"reply_to": "om_1"},
        {"wants_answers": False},
    ],
)
def test_the_same_key_with_other_content_is_refused(outbox: Outbox, other: dict[str, Any]) -> None:
    post: dict[str, Any] = {"session_key": KEY, "content": "text", "idempotency_key": "k"}
    outbox.post(**post)
    with pytest.raises(PostConflictError) as caught:
        outbox.post(**post | other)
    assert caught.value.hint


def test_without_a_key_every_post_is_its_own(outbox: Outbox) -> None:
    assert outbox.post(KEY, "text") != outbox.post(KEY, "text")


def test_uuids_survive_a_lost_database(outbox: Outbox, tmp_path: Path) -> None:
    outbox.post(KEY, "text", idempotency_key="k")
    elsewhere = Outbox(tmp_path / "elsewhere")
    elsewhere.post(KEY, "text", idempotency_key="k")
    assert taken(outbox).uuid == taken(elsewhere).uuid
    elsewhere.close()


circle: dict[str, Any] = {}
circle["self"] = circle


@pytest.mark.parametrize(
    "wrong",
    [
        {"content": None},
        {"content": ""},
        {"content": "  \n"},
        {"content": 7},
        {"content": "x" * 150_001},
        {"session_key": ""},
        {"session_key": None},
        {"agent": ""},
        {"agent": 7},
        {"reply_to": ""},
        {"idempotency_key": ""},
        {"idempotency_key": 7},
        {"card": {}},
        {"card": []},
        {"card": {"x": float("nan")}},
        {"card": {"x": object()}},
        {"card": circle},
        {"card": {"x": "y" * 100_000}},
    ],
)
def test_what_cannot_be_posted_is_refused(outbox: Outbox, base_dir: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidPostError):
        outbox.post(**{"session_key": KEY, "content": "text"} | wrong)
    assert not base_dir.exists()


def test_odd_text_is_posted(outbox: Outbox) -> None:
    outbox.post("\ud83d\0", "a\0b \ud83d \u2028", idempotency_key="\ud83d", agent="\ud83d")
    job = outbox.take("\ud83d", ["\ud83d\0"], "\ufffd")
    assert job is not None
    assert job.content == "a\ufffdb \ufffd \u2028"


def test_an_unknown_post_is_said_to_be_unknown(outbox: Outbox, base_dir: Path) -> None:
    for post_id in ("nonsense", "", "\ud83d"):
        with pytest.raises(UnknownPostError):
            outbox.status(post_id)
    assert not base_dir.exists()


# -- taking


def test_a_post_is_with_one_taker_at_a_time(outbox: Outbox, make_outbox: MakeOutbox) -> None:
    outbox.post(KEY, "text")
    taken(outbox)
    assert make_outbox().take("two", [KEY]) is None


def test_the_posts_of_a_chat_go_out_one_after_the_other(outbox: Outbox, clock: Any) -> None:
    for text in ("one", "two", "three"):
        outbox.post(KEY, text)
    first = taken(outbox)
    assert outbox.take("two", [KEY]) is None
    outbox.failed(first, "busy", retry_after=5)
    assert outbox.take("two", [KEY]) is None
    clock.now += 6
    said = []
    while (job := outbox.take("two", [KEY])) is not None:
        said.append(job.content)
        outbox.sent(job, f"om_{len(said)}")
    assert said == ["one", "two", "three"]


def test_chats_do_not_wait_for_each_other(outbox: Outbox) -> None:
    outbox.post(KEY, "one")
    outbox.post(OTHER, "two")
    assert taken(outbox).content == "one"
    assert taken(outbox).content == "two"


def test_a_post_for_one_agent_is_for_nobody_else_and_in_nobodys_way(outbox: Outbox) -> None:
    outbox.post(KEY, "as Beta", agent="Beta")
    outbox.post(KEY, "as anybody")
    assert taken(outbox, "Alpha").content == "as anybody"
    assert outbox.take("one", [KEY], "Alpha") is None
    assert taken(outbox, "Beta").content == "as Beta"


def test_waiting_names_the_chats_that_have_something(outbox: Outbox, clock: Any) -> None:
    assert outbox.waiting("Alpha") == []
    outbox.post(KEY, "text")
    outbox.post(OTHER, "text", agent="Beta")
    assert outbox.waiting("Alpha") == [KEY]
    assert outbox.waiting("Beta") == [KEY, OTHER]
    taken(outbox)
    assert outbox.waiting() == []
    clock.now += 61
    assert outbox.waiting() == [KEY]


def test_a_taker_that_died_is_succeeded_under_the_same_uuid(outbox: Outbox, clock: Any) -> None:
    outbox.post(KEY, "text")
    first = taken(outbox)
    clock.now += 61
    second = taken(outbox, holder="two")
    assert (second.id, second.uuid, second.attempt) == (first.id, first.uuid, 2)


def test_a_late_confirmation_counts(outbox: Outbox, clock: Any) -> None:
    post_id = outbox.post(KEY, "text")
    first = taken(outbox)
    clock.now += 61
    second = taken(outbox, holder="two")
    outbox.sent(first, "om_1")
    outbox.failed(second, "too late", None)
    assert outbox.status(post_id).state == "sent"


def test_a_late_failure_does_not_take_the_job_from_the_successor(outbox: Outbox, clock: Any) -> None:
    post_id = outbox.post(KEY, "text")
    first = taken(outbox)
    clock.now += 61
    taken(outbox, holder="two")
    outbox.failed(first, "gave up", None)
    assert outbox.status(post_id).state == "queued"
    assert outbox.take("three", [KEY]) is None


def test_a_failure_is_tried_again_when_told_so(outbox: Outbox, clock: Any) -> None:
    post_id = outbox.post(KEY, "text")
    outbox.failed(taken(outbox), "rate limit", retry_after=10)
    assert outbox.take("one", [KEY]) is None
    assert outbox.status(post_id).error == "rate limit"
    clock.now += 11
    outbox.failed(taken(outbox), "bad card", None)
    status = outbox.status(post_id)
    assert (status.state, status.error, status.attempts) == ("failed", "bad card", 2)


def test_attempts_come_to_an_end(outbox: Outbox, clock: Any) -> None:
    post_id = outbox.post(KEY, "text")
    for _ in range(8):
        outbox.failed(taken(outbox), "busy", retry_after=1)
        clock.now += 2
    assert outbox.take("one", [KEY]) is None
    assert outbox.status(post_id).state == "failed"


def test_takers_that_die_again_and_again_come_to_an_end(make_outbox: MakeOutbox, clock: Any) -> None:
    outbox = make_outbox(max_attempts=3)
    post_id = outbox.post(KEY, "text")
    for _ in range(3):
        taken(outbox)
        clock.now += 61
    assert outbox.take("one", [KEY]) is None
    status = outbox.status(post_id)
    assert status.state == "failed"
    assert status.error


def test_what_may_have_arrived_is_not_sent_when_the_platform_has_forgotten_it(outbox: Outbox, clock: Any) -> None:
    """Feishu leaves a second send under one uuid out for an hour, and no longer."""
    post_id = outbox.post(KEY, "text")
    taken(outbox)
    clock.now += 3601
    assert outbox.take("two", [KEY]) is None
    status = outbox.status(post_id)
    assert (status.state, "arrived" in str(status.error)) == ("failed", True)


def test_what_surely_did_not_arrive_is_sent_hours_later(outbox: Outbox, clock: Any) -> None:
    outbox.post(KEY, "text")
    outbox.failed(taken(outbox), "no scope", retry_after=10)
    clock.now += 7200
    assert taken(outbox).content == "text"


def test_a_doubtful_failure_stays_in_doubt(outbox: Outbox, clock: Any) -> None:
    post_id = outbox.post(KEY, "text")
    outbox.failed(taken(outbox), "timeout", retry_after=10, doubtful=True)
    clock.now += 3601
    assert outbox.take("two", [KEY]) is None
    assert outbox.status(post_id).state == "failed"


def test_a_post_that_nobody_sends_expires(outbox: Outbox, clock: Any) -> None:
    post_id = outbox.post(KEY, "text", expires_in=100)
    clock.now += 101
    assert outbox.status(post_id).state == "expired"
    assert outbox.take("one", [KEY]) is None
    assert outbox.status(post_id).state == "expired"


def test_an_expired_post_lets_the_next_one_pass(outbox: Outbox, clock: Any) -> None:
    outbox.post(KEY, "old", expires_in=100)
    outbox.post(KEY, "new")
    clock.now += 101
    assert taken(outbox).content == "new"


def test_a_post_that_is_being_sent_does_not_expire_meanwhile(outbox: Outbox, clock: Any) -> None:
    post_id = outbox.post(KEY, "text", expires_in=10)
    job = taken(outbox)
    clock.now += 11
    assert outbox.status(post_id).state == "queued"
    outbox.sent(job, "om_1")
    assert outbox.status(post_id).state == "sent"


def test_what_ended_long_ago_is_removed_with_its_answers(outbox: Outbox, clock: Any) -> None:
    assert outbox.clean() == 0
    old = sent(outbox, "om_1")
    assert outbox.offer_reply(reply(reply_to="om_1"))
    clock.now += 6 * 86_400
    young = sent(outbox, "om_2")
    queued = outbox.post(KEY, "text", expires_in=1e9)
    clock.now += 2 * 86_400
    assert outbox.clean() == 1
    with pytest.raises(UnknownPostError):
        outbox.status(old)
    assert outbox.answers(old) == []
    assert not outbox.offer_reply(reply("om_10", reply_to="om_1"))
    assert [outbox.status(post_id).state for post_id in (young, queued)] == ["sent", "queued"]


def test_a_post_that_people_may_still_answer_is_not_removed(outbox: Outbox, clock: Any) -> None:
    post_id = sent(outbox, "om_1", expires_in=30 * 86_400)
    answered = sent(outbox, "om_2", expires_in=30 * 86_400)
    outbox.close_answers(answered)
    clock.now += 8 * 86_400
    assert outbox.clean() == 1
    assert outbox.offer_reply(reply(reply_to="om_1"))
    assert len(outbox.answers(post_id)) == 1
    clock.now += 23 * 86_400
    assert outbox.clean() == 1
    assert outbox.answers(post_id) == []


def test_two_messages_for_one_post_are_told_and_both_can_be_answered(
    outbox: Outbox, caplog: pytest.LogCaptureFixture, clock: Any
) -> None:
    post_id = outbox.post(KEY, "text")
    first = taken(outbox)
    clock.now += 61
    second = taken(outbox, holder="two")
    outbox.sent(first, "om_1")
    outbox.sent(second, "om_2")
    assert outbox.status(post_id).message_id == "om_1"
    assert "was sent twice" in caplog.text
    assert outbox.offer_reply(reply(reply_to="om_2"))


@in_a_file
def test_a_chat_is_erased_from_the_disk(outbox: Outbox, base_dir: Path) -> None:
    assert outbox.forget(session_key=KEY) == 0
    sent(outbox, "om_1")
    outbox.offer_reply({**reply(reply_to="om_1"), "content": "a secret word"})
    outbox.post(KEY, "another secret word")
    kept = outbox.post(OTHER, "Stays")
    assert outbox.forget(session_key=KEY) == 2
    outbox.close()
    files = b"".join(path.read_bytes() for path in (base_dir / ".state" / "outbox").iterdir())
    assert b"secret word" not in files
    assert outbox.status(kept).state == "queued"


def test_a_persons_answers_are_erased(outbox: Outbox) -> None:
    post_id = sent(outbox, "om_1")
    outbox.offer_reply(reply(reply_to="om_1"))
    outbox.offer_reply({**reply("om_10", reply_to="om_1"), "sender": "on_bo"})
    assert outbox.forget(sender="on_ada", session_key=OTHER) == 0
    assert outbox.forget(sender="on_ada") == 1
    assert [answer.sender for answer in outbox.answers(post_id)] == ["on_bo"]
    with pytest.raises(InvalidPostError):
        outbox.forget()


# -- answers


@pytest.mark.parametrize("how", ["reply_to", "root_id"])
def test_a_reply_comes_back_as_an_answer(outbox: Outbox, how: str) -> None:
    post_id = sent(outbox, "om_1")
    assert outbox.offer_reply(reply(**{how: "om_1"}))
    (answer,) = outbox.answers(post_id)
    assert (answer.kind, answer.text, answer.sender, answer.sender_name, answer.message_id, answer.ts) == (
        "reply", "Yes", "on_ada", "Ada", "om_9", 1_763_600_001_000,
    )  # fmt: skip


def test_a_reply_that_several_bots_offer_counts_once_and_is_no_turn_for_any(
    outbox: Outbox, make_outbox: MakeOutbox
) -> None:
    post_id = sent(outbox, "om_1")
    assert [bot.offer_reply(reply(reply_to="om_1")) for bot in (outbox, make_outbox(), make_outbox())] == [True] * 3
    assert len(outbox.answers(post_id)) == 1


def test_a_thread_that_grew_out_of_a_post_is_its_own(outbox: Outbox) -> None:
    post_id = sent(outbox, "om_1")
    assert not outbox.offer_reply(reply("om_8", thread_id="omt_1"))
    assert outbox.offer_reply(reply("om_9", root_id="om_1", thread_id="omt_1"))
    assert outbox.offer_reply(reply("om_10", thread_id="omt_1"))
    assert [answer.message_id for answer in outbox.answers(post_id)] == ["om_9", "om_10"]


def test_the_thread_that_the_platform_named_is_the_posts(outbox: Outbox) -> None:
    post_id = outbox.post(KEY, "text")
    outbox.sent(taken(outbox), Receipt("om_1", thread_id="omt_1", message_ids=("om_1", "om_2")))
    assert outbox.offer_reply(reply("om_9", thread_id="omt_1"))
    assert outbox.offer_reply(reply("om_10", reply_to="om_2"))
    assert len(outbox.answers(post_id)) == 2


def test_a_thread_that_was_there_before_the_post_is_not_its_own(outbox: Outbox) -> None:
    outbox.post(KEY, "text", reply_to="om_0")
    outbox.sent(taken(outbox), Receipt("om_1", thread_id="omt_1"))
    assert not outbox.offer_reply(reply("om_9", thread_id="omt_1", root_id="om_0"))
    assert outbox.offer_reply(reply("om_10", thread_id="omt_1", root_id="om_0", reply_to="om_1"))
    assert not outbox.offer_reply(reply("om_11", thread_id="omt_1", root_id="om_0"))


@pytest.mark.parametrize(
    "entry",
    [
        reply(reply_to="om_other"),
        reply(),
        reply(role="assistant", reply_to="om_1"),
        reply(sender_kind="bot", reply_to="om_1"),
        reply("", reply_to="om_1"),
        reply(reply_to=7, root_id=["om_1"], thread_id=None),
    ],
)
def test_other_messages_are_no_answers(outbox: Outbox, entry: Entry) -> None:
    post_id = sent(outbox, "om_1")
    assert not outbox.offer_reply(entry)
    assert outbox.answers(post_id) == []


def test_asking_without_an_outbox_makes_none(outbox: Outbox, base_dir: Path) -> None:
    assert not outbox.offer_reply(reply(reply_to="om_1"))
    assert not outbox.offer_action(Action("om_1", {}))
    assert outbox.answers("x") == []
    assert outbox.waiting() == []
    assert not base_dir.exists()


def test_a_post_that_wants_no_answers_leaves_replies_to_the_agents(outbox: Outbox) -> None:
    sent(outbox, "om_1", wants_answers=False)
    assert not outbox.offer_reply(reply(reply_to="om_1"))


def test_after_enough_answers_replies_are_for_the_agents_again(outbox: Outbox) -> None:
    post_id = sent(outbox, "om_1")
    assert outbox.offer_reply(reply(reply_to="om_1"))
    outbox.close_answers(post_id)
    assert not outbox.offer_reply(reply("om_10", reply_to="om_1"))
    assert len(outbox.answers(post_id)) == 1


def test_the_posts_that_want_answers_are_listed(outbox: Outbox) -> None:
    assert outbox.open_posts() == []
    ids = [sent(outbox, "om_1"), sent(outbox, "om_2"), outbox.post(KEY, "queued")]
    outbox.post(KEY, "no answers, please", wants_answers=False)
    outbox.close_answers(ids[1])
    assert [post.id for post in outbox.open_posts()] == [ids[0], ids[2]]
    assert outbox.open_posts() == [outbox.status(ids[0]), outbox.status(ids[2])]


def test_a_pressed_button_comes_back_once(outbox: Outbox, make_outbox: MakeOutbox) -> None:
    post_id = sent(outbox, "om_1")
    pressed = Action("om_1", {"choice": "ship \ud83d"}, "on_ada", "Ada", form={"why": "tests are green"})
    assert outbox.offer_action(pressed)
    assert make_outbox().offer_action(pressed)
    assert outbox.offer_action(Action("om_1", {"choice": "wait"}, "on_ada"))
    assert outbox.offer_action(Action("om_1", {"choice": "wait"}, "on_bo"))
    assert not outbox.offer_action(Action("om_other", {"choice": "ship"}))
    first, second, third = outbox.answers(post_id)
    assert (first.kind, first.value, first.form, first.sender, first.message_id) == (
        "action", {"choice": "ship \ud83d"}, {"why": "tests are green"}, "on_ada", "om_1",
    )  # fmt: skip
    assert [answer.sender for answer in (second, third)] == ["on_ada", "on_bo"]


def test_presses_with_ids_of_their_own_count_each(outbox: Outbox) -> None:
    post_id = sent(outbox, "om_1")
    for action_id in ("a", "a", "b"):
        assert outbox.offer_action(Action("om_1", {"vote": 1}, "on_ada", action_id=action_id))
    assert len(outbox.answers(post_id)) == 2


@pytest.mark.parametrize("value", [{"x": "y" * 200_000}, {"x": object()}, {"x": float("nan")}])
def test_an_odd_press_is_kept_as_far_as_possible(outbox: Outbox, value: dict[str, Any]) -> None:
    post_id = sent(outbox, "om_1")
    assert outbox.offer_action(Action("om_1", value))
    assert len(outbox.answers(post_id)) == 1


def test_answers_go_on_behind_a_number(outbox: Outbox) -> None:
    post_id = sent(outbox, "om_1")
    for number in range(3):
        outbox.offer_reply(reply(f"om_r{number}", reply_to="om_1"))
    first, *rest = outbox.answers(post_id)
    assert outbox.answers(post_id, after=first.seq) == rest


async def test_waiting_ends_with_the_send_and_with_the_answer(outbox: Outbox) -> None:
    post_id = outbox.post(KEY, "text")
    waiting = asyncio.create_task(outbox.wait_sent(post_id, PATIENCE))
    answered = asyncio.create_task(outbox.wait_answer(post_id, PATIENCE))
    outbox.sent(taken(outbox), "om_1")
    outbox.offer_reply(reply(reply_to="om_1"))
    async with asyncio.timeout(PATIENCE):
        assert (await waiting).state == "sent"
        answer = await answered
    assert answer is not None
    assert answer.text == "Yes"


async def test_waiting_is_bounded(outbox: Outbox) -> None:
    post_id = outbox.post(KEY, "text")
    assert (await outbox.wait_sent(post_id, 0)).state == "queued"
    assert await outbox.wait_answer(post_id, 0) is None
