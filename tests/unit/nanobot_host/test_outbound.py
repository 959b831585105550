"""What a bot says is written down once the platform confirmed it, and only then."""

import asyncio
import copy
import json
import pickle
from typing import Any

import pytest
from support.stub_nanobot import Outbound, group_event, sdk_object
from support.waiting import until

from nanobot_transcript.entry import Entry
from nanobot_transcript.files.layout import stem_of
from transcript_channels.nanobot_host.host import Host
from transcript_channels.nanobot_host.outbound import Outgoing, WatchedId

KEY = "feishu:oc_1"
TURN = {"message_id": "om_ask", "chat_type": "group"}


def entries(host: Host, key: str = KEY) -> list[Entry]:
    return host.record.store.recent(key, 100).entries


def only(host: Host) -> Entry:
    found = entries(host)
    assert len(found) == 1
    return found[0]


async def stream(channel: Any, *deltas: str, chat_id: str = "oc_1", metadata: Any = None, **end: Any) -> None:
    for delta in deltas:
        await channel.send_delta(chat_id, delta, metadata)
    await channel.send_delta(chat_id, "", metadata, stream_end=True, **end)


async def test_a_plain_answer_is_recorded_with_the_platforms_id_and_time(host: Host, channel: Any) -> None:
    await channel.send(Outbound("oc_1", "It is **done**.", dict(TURN)))
    entry = only(host)
    assert (entry["role"], entry["sender"], entry["content"]) == ("assistant", "Alpha", "It is **done**.")
    assert (entry["message_id"], entry["ts"]) == ("om_out_1", 1763640100001)
    assert entry.get("ids") == {"app_id": "cli_a"}
    assert (entry.get("reply_to"), entry.get("source"), entry.get("agent")) == ("om_ask", "send", "Alpha")
    assert "message_ids" not in entry


async def test_a_message_in_several_parts_is_one_entry_with_all_ids(host: Host, channel: Any) -> None:
    await channel.send(Outbound("oc_1", "one|two|three"))
    entry = only(host)
    assert entry["content"] == "one|two|three"
    assert entry.get("message_ids") == ["om_out_1", "om_out_2", "om_out_3"]


async def test_an_attachment_is_named_behind_the_text(host: Host, channel: Any) -> None:
    await channel.send(Outbound("oc_1", "see|<image>"))
    assert only(host)["content"] == "see|<image>\n[image (k)]"


async def test_a_refused_message_is_not_recorded(host: Host, channel: Any) -> None:
    channel._client.refuse = lambda content: True
    with pytest.raises(RuntimeError, match="not delivered"):
        await channel.send(Outbound("oc_1", "lost"))
    assert entries(host) == []


async def test_of_a_message_that_failed_half_way_what_arrived_is_recorded(host: Host, channel: Any) -> None:
    channel._client.refuse = lambda content: "three" in content
    with pytest.raises(RuntimeError):
        await channel.send(Outbound("oc_1", "one|two|three"))
    assert only(host)["content"] == "one\ntwo"


async def test_a_streamed_answer_is_recorded_as_the_agent_wrote_it(host: Host, channel: Any) -> None:
    await stream(channel, "The ", "answer ", "is 42.", metadata=TURN)
    entry = only(host)
    assert (entry["content"], entry["message_id"], entry.get("source")) == ("The answer is 42.", "om_out_1", "stream")
    assert entry.get("reply_to") == "om_ask"


async def test_tool_hints_inside_a_card_are_not_recorded(host: Host, channel: Any) -> None:
    await channel.send_delta("oc_1", "Let me see. ", TURN)
    await channel.send(Outbound("oc_1", "web_search(...)", dict(TURN), event="progress"))
    await stream(channel, "Found it.", metadata=TURN)
    assert only(host)["content"] == "Let me see. Found it."


async def test_progress_outside_a_card_is_not_recorded(host: Host, channel: Any) -> None:
    await channel.send(Outbound("oc_1", "thinking", event="progress"))
    assert len(channel._client.sent) == 1
    assert entries(host) == []


async def test_every_segment_of_a_turn_with_tools_is_its_own_message(host: Host, channel: Any) -> None:
    await stream(channel, "First I look.", metadata=TURN, resuming=True)
    await stream(channel, "Here it is.", metadata=TURN)
    assert [entry["content"] for entry in entries(host)] == ["First I look.", "Here it is."]
    assert [entry["message_id"] for entry in entries(host)] == ["om_out_1", "om_out_2"]


