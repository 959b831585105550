"""Answers to posts of the outbox: kept before the platform is acknowledged, and no turn."""

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from support.stub_nanobot import group_event, sdk_object
from support.waiting import until

from nanobot_transcript.errors import StoreBusyError, StoreError
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.outbox import Outbox, Receipt
from transcript_channels.feishu.channel import FeishuChannel
from transcript_channels.feishu.client import FeishuClient
from transcript_channels.nanobot_host.channel_tasks import FeishuSpeaker
from transcript_channels.nanobot_host.host import Host
from transcript_channels.simulator import FeishuSimulator

KEY = "feishu:oc_1"
PRESS = {
    "header": {"event_id": "e1", "event_type": "card.action.trigger"},
    "event": {
        "operator": {"union_id": "on_ada", "open_id": "ou_ada"},
        "action": {"value": {"choice": "yes"}, "form_value": {"why": "because"}},
        "context": {"open_message_id": "om_post", "open_chat_id": "oc_1"},
    },
}


@pytest.fixture
def posted(host: Host) -> str:
    """A post that stands in the chat as ``om_post`` and wants answers."""
    return post(host)


def post(host: Host) -> str:
    with Outbox(host.record.store.base_dir) as outbox:
        made = outbox.post(KEY, "Ship it?")
        job = outbox.take("somebody", [KEY])
        assert job is not None
        outbox.sent(job, Receipt("om_post"))
    return made


@contextmanager
def writing(host: Host) -> Iterator[None]:
    """Another process is writing to the outbox."""
    database = host.record.store.base_dir / ".state" / "outbox" / "outbox.db"
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


def answers(host: Host, made: str) -> list[tuple[str, str]]:
    with Outbox(host.record.store.base_dir) as outbox:
        return [(answer.kind, answer.text or str(answer.value)) for answer in outbox.answers(made)]


def reply(message_id: str = "om_1", **fields: Any) -> Any:
    return sdk_object(group_event(message_id, "@Alpha yes", parent_id="om_post", root_id="om_post", **fields))


def test_a_reply_to_a_post_is_an_answer_and_no_turn(host: Host, channel: Any, posted: str) -> None:
    channel._on_message_sync(reply())
    channel._on_message_sync(reply())
    assert channel.received == []
    assert answers(host, posted) == [("reply", "@Alpha yes")]
    assert len(host.record.store.recent(KEY, 5).entries) == 1
    assert channel._transcript_bot.turns.session_of("om_1") is None


def test_a_reply_to_anything_else_is_nanobots(host: Host, channel: Any, posted: str) -> None:
    event = sdk_object(group_event("om_1", "@Alpha yes", parent_id="om_else"))
    channel._on_message_sync(event)
    assert channel.received == [event]
    assert answers(host, posted) == []


def test_an_answer_that_cannot_be_kept_is_pushed_again(host: Host, channel: Any, posted: str) -> None:
    database = host.record.store.base_dir / ".state" / "outbox" / "outbox.db"
    kept = database.read_bytes()
    for path in database.parent.iterdir():
        path.unlink()
    database.mkdir()
    with pytest.raises(StoreError):
        channel._on_message_sync(reply())
    assert len(channel.received) == 1  # whatever becomes of the answer, nanobot gets the message
    database.rmdir()
    database.write_bytes(kept)
    channel._on_message_sync(reply())
    assert len(channel.received) == 1
    assert answers(host, posted) == [("reply", "@Alpha yes")]


def test_a_pressed_button_comes_back_once(host: Host, channel: Any, posted: str) -> None:
    builder: list[Any] = []
    channel._register_optional_event(builder, "register_p2_im_message_reaction_created_v1", print)
    channel._register_optional_event(builder, "register_p2_im_message_message_read_v1", print)
    names = [name for name, _ in builder]
    assert names.count("register_p2_card_action_trigger") == 1
    pressed = dict(builder)["register_p2_card_action_trigger"]
    assert pressed(sdk_object(PRESS)) is None
    pressed(sdk_object(PRESS))
    assert answers(host, posted) == [("action", "{'choice': 'yes'}")]


