"""Answers that come before anybody has noted where their post stands."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from unit.outbox.conftest import in_a_file

from nanobot_transcript.entry import Entry
from nanobot_transcript.outbox import Action, Job, Outbox, Receipt

KEY = "feishu:oc_1"
OTHER = "feishu:oc_2"
MakeOutbox = Callable[..., Outbox]


def under_way(outbox: Outbox, key: str = KEY, **fields: Any) -> Job:
    """A post that a bot has taken; it may stand in the chat already."""
    outbox.post(key, "Ship it?", **fields)
    job = outbox.take("one", [key])
    assert job is not None
    return job


def reply(message_id: str = "om_9", role: str = "user", **fields: Any) -> Entry:
    entry: Any = {"role": role, "content": "Yes", "sender": "on_ada", "message_id": message_id, "ts": 1_763_600_001_000}
    return {**entry, "sender_name": "Ada", **fields}


def press(message_id: str = "om_1", **fields: Any) -> Action:
    return Action(message_id, {"ok": 1}, "on_ada", "Ada", **fields)


def kept(outbox: Outbox) -> int:
    """How many early answers lie on the disk."""
    return outbox._database.read(lambda db: db.execute("SELECT count(*) FROM early").fetchone()[0], 0)


def told(outbox: Outbox, job: Job) -> list[str]:
    return [answer.message_id for answer in outbox.answers(job.id)]


def test_a_press_that_comes_first_is_kept_for_whoever_asked_and_the_bots_may_have_it_too(
    outbox: Outbox, clock: Any, base_dir: Path
) -> None:
    job = under_way(outbox)
    assert not outbox.offer_action(press(form={"why": "green"}))
    assert outbox.answers(job.id) == []
    pressed_ms = int(clock.now * 1000)
    clock.now += 3
    outbox.sent(job, "om_1")
    (answer,) = outbox.answers(job.id)
    assert (answer.kind, answer.value, answer.form) == ("action", {"ok": 1}, {"why": "green"})
    assert (answer.sender, answer.sender_name, answer.message_id, answer.ts) == ("on_ada", "Ada", "om_1", pressed_ms)
    assert kept(outbox) == 0


@pytest.mark.parametrize("how", ["reply_to", "root_id"])
@pytest.mark.parametrize("message_id", ["om_1", "om_2"])
def test_a_reply_that_comes_first_is_kept(outbox: Outbox, how: str, message_id: str) -> None:
    job = under_way(outbox)
    assert not outbox.offer_reply(reply(**{how: message_id}))
    outbox.sent(job, Receipt("om_1", message_ids=("om_1", "om_2")))
    (answer,) = outbox.answers(job.id)
    assert (answer.kind, answer.text, answer.sender, answer.message_id, answer.ts) == (
        "reply", "Yes", "on_ada", "om_9", 1_763_600_001_000,
    )  # fmt: skip


def test_a_reply_in_the_thread_that_the_platform_names_later_is_kept(outbox: Outbox) -> None:
    job = under_way(outbox)
    assert not outbox.offer_reply(reply(thread_id="omt_1"))
    outbox.sent(job, Receipt("om_1", thread_id="omt_1"))
    assert told(outbox, job) == ["om_9"]


def test_what_is_said_in_a_thread_that_grew_meanwhile_stays_in_order(outbox: Outbox) -> None:
    job = under_way(outbox)
    outbox.offer_reply(reply("om_2", thread_id="omt_1"))
    outbox.offer_reply(reply("om_3", root_id="om_1", thread_id="omt_1"))
    outbox.offer_action(press())
    outbox.offer_reply(reply("om_4", reply_to="om_1"))
    outbox.offer_reply(reply("om_5", reply_to="om_of_somebody"))
    outbox.sent(job, "om_1")
    assert outbox.offer_reply(reply("om_6", thread_id="omt_1"))
    assert told(outbox, job) == ["om_2", "om_3", "om_1", "om_4", "om_6"]


def test_a_thread_that_was_there_before_the_post_is_not_its_own(outbox: Outbox) -> None:
    job = under_way(outbox, reply_to="om_0")
    outbox.offer_reply(reply("om_8", thread_id="omt_1", root_id="om_0"))
    outbox.offer_reply(reply("om_9", thread_id="omt_1", root_id="om_0", reply_to="om_1"))
    outbox.sent(job, Receipt("om_1", thread_id="omt_1"))
    assert told(outbox, job) == ["om_9"]


def test_a_direct_reply_to_a_post_in_the_thread_of_another_one_is_for_both(outbox: Outbox) -> None:
    first = under_way(outbox)
    outbox.sent(first, "om_1")
    second = under_way(outbox, reply_to="om_1")
    assert outbox.offer_reply(reply("om_8", root_id="om_1", thread_id="omt_1", reply_to="om_2"))
    assert outbox.offer_reply(reply("om_9", root_id="om_1", thread_id="omt_1", reply_to="om_1"))
    outbox.sent(second, "om_2")
    assert (told(outbox, first), told(outbox, second)) == (["om_8", "om_9"], ["om_8"])


def test_what_several_bots_offer_early_and_late_counts_once(outbox: Outbox, make_outbox: MakeOutbox) -> None:
    job = under_way(outbox)
    bots = (outbox, make_outbox(), make_outbox())
    for bot in bots:
        assert not bot.offer_reply(reply(reply_to="om_1"))
        assert not bot.offer_action(press(action_id="a"))
    outbox.sent(job, "om_1")
    for bot in bots:
        assert bot.offer_reply(reply(reply_to="om_1"))
        assert bot.offer_action(press(action_id="a"))
    assert told(outbox, job) == ["om_9", "om_1"]


def test_an_answer_before_the_second_attempt_of_a_killed_sender_is_kept(outbox: Outbox, clock: Any) -> None:
    job = under_way(outbox)
    clock.now += 30
    outbox.offer_action(press())
    clock.now += 1000
    outbox.offer_reply(reply(reply_to="om_1"))
    again = outbox.take("two", [KEY])
    assert again is not None
    outbox.sent(again, "om_1")
    assert told(outbox, job) == ["om_1", "om_9"]


def test_a_second_attempt_that_is_refused_for_now_says_nothing_about_the_first(outbox: Outbox, clock: Any) -> None:
    """It may stand in the chat: what comes is kept, and after an hour it is not sent a second time."""
    job = under_way(outbox)
    clock.now += 61
    again = outbox.take("two", [KEY])
    assert again is not None
    outbox.failed(again, "rate limit", retry_after=10)
    outbox.offer_action(press())
    clock.now += 20
    third = outbox.take("two", [KEY])
    assert third is not None
    outbox.failed(third, "rate limit", retry_after=10)
    clock.now += 3600
    assert outbox.take("two", [KEY]) is None
    assert outbox.status(job.id).state == "failed"
    outbox.sent(third, "om_1")  # it did stand there, somebody found out
    assert outbox.status(job.id).state == "sent"


@pytest.mark.parametrize("fields", [{"role": "assistant"}, {"sender_kind": "bot"}, {"reply_to": None}, {"reply_to": 7}])
def test_what_can_be_no_answer_is_not_kept(outbox: Outbox, base_dir: Path, fields: dict[str, Any]) -> None:
    under_way(outbox)
    assert not outbox.offer_reply(reply(**{"reply_to": "om_1", **fields}))
    assert not outbox.offer_action(press(""))
    assert kept(outbox) == 0


def test_nothing_is_kept_where_no_post_is_under_way(outbox: Outbox, base_dir: Path) -> None:
    def offer() -> None:
        assert not outbox.offer_action(press("om_1"))
        assert not outbox.offer_reply(reply(reply_to="om_1"))
        assert kept(outbox) == 0

    waiting = outbox.post(KEY, "not taken yet")
    offer()
    job = outbox.take("one", [KEY])
    assert job is not None
    outbox.sent(job, "om_2")
    offer()
    assert under_way(outbox, wants_answers=False)
    offer()
    assert outbox.answers(waiting) == []


def test_only_what_is_said_in_the_chat_of_a_post_under_way_is_kept(outbox: Outbox, base_dir: Path) -> None:
    job = under_way(outbox)
    outbox.offer_reply(reply("om_7", reply_to="om_1"), OTHER)
    outbox.offer_action(press(session_key=OTHER))
    assert kept(outbox) == 0
    outbox.offer_reply(reply("om_8", reply_to="om_1"), KEY)
    outbox.offer_action(press(session_key=KEY))
    outbox.offer_reply(reply("om_9", reply_to="om_1"))  # nobody knows where
    outbox.sent(job, "om_1")
    assert told(outbox, job) == ["om_8", "om_1", "om_9"]


def ends(outbox: Outbox, clock: Any, job: Job, how: str) -> None:
    if how == "sent":
        outbox.sent(job, "om_2")
    elif how == "refused":
        outbox.failed(job, "no", None)
    elif how == "surely not there":
        outbox.failed(job, "later", retry_after=5)
    elif how == "answered elsewhere":
        outbox.close_answers(job.id)
    elif how == "nobody knows":
        clock.now += 3601
        outbox.clean()
    elif how == "nobody knows, said at the next look":
        clock.now += 3601
        outbox.take("one", [OTHER])
    else:
        outbox.forget(session_key=KEY)


@pytest.mark.parametrize("chat", [KEY, None])
@pytest.mark.parametrize(
    "how",
    [
        *("sent", "refused", "surely not there", "answered elsewhere", "nobody knows", "erased"),
        "nobody knows, said at the next look",
    ],
)
def test_nothing_stays_when_no_post_is_under_way_any_more(
    outbox: Outbox, clock: Any, base_dir: Path, how: str, chat: str | None
) -> None:
    job = under_way(outbox)
    outbox.offer_reply(reply(reply_to="om_1"), chat)
    assert kept(outbox) == 1
    ends(outbox, clock, job, how)
    assert kept(outbox) == 0


def test_a_post_that_ends_takes_nothing_from_another_one(outbox: Outbox) -> None:
    first, second = under_way(outbox), under_way(outbox, OTHER)
    outbox.offer_reply(reply("om_8", reply_to="om_2"), OTHER)
    outbox.offer_reply(reply("om_9", reply_to="om_2"))
    outbox.sent(first, "om_1")
    outbox.sent(second, "om_2")
    assert (told(outbox, first), told(outbox, second)) == ([], ["om_8", "om_9"])


def test_a_post_that_has_had_enough_answers_gets_no_early_ones(outbox: Outbox, base_dir: Path) -> None:
    job, other = under_way(outbox), under_way(outbox, OTHER)
    outbox.offer_action(press())
    outbox.close_answers(job.id)
    outbox.sent(job, "om_1")
    assert outbox.answers(job.id) == []
    outbox.sent(other, "om_2")
    assert kept(outbox) == 0


def test_a_post_that_is_noted_between_the_two_steps_of_an_offer_gets_the_answer(outbox: Outbox) -> None:
    from nanobot_transcript.outbox import offers, replies

    job = under_way(outbox)
    offer = offers.of_action(press(), 1)
    assert offer is not None
    assert outbox._database.read(lambda db: replies.is_wanted(db, offer), False)
    outbox.sent(job, "om_1")
    assert outbox._database.write(lambda db: replies.keep(db, offer))
    assert told(outbox, job) == ["om_1"]


@in_a_file
@pytest.mark.parametrize("chat", [KEY, None])
@pytest.mark.parametrize(
    "erase", [{"sender": "on_ada"}, {"session_key": KEY}, {"sender": "on_ada", "session_key": KEY}]
)
def test_an_early_answer_is_erased_from_the_disk(
    outbox: Outbox, base_dir: Path, chat: str | None, erase: dict[str, str]
) -> None:
    under_way(outbox)
    other = under_way(outbox, OTHER)
    outbox.offer_reply(reply(reply_to="om_1", content="a secret word"), chat)
    outbox.offer_reply(reply("om_10", reply_to="om_2", sender="on_bo"), OTHER)
    assert outbox.forget(**erase) == 1
    outbox.close()
    files = b"".join(path.read_bytes() for path in (base_dir / ".state" / "outbox").iterdir())
    assert b"secret word" not in files
    assert kept(outbox) == 1
    outbox.sent(other, "om_2")
    assert told(outbox, other) == ["om_10"]


@in_a_file
def test_what_was_kept_early_and_not_needed_is_gone_after_the_erasing(outbox: Outbox, base_dir: Path) -> None:
    job = under_way(outbox)
    outbox.offer_reply(reply(reply_to="om_7", content="a secret word"))
    outbox.sent(job, "om_1")
    outbox.forget(sender="on_ada")
    outbox.close()
    files = b"".join(path.read_bytes() for path in (base_dir / ".state" / "outbox").iterdir())
    assert b"secret word" not in files


def test_a_person_is_erased_in_one_chat_alone(outbox: Outbox) -> None:
    job, other = under_way(outbox), under_way(outbox, OTHER)
    outbox.offer_reply(reply("om_8", reply_to="om_1"), KEY)
    outbox.offer_reply(reply("om_9", reply_to="om_2"), OTHER)
    assert outbox.forget(sender="on_ada", session_key=KEY) == 1
    outbox.sent(job, "om_1")
    outbox.sent(other, "om_2")
    assert (told(outbox, job), told(outbox, other)) == ([], ["om_9"])


def test_a_flood_while_a_post_is_under_way_is_kept_up_to_a_bound(
    outbox: Outbox, base_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    job, other = under_way(outbox), under_way(outbox, OTHER)
    outbox.offer_action(press(session_key=KEY))
    for number in range(210):
        outbox.offer_reply(reply(f"om_r{number}", reply_to="om_x"), KEY)
    assert kept(outbox) == 200
    assert "om_r209" in caplog.text
    outbox.offer_action(press("om_2", session_key=OTHER))
    outbox.sent(job, "om_1")
    outbox.sent(other, "om_2")
    assert (told(outbox, job), told(outbox, other)) == (["om_1"], ["om_2"])
