"""Gaps are asked for with nanobot's credentials, by whom it concerns, and where that is wanted."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import respx
from support.stub_nanobot import group_event, sdk_object
from support.waiting import PATIENCE, until

from transcript_channels.nanobot_host.host import Host

KEY = "feishu:oc_1"
BASE = "http://127.0.0.1:9"
TOKEN = f"{BASE}/open-apis/auth/v3/tenant_access_token/internal"
MESSAGES = f"{BASE}/open-apis/im/v1/messages"
AT_BASE = {"base_url": BASE}


def item(number: int) -> dict[str, Any]:
    return {
        "message_id": f"om_old_{number}",
        "chat_id": "oc_1",
        "msg_type": "text",
        "create_time": str(1763639990000 + number),
        "sender": {"id": "ou_bo@cli_a", "id_type": "open_id", "sender_type": "user"},
        "body": {"content": json.dumps({"text": f"unheard {number}"})},
    }


@pytest.fixture
def feishu() -> Any:
    """The open API: three messages that nobody has heard."""
    with respx.mock(assert_all_called=False) as api:
        granted = {"code": 0, "tenant_access_token": "t-1", "expire": 7200}
        api.post(TOKEN).mock(return_value=httpx.Response(200, json=granted))
        listed = {"code": 0, "data": {"items": [item(number) for number in (2, 1, 0)], "has_more": False}}
        api.get(MESSAGES, name="history").mock(return_value=httpx.Response(200, json=listed))
        api.get(url__startswith=f"{BASE}/open-apis/contact").mock(
            return_value=httpx.Response(200, json={"code": 0, "data": {}})
        )
        yield api


def on_nanobots_loop(channel: Any) -> None:
    channel._loop = asyncio.get_running_loop()


def texts(host: Host) -> list[str]:
    """What is in the record; looking there asks for nothing."""
    return [entry["content"] for entry in host.record.store.backend.recent(KEY, 10).entries]


def hear(host: Host, channel: Any, at: int = 1763640000000) -> None:
    channel._on_message_sync(sdk_object(group_event("om_1", "the first that was heard", create_time=at)))
    assert host.conversation.background.drain(PATIENCE)


async def test_the_first_word_of_a_new_group_brings_the_day_before(
    make_host: Any, make_channel: Any, feishu: Any
) -> None:
    host = make_host(feishu=AT_BASE)
    channel = make_channel(host, app_secret="s")
    on_nanobots_loop(channel)
    hear(host, channel)
    await until(lambda: len(texts(host)) == 4)
    assert texts(host) == ["unheard 0", "unheard 1", "unheard 2", "the first that was heard"]
    token = json.loads(feishu.calls[0].request.content)
    assert token == {"app_id": "cli_a", "app_secret": "s"}


async def test_a_connection_that_opens_again_asks_for_what_was_missed(
    make_host: Any, make_channel: Any, feishu: Any
) -> None:
    host = make_host(feishu=AT_BASE)
    channel = make_channel(host, app_secret="s")
    hear(host, channel, at=1763639980000)
    on_nanobots_loop(channel)
    opened: list[str] = []

    async def connect() -> None:
        opened.append("open")

    channel._ws_client = SimpleNamespace(_connect=connect)
    assert feishu["history"].call_count == 0
    await channel._ws_client._connect()
    await until(lambda: len(texts(host)) == 4)
    assert opened == ["open"]
    assert feishu["history"].call_count == 1


@pytest.mark.parametrize("history", [{"enabled": False}, {"calls_per_hour": 0}])
async def test_switched_off_nothing_is_asked(
    make_host: Any, make_channel: Any, feishu: Any, history: dict[str, Any]
) -> None:
    host = make_host(feishu=AT_BASE, history=history)
    channel = make_channel(host, app_secret="s")
    on_nanobots_loop(channel)
    hear(host, channel)
    host.connected(channel._transcript_bot)
    await host.conversation.store.recent(KEY, 10)
    assert feishu.calls.call_count == 0


async def test_without_the_scope_one_line_says_so_and_nothing_fails(
    make_host: Any, make_channel: Any, feishu: Any, caplog: pytest.LogCaptureFixture
) -> None:
    refused = {"code": 230027, "msg": "Lack of necessary permissions, need scope: im:message.group_msg"}
    feishu["history"].mock(return_value=httpx.Response(400, json=refused))
    host = make_host(feishu=AT_BASE)
    channel = make_channel(host, app_secret="s")
    on_nanobots_loop(channel)
    hear(host, channel)
    for _ in range(2):
        await host.conversation.store.recent(KEY, 10)
        host.conversation.store.missed(KEY)
    await host.conversation.store.recent(KEY, 10)
    assert caplog.text.count("im:message.group_msg") == 1
    assert "Traceback" not in caplog.text


async def test_without_credentials_or_a_seat_nobody_is_asked(make_host: Any, make_channel: Any, feishu: Any) -> None:
    host = make_host(feishu=AT_BASE)
    channel = make_channel(host, app_secret="s")
    on_nanobots_loop(channel)
    await host.conversation.store.recent("feishu:oc_elsewhere", 10)
    nameless = make_channel(host, app_id="cli_n")
    nameless._on_message_sync(sdk_object(group_event("om_1", chat_id="oc_n", app_id="cli_n")))
    assert host.conversation.background.drain(PATIENCE)
    await host.conversation.store.recent("feishu:oc_n", 10)
    assert feishu.calls.call_count == 0


async def test_reading_in_another_thread_asks_for_nothing(make_host: Any, make_channel: Any, feishu: Any) -> None:
    host = make_host(feishu=AT_BASE)
    channel = make_channel(host, app_secret="s")
    hear(host, channel)
    on_nanobots_loop(channel)

    def in_a_loop_of_its_own() -> None:
        async def read() -> None:
            host.record.store.recent(KEY, 1)

        asyncio.run(read())

    await asyncio.to_thread(in_a_loop_of_its_own)
    assert feishu.calls.call_count == 0
    host.record.store.recent(KEY, 1)
    await host.conversation.store.recent(KEY, 1)
    assert feishu["history"].call_count == 1