def test_a_nanobot_that_listens_itself_hears_of_the_button_too(host: Host, channel: Any, posted: str) -> None:
    builder: list[Any] = []
    channel._register_optional_event(builder, "register_p2_im_message_message_read_v1", print)
    channel._register_optional_event(builder, "register_p2_card_action_trigger", lambda data: {"toast": data.header})
    names = [name for name, _ in builder]
    assert names.count("register_p2_card_action_trigger") == 1
    assert "toast" in dict(builder)["register_p2_card_action_trigger"](sdk_object(PRESS))
    assert len(answers(host, posted)) == 1


def test_where_the_outbox_is_not_served_replies_are_nanobots(make_host: Any, make_channel: Any) -> None:
    host = make_host(outbox={"serve": False})
    made, channel = post(host), make_channel(host)
    channel._on_message_sync(reply())
    assert len(channel.received) == 1
    assert answers(host, made) == []


@pytest.mark.parametrize("own", [None, lambda data: {"toast": {}}])
def test_where_the_outbox_is_not_served_a_pressed_button_is_nanobots(
    make_host: Any, make_channel: Any, own: Any
) -> None:
    host = make_host(outbox={"serve": False})
    made, channel, builder = post(host), make_channel(host), list[Any]()
    channel._register_optional_event(builder, "register_p2_im_message_message_read_v1", print)
    if own is not None:
        channel._register_optional_event(builder, "register_p2_card_action_trigger", own)
    pressed = dict(builder)["register_p2_card_action_trigger"]
    assert pressed(sdk_object(PRESS)) == (None if own is None else {"toast": {}})
    assert answers(host, made) == []


def test_the_thread_of_the_long_connection_waits_no_longer_than_the_platform_does(
    host: Host, channel: Any, posted: str
) -> None:
    began = time.monotonic()
    with writing(host), pytest.raises(StoreBusyError):
        channel._on_message_sync(reply())
    assert time.monotonic() - began < 3  # then the platform pushes again; the outbox itself would wait for five
    assert len(channel.received) == 1  # whatever becomes of the answer, nanobot gets the message
    channel._on_message_sync(reply())
    assert answers(host, posted) == [("reply", "@Alpha yes")]


async def test_a_long_post_that_breaks_off_is_recorded_as_far_as_the_group_sees_it_and_then_whole(host: Host) -> None:
    text = "\n\n".join(f"{number} " + "x" * 900 for number in range(100))
    calls, enough = iter(range(100)), asyncio.Event()
    async with FeishuSimulator() as feishu:
        app = feishu.add_app("Alpha")
        group = feishu.add_group("Team", [app, feishu.add_person("Ada")])
        key = f"feishu:{group.chat_id}"
        agent = AgentProfile("Alpha", ids=frozenset({"Alpha", app.app_id}), account=app.app_id)

        def content() -> str:
            return "".join(entry["content"] for entry in host.record.store.recent(key, 5).entries)

        async with FeishuClient(app.app_id, app.app_secret, feishu.base_url) as client:
            limited = client.budgeted(lambda: enough.is_set() or next(calls) < 2)
            with Outbox(host.record.store.base_dir) as outbox:
                outbox.post(key, text)
            speaker = FeishuSpeaker(
                agent, FeishuChannel(agent, limited, host.conversation.people), host.outbound.recorder
            )
            assert host.posts is not None
            serving = asyncio.create_task(host.posts.serve(agent.name, speaker, lambda key: True))
            try:
                await until(lambda: content() != "")
                seen = [message.message_id for message in feishu.messages(group)]
                (entry,) = host.record.store.recent(key, 5).entries
                assert entry.get("message_ids") == seen
                assert content() == "\n\n".join(message.text for message in feishu.messages(group))
                enough.set()
                await until(lambda: content() == text)
            finally:
                serving.cancel()
                await asyncio.gather(serving, return_exceptions=True)
        assert "".join(message.text for message in feishu.messages(group)).replace("\n", "") == text.replace("\n", "")
        assert len(host.record.store.recent(key, 5).entries) == 1
