"""What was decided, noted by one process and read by all."""

import time
from typing import Any

from contract.conftest import MakeRecord

from nanobot_transcript.relevance import Decision, Reason, Stage
from nanobot_transcript.relevance.decision import later

KEY = "feishu:oc_1"


def decision(message_id: str, agent: str = "Alpha", *, respond: bool = True) -> Decision:
    return Decision(respond, Reason.NAMED, 0.75, Stage.CERTAIN, agent=agent, message_id=message_id)


def test_what_is_noted_is_read_in_order_by_everybody(make_record: MakeRecord) -> None:
    alpha, beta = make_record().decisions, make_record().decisions
    assert alpha.read(KEY) == []
    for number in range(3):
        assert alpha.write(KEY, decision(f"om_{number}"), 1000 + number)
    alpha.read(KEY)
    assert beta.write(KEY, decision("om_1", "Beta", respond=False), 2000)
    beta.read(KEY)
    found = [(one["message_id"], one["agent"], one["respond"], one["ts"]) for one in make_record().decisions.read(KEY)]
    assert found == [
        ("om_0", "Alpha", True, 1000),
        ("om_1", "Alpha", True, 1001),
        ("om_2", "Alpha", True, 1002),
        ("om_1", "Beta", False, 2000),
    ]
    assert [one["agent"] for one in alpha.read(KEY, "om_1")] == ["Alpha", "Beta"]
    assert alpha.read("feishu:oc_2") == []


def test_a_chat_has_another_edition_after_each_note_and_the_same_until_then(make_record: MakeRecord) -> None:
    writer, reader = make_record().decisions, make_record().decisions
    seen = [reader.editions([KEY, "feishu:oc_2"])]
    for number in range(2):
        writer.write(KEY, decision(f"om_{number}"))
        writer.read(KEY)
        seen.append(reader.editions([KEY, "feishu:oc_2"]))
        assert reader.editions([KEY, "feishu:oc_2"]) == seen[-1]
    assert len({repr(each[KEY]) for each in seen}) == 3
    assert len({repr(each["feishu:oc_2"]) for each in seen}) == 1


def test_what_became_of_answers_is_found_in_all_chats(make_record: MakeRecord) -> None:
    writer = make_record().decisions
    now = int(time.time() * 1000) - 1000
    for number, key in enumerate((KEY, "feishu:oc_2", KEY)):
        message: Any = {"message_id": f"om_{number}"}
        writer.write(key, decision(f"om_{number}"), now + number)
        writer.write(key, later("failed", key, message, "Alpha", why="no model"), now + number)
    writer.read(KEY)
    found = make_record().decisions.outcomes(now + 1)
    assert [(one["chat"], one["message_id"], one["why"]) for one in found] == [
        ("feishu:oc_2", "om_1", "no model"),
        (KEY, "om_2", "no model"),
    ]


def test_what_the_judge_was_asked_is_found_in_all_chats(make_record: MakeRecord) -> None:
    writer = make_record().decisions
    now = int(time.time() * 1000) - 1000
    for number, key in enumerate((KEY, "feishu:oc_2", KEY)):
        late = Decision(True, Reason.JUDGE_TIMEOUT, 0.5, Stage.JUDGE, "Alpha", f"om_{number}")
        writer.write(key, late, now + number)
        message: Any = {"message_id": f"om_{number}"}
        writer.write(key, later("answered", key, message, "Alpha"), now + number)
    writer.read(KEY)
    found = make_record().decisions.judged(now + 1)
    assert [(one["chat"], one["message_id"], one["reason"]) for one in found] == [
        ("feishu:oc_2", "om_1", "judge_timeout"),
        (KEY, "om_2", "judge_timeout"),
    ]


def test_any_session_key_and_id_can_be_noted(make_record: MakeRecord) -> None:
    decisions = make_record().decisions
    for key in ("", "../x", "a\0b", "发布" * 200):
        decisions.write(key, decision("om_\n"))
        assert [one["message_id"] for one in decisions.read(key)] == ["om_\n"]


def test_the_newest_thousand_are_there_however_many_are_noted(make_record: MakeRecord) -> None:
    """Looked at often enough to see what has just been full."""
    writer, reader = make_record().decisions, make_record().decisions
    name = "A" * 500  # a log is full the sooner
    for number in range(3000):
        assert writer.write(KEY, decision(f"om_{number}", name), number)
        if number % 250 == 249:
            newest = [f"om_{noted}" for noted in range(max(0, number - 999), number + 1)]
            writer.read(KEY)
            assert [one["message_id"] for one in reader.read(KEY)][-1000:] == newest
