"""What the platform did not tell at the start is asked for again."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from support.stub_nanobot import FakeClient, Outbound, StubChannel, group_event, sdk_object
from support.waiting import PATIENCE, until

from transcript_channels.nanobot_host.host import Host
from transcript_channels.nanobot_host.install import PARTS, channel_class
from transcript_channels.nanobot_host.platform_questions import PlatformQuestions


class NotAsking(PlatformQuestions):
    """Asks nothing by itself, and so leaves no thread that waits to ask."""

    def again(self, name: str, answered: Callable[[], bool]) -> None:
        del name, answered


@pytest.fixture
def started(host: Host) -> Any:
    """``started(2)``: a channel whose platform does not say twice who the bot is."""

    def start(silent: int) -> Any:
        host.asking = PlatformQuestions(delays=(0.0,))
        channel = channel_class(StubChannel, host, frozenset({"names", "outbound"}))({})
        channel._client = FakeClient()
        channel._client.silent = silent
        channel._bot_open_id = None
        channel._fetch_bot_open_id()
        return channel

    return start


async def test_a_bot_learns_its_name_later_and_new_entries_use_it(host: Host, started: Any) -> None:
    channel = started(3)
    await until(lambda: (bot := host.record.store.members.bot_of("cli_a")) and bot.open_ids == {"cli_a": "ou_self"})
    assert host.conversation.people.look().agent_name("cli_a") == "Alpha"
    assert channel._bot_open_id == "ou_self"
    await channel.send(Outbound("oc_1", "hello"))
    assert [entry["sender"] for entry in host.record.store.recent("feishu:oc_1").entries] == ["Alpha"]


async def test_what_was_told_is_not_asked_for_again(host: Host, started: Any) -> None:
    channel = started(0)
    assert host.conversation.people.look().agent_name("cli_a") == "Alpha"
    assert not [one for one in threading.enumerate() if one.name == "group-transcript-asking"]
    assert channel._client.silent == 0


async def test_a_channel_that_was_stopped_or_is_gone_asks_no_more(host: Host, started: Any) -> None:
    channel = started(1_000_000_000)
    channel._running = False
    await until(lambda: not host.asking._under_way)
    host.asking.delays = (0.01,)
    gone = weakref.ref(started(1_000_000_000))
    await until(lambda: gc.collect() >= 0 and gone() is None)
    await until(lambda: not host.asking._under_way)


async def test_one_question_is_asked_once_at_a_time_and_an_error_ends_it(caplog: pytest.LogCaptureFixture) -> None:
    asking, asked, may = PlatformQuestions(delays=(0.0,)), list[str](), threading.Event()

    def answered() -> bool:
        asked.append("x")
        assert may.wait(PATIENCE)
        raise OSError("broken")

    asking.again("cli_a", answered)
    await until(lambda: asked)
    asking.again("cli_a", answered)
    may.set()
    await until(lambda: "stays unknown" in caplog.text)
    assert asked == ["x"]


async def test_nothing_of_a_group_reaches_nanobot_before_the_bot_knows_who_it_is_and_then_everything_in_order(
    host: Host,
) -> None:
    host.asking = NotAsking()
    channel = channel_class(StubChannel, host, frozenset(PARTS))({})
    channel._loop, channel._bot_open_id = asyncio.get_running_loop(), None
    channel._client = FakeClient()
    channel._client.silent = 1
    channel._fetch_bot_open_id()
    handling: list[asyncio.Task[None]] = []
    for number, chat_type in enumerate(["group", "group", "p2p"]):
        event = sdk_object(group_event(f"om_{number}", "hello Alpha", chat_type=chat_type))
        channel._on_message_sync(event)
        handling.append(asyncio.create_task(channel._on_message(event)))
    await handling[2]
    assert [one["metadata"]["message_id"] for one in channel.handled] == ["om_2"]
    assert len(host.record.store.recent("feishu:oc_1").entries) == 2
    channel._fetch_bot_open_id()
    await asyncio.gather(*handling)
    assert [one["metadata"]["message_id"] for one in channel.handled] == ["om_2", "om_0", "om_1"]
