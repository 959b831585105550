"""Events as values."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcript_channels.feishu import message_from_event, recall_from_event, text_of
from transcript_channels.feishu.platform import FEISHU

EVENT: dict[str, Any] = {
    "schema": "2.0",
    "header": {
        "event_id": "e1",
        "event_type": "im.message.receive_v1",
        "app_id": "cli_a",
        "create_time": "1",
    },
    "event": {
        "sender": {
            "sender_id": {"union_id": "on_1", "user_id": None, "open_id": "ou_1"},
            "sender_type": "user",
            "tenant_key": "t",
        },
        "message": {
            "message_id": "om_1",
            "root_id": "om_root",
            "parent_id": "om_parent",
            "thread_id": "omt_1",
            "create_time": "1763640000123",
            "chat_id": "oc_1",
            "chat_type": "group",
            "message_type": "text",
            "content": '{"text": "@_user_1 hello"}',
            "mentions": [
                {"key": "@_user_1", "id": {"open_id": "ou_alpha"}, "name": "Alpha", "mentioned_type": "bot"},
                {"key": "@_user_2", "id": {"open_id": "ou_bo", "union_id": "on_bo"}, "name": " Bo "},
                {"key": "@_user_3", "id": {"open_id": "ou_none"}, "name": ""},
            ],
        },
    },
}


def event(**changes: Any) -> dict[str, Any]:
    fresh = json.loads(json.dumps(EVENT))
    for key, value in changes.items():
        part = "sender" if key in ("sender_id", "sender_type") else "message"
        fresh["event"][part][key] = value
    return fresh


def test_a_message_event_is_read_in_full() -> None:
    message = message_from_event(EVENT)
    assert message is not None
    assert (message.app_id, message.chat_id, message.message_id) == ("cli_a", "oc_1", "om_1")
    assert message.text == "@Alpha hello"
    assert message.ts_ms == 1763640000123
    assert message.sender_ids == {"union_id": "on_1", "open_id": "ou_1"}
    assert [(m.name, m.kind, m.key) for m in message.mentions] == [
        ("Alpha", "bot", "@_user_1"),
        ("Bo", None, "@_user_2"),
    ]
    arrival = message.arrival("cli_a")
    assert (arrival.session_key, arrival.account, arrival.message_id) == ("feishu:oc_1", "cli_a", "om_1")
    assert (arrival.reply_to, arrival.root_id, arrival.thread_id) == ("om_parent", "om_root", "omt_1")
    assert (arrival.source, arrival.from_bot, arrival.msg_type, arrival.pos) == ("event", False, "text", None)


def test_another_bots_card_that_is_still_being_written_is_not_complete() -> None:
    card = {"message_type": "interactive", "content": "{}"}
    for changes, complete in (
        ({}, True),
        ({"sender_type": "bot"}, True),
        ({"sender_type": "bot", **card}, False),
        (card, True),
    ):
        found = message_from_event(event(**changes))
        assert found is not None
        assert found.arrival("cli_a").complete is complete
    assert text_of("interactive", None) == FEISHU.unfinished


@pytest.mark.parametrize(
    ("chat_type", "in_group"), [("group", True), ("topic_group", True), ("p2p", False), ("", False)]
)
def test_only_a_chat_that_is_said_not_to_be_private_is_a_group(chat_type: str, in_group: bool) -> None:
    message = message_from_event(event(chat_type=chat_type))
    assert message is not None
    assert message.in_group is in_group


@pytest.mark.parametrize(
    ("sender_type", "bot"), [("user", False), ("bot", True), ("app", True), ("", False), (None, False)]
)
def test_another_bots_message_is_a_peer_event(sender_type: Any, bot: bool) -> None:
    message = message_from_event(event(sender_type=sender_type))
    assert message is not None
    assert message.from_bot is bot
    assert message.arrival("cli_a").source == ("peer_event" if bot else "event")


def test_a_bot_may_be_named_by_its_app_id() -> None:
    message = message_from_event(event(sender_id="cli_b", sender_type="app"))
    assert message is not None
    assert message.sender_ids == {"app_id": "cli_b"}


@pytest.mark.parametrize(
    ("raw", "ts_ms"),
    [
        ("1763640000", 1763640000000),
        (1763640000123, 1763640000123),
        ("x", None),
        ("nan", None),
        ("-5", None),
        (True, None),
    ],
)
def test_times_are_milliseconds_or_nothing(raw: Any, ts_ms: float | None) -> None:
    message = message_from_event(event(create_time=raw))
    assert message is not None
    assert message.ts_ms == ts_ms


@pytest.mark.parametrize(("raw", "pos"), [("12", 12), (12, 12), ("x", None), (1.5, None), ("-1", None), ("²", None)])
def test_the_position_is_a_whole_number_or_nothing(raw: Any, pos: int | None) -> None:
    message = message_from_event(event(message_position=raw))
    assert message is not None
    assert message.pos == pos


def test_without_chat_or_message_id_there_is_no_message() -> None:
    assert message_from_event(event(chat_id="")) is None
    assert message_from_event(event(message_id=None)) is None


def test_a_recall_is_read() -> None:
    body = {
        "message_id": "om_1",
        "chat_id": "oc_1",
        "recall_time": "1763640000",
        "recall_type": "message_owner",
    }
    recall = recall_from_event({"header": {"app_id": "cli_a"}, "event": body})
    assert recall is not None
    assert (recall.app_id, recall.chat_id, recall.message_id) == ("cli_a", "oc_1", "om_1")
    assert recall.ts_ms == 1763640000000
    assert recall_from_event({"event": {"chat_id": "oc_1"}}) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.data())
def test_no_event_raises(data: st.DataObject) -> None:
    broken = json.loads(json.dumps(EVENT))
    part = data.draw(st.sampled_from([broken, broken["header"], broken["event"], broken["event"]["message"]]))
    part[data.draw(st.sampled_from(sorted(part)))] = data.draw(_JSON)
    message = message_from_event(broken)
    assert message is None or (message.text and message.arrival("cli_a"))
    recall_from_event(broken)
    message_from_event(data.draw(_JSON))