async def test_a_boundary_inside_one_message_does_not_end_it(host: Host, channel: Any) -> None:
    await channel.send_delta("oc_1", "Half ", TURN)
    await channel.send_delta("oc_1", "and ", TURN, stream_end=True, merge_next=True)
    await stream(channel, "half.", metadata=TURN)
    assert only(host)["content"] == "Half and half."


async def test_a_stream_of_which_nothing_arrived_is_not_recorded(host: Host, channel: Any) -> None:
    channel._client.refuse = lambda content: True
    await stream(channel, "The ", "answer.", metadata=TURN)
    assert entries(host) == []


async def test_a_stream_that_ends_in_a_plain_message_is_recorded_once_with_all_ids(host: Host, channel: Any) -> None:
    channel._client.refuse = _refuse_card_updates_after(1)
    await stream(channel, "The ", "answer.", metadata=TURN)
    entry = only(host)
    assert entry["content"] == "The answer."
    assert entry.get("message_ids") == ["om_out_1", "om_out_2"]


async def test_of_a_stream_that_broke_off_what_the_card_showed_is_recorded(host: Host, channel: Any) -> None:
    await channel.send_delta("oc_1", "The ", TURN)
    channel._client.refuse = lambda content: True
    await stream(channel, "answer.", metadata=TURN)
    assert only(host)["content"] == "The "


def _refuse_card_updates_after(count: int) -> Any:
    calls = iter(range(1000))

    def refuse(content: str) -> bool:
        is_update = not content.startswith("{")
        return is_update and next(calls) >= count

    return refuse


async def test_answers_into_two_chats_at_the_same_time_are_not_mixed(host: Host, channel: Any) -> None:
    """The agent streams into one chat while its message tool sends into another."""
    elsewhere = Outbound("oc_2", "for the other group")
    await channel.send_delta("oc_1", "for this ", TURN)
    await asyncio.gather(channel.send(elsewhere), stream(channel, "group", metadata=TURN))
    assert [entry["content"] for entry in entries(host)] == ["for this group"]
    assert [entry["content"] for entry in entries(host, "feishu:oc_2")] == ["for the other group"]


async def test_a_send_into_a_chat_while_another_is_under_way_keeps_its_own_id(host: Host, channel: Any) -> None:
    """Two threads wait for the platform at once; each message gets the id of its own confirmation."""
    client = channel._client
    inner: list[Any] = []

    def interleave() -> None:
        client.before_answer = lambda: None
        address = WatchedId("oc_1", Outgoing("oc_1"))
        inner.append(channel._deliver(address, None, "text", json.dumps({"text": "other"})))

    client.before_answer = interleave
    await channel.send(Outbound("oc_1", "mine"))
    assert inner == [True]
    assert [(entry["content"], entry["message_id"]) for entry in entries(host)] == [("mine", "om_out_2")]


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_private_chat_leaves_no_trace(host: Host, channel: Any, streamed: bool) -> None:
    channel._on_message_sync(sdk_object(group_event("om_1", chat_type="p2p", chat_id="oc_private")))
    for address in ("ou_ada", "oc_private"):
        if streamed:
            await stream(channel, "psst", chat_id=address)
        else:
            await channel.send(Outbound(address, "psst"))
    assert len(channel._client.sent) == 2
    assert host.record.store.chats() == []


async def test_a_private_chat_stays_private_after_a_restart(make_host: Any, make_channel: Any) -> None:
    first = make_channel(make_host())
    first._on_message_sync(sdk_object(group_event("om_1", chat_type="p2p", chat_id="oc_private")))
    host = make_host()
    await make_channel(host).send(Outbound("oc_private", "psst"))
    assert host.record.store.chats() == []


async def test_a_reply_that_the_platform_put_elsewhere_is_not_recorded_in_the_addressed_chat(
    host: Host, channel: Any, caplog: pytest.LogCaptureFixture
) -> None:
    channel._client.chat_of_reply = "oc_unknown"
    await channel.send(Outbound("oc_1", "where am I?", dict(TURN)))
    assert host.record.store.chats() == []
    assert "delivered to another chat" in caplog.text


