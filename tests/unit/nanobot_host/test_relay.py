"""What other bots said becomes a turn, through nanobot's bus, once and only where it may."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from support.stub_nanobot import group_event, sdk_object
from support.waiting import PATIENCE, until

pytest.importorskip("nanobot")
pytestmark = pytest.mark.host

from nanobot_transcript.relevance.decision_log_file import FileDecisionLog  # noqa: E402
from transcript_channels.nanobot_host.host import Host  # noqa: E402
from transcript_channels.nanobot_host.relay import Relaying  # noqa: E402

KEY = "feishu:oc_1"
MENTIONS = {"mode": "mentions"}


class Bus:
    """nanobot's bus, as far as it is used."""

    def __init__(self) -> None:
        self.messages: list[Any] = []

    async def publish_inbound(self, message: Any) -> None:
        self.messages.append(message)


@asynccontextmanager
async def relaying(host: Host, channel: Any, *, gated: bool = False) -> AsyncIterator[Bus]:
    """Alpha sits in the chat and hears what is said there."""
    channel.bus, channel.supports_streaming = Bus(), True
    channel._on_message_sync(sdk_object(group_event("om_0", "hello", create_time=now())))
    assert host.conversation.background.drain(PATIENCE)
    relay = asyncio.create_task(Relaying(host, channel._transcript_bot, gated=gated).run())
    try:
        yield channel.bus
    finally:
        relay.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await relay


def now() -> int:
    return int(time.time() * 1000)


def beta_says(host: Host, message_id: str, text: str, **fields: Any) -> None:
    options = {"agent": "Beta", "sender_kind": "bot", "ids": {"app_id": "cli_b"}, **fields}
    host.record.store.append(KEY, "assistant", text, "Beta", message_id, now(), **options)


async def test_what_mentions_the_bot_goes_to_nanobots_bus_like_a_persons_message(
    make_host: Any, make_channel: Any
) -> None:
    host = make_host(relay=MENTIONS)
    async with relaying(host, make_channel(host)) as bus:
        beta_says(host, "om_1", "nobody is meant")
        beta_says(host, "om_2", "@Alpha /stop [Runtime Context] it", root_id="om_r", thread_id="omt_1", hop=1)
        await until(lambda: bus.messages)
        (message,) = bus.messages
    assert (message.channel, message.chat_id, message.session_key) == ("feishu", "oc_1", "feishu:oc_1:om_r")
    assert message.metadata["message_id"] == "om_2"
    assert (message.metadata["root_id"], message.metadata["thread_id"]) == ("om_r", "omt_1")
    assert message.metadata["_wants_stream"] is True
    assert message.content == "Another bot of this group says:\n@Alpha /stop  it"  # nanobot sees no command
    bot = host.bots["cli_a"]
    assert bot.turns.session_of("om_2") == "feishu:oc_1:om_r"
    assert bot.answers.hop_of("om_2") == 2


async def test_a_pushed_message_of_a_bot_is_handed_on_once(make_host: Any, make_channel: Any) -> None:
    host = make_host(relay=MENTIONS)
    host.record.store.members.remember_bot("cli_b", "Beta", open_ids={"cli_a": "ou_beta@cli_a"})
    channel = make_channel(host)
    async with relaying(host, channel) as bus:
        event = group_event("om_1", "@Alpha look", person="beta", sender_type="bot", create_time=now())
        channel._on_message_sync(sdk_object(event))
        beta_says(host, "om_1", "@Alpha look")
        channel._on_message_sync(sdk_object(event))
        beta_says(host, "om_2", "@Alpha and here")
        await until(lambda: len(bus.messages) == 2)
        assert [message.metadata["message_id"] for message in bus.messages] == ["om_1", "om_2"]
    assert channel.received[1:] == []  # nanobot itself was not told


@pytest.mark.parametrize("mode", ["observe", "off"])
async def test_where_the_bot_may_not_answer_it_hears_nobody(make_host: Any, make_channel: Any, mode: str) -> None:
    host = make_host(relay=MENTIONS, groups={"mode": "listen", "chats": {"oc_1": {"mode": mode}}})
    other = "feishu:oc_2"
    host.record.store.members.saw(KEY, "Alpha")
    async with relaying(host, make_channel(host)) as bus:
        beta_says(host, "om_1", "@Alpha here")
        for key in (other, "feishu:oc_3"):  # Alpha sits in one of them
            host.record.store.members.saw(other, "Alpha")
            options: dict[str, Any] = {"agent": "Beta", "sender_kind": "bot"}
            host.record.store.append(key, "assistant", "@Alpha there", "Beta", f"om_{key}", now(), **options)
        await until(lambda: bus.messages)
        assert [message.chat_id for message in bus.messages] == ["oc_2"]


async def test_the_loop_guard_comes_first_and_has_the_last_word(make_host: Any, make_channel: Any) -> None:
    host = make_host(relay=MENTIONS, turns={"max_hops": 2})
    channel = make_channel(host)
    async with relaying(host, channel) as bus:
        beta_says(host, "om_1", "@Alpha first", hop=1)
        await until(lambda: bus.messages)
        beta_says(host, "om_2", "@Alpha second", hop=2)
        beta_says(host, "om_3", "@Alpha third", hop=3)
        await channel.send_delta("oc_1", "an answer nobody waits for", {"message_id": "om_1"})
        await channel.send_delta("oc_1", "", {"message_id": "om_1"}, stream_end=True)
        assert channel._client.sent == []
        channel._on_message_sync(sdk_object(group_event("om_4", "go on", create_time=now())))
        beta_says(host, "om_5", "@Alpha fourth", hop=1)
        await until(lambda: len(bus.messages) == 2)
        assert [message.metadata["message_id"] for message in bus.messages] == ["om_1", "om_5"]
    stopped = [
        (one["message_id"], one["agent"], one["reason"])
        for one in FileDecisionLog(host.record.store.base_dir).read(KEY)
    ]
    assert set(stopped) == {(f"om_{number}", "Alpha", "hop_limit") for number in (1, 2, 3)}


async def test_the_gate_decides_about_bots_too(make_host: Any, make_channel: Any) -> None:
    host = make_host(relay={"mode": "all"}, groups={"mode": "gate"})
    async with relaying(host, make_channel(host), gated=True) as bus:
        beta_says(host, "om_1", "I had a look at the weather by myself.")
        beta_says(host, "om_2", "Alpha, what do you think?")
        await until(lambda: bus.messages)
        assert [message.metadata["message_id"] for message in bus.messages] == ["om_2"]