async def test_a_reply_that_the_platform_put_into_a_group_of_the_record_is_recorded_there(
    host: Host, channel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.record.store.append("feishu:oc_known", "user", "earlier", "ou_ada", "om_0")
    channel._client.chat_of_reply = "oc_known"
    monkeypatch.setattr(host.arrivals, "_store", None)  # it is for the thread of the connection, and not for the loop
    await channel.send(Outbound("oc_1", "where am I?", dict(TURN)))
    assert [chat.session_key for chat in host.record.store.chats()] == ["feishu:oc_known"]
    assert {entry["content"] for entry in host.record.store.get_recent("feishu:oc_known")} == {"earlier", "where am I?"}


async def test_a_reply_that_the_platform_put_into_another_known_group_is_recorded_there(
    host: Host, channel: Any
) -> None:
    channel._on_message_sync(sdk_object(group_event("om_ask", chat_id="oc_9")))
    channel._client.chat_of_reply = "oc_9"
    await channel.send(Outbound("oc_1", "here", dict(TURN)))
    assert entries(host) == []
    assert [entry["content"] for entry in entries(host, "feishu:oc_9")] == ["hello", "here"]


async def test_a_chat_that_is_off_is_not_recorded(make_host: Any, make_channel: Any) -> None:
    host = make_host(groups={"mode": "off", "chats": {"oc_2": {"mode": "observe"}}})
    channel = make_channel(host)
    await channel.send(Outbound("oc_1", "quiet"))
    await stream(channel, "quiet")
    await channel.send(Outbound("oc_2", "loud"))
    assert entries(host) == []
    assert [entry["content"] for entry in entries(host, "feishu:oc_2")] == ["loud"]


async def test_a_record_that_cannot_be_written_does_not_fail_the_delivery(
    make_host: Any, make_channel: Any, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    host = make_host()
    channel = make_channel(host)
    host.outbound.recorder.delays = (0.0, 0.0)
    (in_the_way := tmp_path / "transcripts" / f"{stem_of(KEY)}.jsonl").mkdir(parents=True)
    await channel.send(Outbound("oc_1", "one"))
    assert len(channel._client.sent) == 1
    await until(lambda: "could not be recorded" in caplog.text)
    in_the_way.rmdir()
    assert entries(host) == []


async def test_an_answer_that_could_not_be_recorded_is_recorded_later(
    host: Host, channel: Any, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    host.outbound.recorder.delays = (0.01,) * 1000
    told: list[str] = []
    host.outbound._answered = lambda app_id, chat_id, trigger, message_id, text: told.append(message_id)
    (in_the_way := tmp_path / "transcripts" / f"{stem_of(KEY)}.jsonl").mkdir(parents=True)
    await channel.send(Outbound("oc_1", "one"))
    assert "not recorded yet" in caplog.text
    assert told == []  # its claim holds on: nobody else can read yet that it is answered
    in_the_way.rmdir()
    await until(lambda: entries(host))
    assert only(host)["message_id"] == "om_out_1"
    await until(lambda: told == ["om_out_1"])


async def test_the_own_text_takes_the_place_of_what_a_peer_overheard(make_host: Any, make_channel: Any) -> None:
    alpha, beta = make_host(), make_host()
    overheard = group_event("om_out_1", "[card]", sender_type="bot", person="alpha", app_id="cli_b")
    make_channel(beta, app_id="cli_b")._on_message_sync(sdk_object(overheard))
    await make_channel(alpha).send(Outbound("oc_1", "what I really said"))
    entry = only(alpha)
    assert (entry["content"], entry["sender"]) == ("what I really said", "Alpha")


async def test_streams_that_never_end_do_not_pile_up(host: Host, channel: Any) -> None:
    for number in range(300):
        await channel.send_delta("oc_1", f"open {number}", {"message_id": f"om_{number}"})
    recorded = [entry["content"] for entry in host.record.store.recent(KEY, 1000).entries]
    assert recorded == [f"open {number}" for number in range(300 - 256)]


def test_an_address_is_copied_as_a_plain_id() -> None:
    address = WatchedId("oc_1", Outgoing("oc_1"))
    for twin in (copy.deepcopy(address), copy.copy(address), pickle.loads(pickle.dumps(address)), str(address)):
        assert type(twin) is str
        assert twin == "oc_1"
    assert json.dumps({"to": address}) == '{"to": "oc_1"}'


async def test_an_answer_of_the_platform_that_cannot_be_read_fails_nothing(
    host: Host, channel: Any, caplog: pytest.LogCaptureFixture
) -> None:
    client = channel._client
    client.bot = "not an object"
    channel._fetch_bot_open_id()
    await channel.send(Outbound("oc_1", "still here"))
    assert only(host)["content"] == "still here"
