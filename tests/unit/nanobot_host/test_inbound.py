"""Every message of a group is written down before nanobot looks at it."""

from pathlib import Path
from typing import Any

import pytest
from support.stub_nanobot import group_event, recall_event, sdk_object
from support.waiting import PATIENCE

from nanobot_transcript.errors import StoreError, StoreUnavailableError
from transcript_channels.nanobot_host.host import Host

KEY = "feishu:oc_1"


def receive(channel: Any, message_id: str, text: str = "hello", **options: Any) -> None:
    channel._on_message_sync(sdk_object(group_event(message_id, text, **options)))


def texts(host: Host, key: str = KEY) -> list[str]:
    return [entry["content"] for entry in host.record.store.recent(key, 100).entries]


def read_only(folder: Path) -> None:
    """Whatever is written into the folder fails, also for root."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("a file where the folder should be", encoding="utf-8")


def test_a_message_is_recorded_and_then_delivered(host: Host, channel: Any) -> None:
    seen: list[list[str]] = []
    channel.received = type("Probe", (list,), {"append": lambda self, data: seen.append(texts(host))})()
    receive(channel, "om_1", "@_user_1 hi", mentions=[{"key": "@_user_1", "id": {"open_id": "ou_bo"}, "name": "Bo"}])
    assert seen == [["@Bo hi"]]
    entry = host.record.store.get(KEY, "om_1")
    assert entry is not None
    assert (entry["role"], entry["sender"], entry["ts"]) == ("user", "on_ada", 1763640000000)
    assert entry.get("ids") == {"union_id": "on_ada", "open_id": "ou_ada@cli_a"}
    assert entry.get("mentions") == [{"name": "Bo", "id": "ou_bo"}]


def test_two_bots_that_receive_the_same_message_record_it_once(make_host: Any, make_channel: Any) -> None:
    alpha, beta = make_host(), make_host()
    for host, app in ((alpha, "cli_a"), (beta, "cli_b")):
        receive(make_channel(host, app_id=app), "om_1", app_id=app)
    assert texts(alpha) == ["hello"]


@pytest.mark.parametrize("chat_type", ["p2p", "", None])
def test_a_private_chat_leaves_no_trace_and_is_delivered(host: Host, channel: Any, chat_type: Any) -> None:
    receive(channel, "om_1", "my secret", chat_type=chat_type, chat_id="oc_private")
    assert len(channel.received) == 1
    assert host.record.store.chats() == []
    for path in host.record.store.base_dir.rglob("*"):
        assert "oc_private" not in path.name
        assert not path.is_file() or b"oc_private" not in path.read_bytes()


def test_another_bots_message_is_recorded_and_never_delivered(host: Host, channel: Any) -> None:
    receive(channel, "om_1", "I am a bot", sender_type="bot", person="beta")
    assert channel.received == []
    entry = host.record.store.get(KEY, "om_1")
    assert entry is not None
    assert (entry["role"], entry.get("source"), entry.get("sender_kind")) == ("assistant", "peer_event", "bot")


def test_a_chat_that_is_off_is_left_alone(make_host: Any, make_channel: Any) -> None:
    host = make_host(groups={"chats": {"oc_1": {"mode": "off"}}})
    channel = make_channel(host)
    receive(channel, "om_1", "quiet")
    receive(channel, "om_2", "loud", chat_id="oc_2")
    assert len(channel.received) == 2
    assert texts(host) == []
    assert texts(host, "feishu:oc_2") == ["loud"]


def test_what_is_no_message_is_delivered_as_before(host: Host, channel: Any) -> None:
    for data in (None, object(), sdk_object({"event": None}), sdk_object({"event": {"message": {"chat_id": 7}}})):
        channel._on_message_sync(data)
    assert len(channel.received) == 4
    assert host.record.store.chats() == []


def test_a_failed_append_asks_for_another_push_and_the_agent_has_the_message_once(
    make_host: Any, make_channel: Any, tmp_path: Path
) -> None:
    read_only(tmp_path / "transcripts")
    host = make_host()
    channel = make_channel(host)
    with pytest.raises(StoreError):
        receive(channel, "om_1")
    assert len(channel.received) == 1
    with pytest.raises(StoreError):
        receive(channel, "om_1")
    (tmp_path / "transcripts").unlink()
    receive(channel, "om_1")
    receive(channel, "om_1")
    assert len(channel.received) == 1
    assert texts(host) == ["hello"]


def test_a_push_that_was_recorded_by_another_process_is_delivered_all_the_same(
    make_host: Any, make_channel: Any
) -> None:
    receive(make_channel(make_host()), "om_1")
    reborn = make_channel(make_host())
    receive(reborn, "om_1")
    assert len(reborn.received) == 1


def test_a_recalled_message_is_hidden_and_does_not_come_back(host: Host, channel: Any) -> None:
    receive(channel, "om_1", "forget this")
    host.inbound.apply("im.message.recalled_v1", sdk_object(recall_event("om_1")))
    receive(channel, "om_1", "forget this")
    assert texts(host) == []
    assert host.record.store.get(KEY, "om_1") is None


def test_a_recall_in_a_chat_that_was_never_seen_leaves_no_trace(host: Host, channel: Any) -> None:
    receive(channel, "om_1", chat_type="p2p", chat_id="oc_private")
    host.inbound.apply("im.message.recalled_v1", sdk_object(recall_event("om_1", "oc_private")))
    host.inbound.apply("im.message.recalled_v1", sdk_object(recall_event("om_1", "oc_never_seen")))
    host.inbound.apply("im.message.recalled_v1", None)
    assert host.record.store.chats() == []


def test_a_recall_in_a_private_chat_asks_no_record(host: Host, channel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_arguments: Any, **_named: Any) -> Any:
        raise StoreUnavailableError("The record cannot be asked.", hint="Start it.")

    receive(channel, "om_1", chat_type="p2p", chat_id="oc_private")
    monkeypatch.setattr(host.record.store, "recent", away)
    host.inbound.apply("im.message.recalled_v1", sdk_object(recall_event("om_1", "oc_private")))


def test_what_was_recorded_before_a_chat_was_switched_off_can_still_be_taken_back(
    make_host: Any, make_channel: Any
) -> None:
    before = make_host()
    receive(make_channel(before), "om_1", "my secret")
    after = make_host(groups={"mode": "off"})
    after.inbound.apply("im.message.recalled_v1", sdk_object(recall_event("om_1")))
    assert before.record.store.get(KEY, "om_1") is None


def test_a_recall_that_cannot_be_recorded_asks_for_another_push(host: Host, channel: Any) -> None:
    receive(channel, "om_1")
    host.record.store.close()
    for path in host.record.store.base_dir.glob("*.jsonl"):
        path.unlink()
        path.mkdir()
    with pytest.raises(StoreError):
        host.inbound.apply("im.message.recalled_v1", sdk_object(recall_event("om_1")))


def test_recalls_are_registered_once_beside_what_nanobot_registers(host: Host, channel: Any) -> None:
    builder: list[tuple[str, Any]] = []
    for name in ("register_p2_im_message_reaction_created_v1", "register_p2_im_message_message_read_v1"):
        channel._register_optional_event(builder, name, print)
    names = [name for name, _ in builder]
    assert names.count("register_p2_im_message_recalled_v1") == 1
    assert {"register_p2_im_message_reaction_created_v1", "register_p2_im_message_message_read_v1"} < set(names)


def test_a_nanobot_that_listens_to_recalls_itself_still_hears_them(host: Host, channel: Any) -> None:
    receive(channel, "om_1")
    heard: list[Any] = []
    builder: list[tuple[str, Any]] = []
    channel._register_optional_event(builder, "register_p2_im_message_recalled_v1", heard.append)
    assert [name for name, _ in builder].count("register_p2_im_message_recalled_v1") == 1
    dict(builder)["register_p2_im_message_recalled_v1"](sdk_object(recall_event("om_1")))
    assert len(heard) == 1
    assert texts(host) == []


async def test_a_message_for_this_bot_belongs_to_its_session_before_it_can_be_read(host: Host, channel: Any) -> None:
    turns = channel._transcript_bot.turns
    data = sdk_object(group_event("om_1", "Alpha, hi"))
    channel._on_message_sync(data)
    assert turns.session_of("om_1") == "feishu:oc_1:om_1"
    await channel._on_message(data)
    assert turns.session_of("om_1") == "feishu:oc_1:om_1"


async def test_a_message_that_nanobot_turns_away_belongs_to_no_session(host: Host, channel: Any) -> None:
    data = sdk_object(group_event("om_1", "Alpha, hi"))
    channel._on_message_sync(data)
    channel._is_group_message_for_bot = lambda message: False
    await channel._on_message(data)
    assert channel._transcript_bot.turns.session_of("om_1") is None


async def test_a_message_that_mentions_nobody_is_recorded_although_nanobot_turns_it_away(
    host: Host, channel: Any
) -> None:
    data = sdk_object(group_event("om_1", "just between us"))
    channel._is_group_message_for_bot = lambda message: False
    channel._on_message_sync(data)
    await channel._on_message(data)
    assert texts(host) == ["just between us"]


def test_a_message_for_nobody_belongs_to_no_session(channel: Any) -> None:
    receive(channel, "om_1", "just talking")
    assert channel._transcript_bot.turns.session_of("om_1") is None


def test_a_peer_that_recorded_its_message_itself_is_recognised_from_then_on(make_host: Any, make_channel: Any) -> None:
    alpha, beta = make_host(), make_host()
    make_channel(beta, app_id="cli_b", name="Beta")
    beta.record.store.append(KEY, "assistant", "mine", "Beta", "om_1", sender_kind="bot", ids={"app_id": "cli_b"})
    channel = make_channel(alpha)
    receive(channel, "om_1", "mine", sender_type="bot", person="beta")
    assert alpha.conversation.background.drain(PATIENCE)
    receive(channel, "om_2", "me again", sender_type="bot", person="beta")
    entry = alpha.record.store.get(KEY, "om_2")
    assert entry is not None
    assert entry["sender"] == "Beta"
    assert entry.get("ids", {}).get("app_id") == "cli_b"


def test_a_peer_is_recognised_also_where_the_record_does_not_tell_a_copy(
    make_host: Any, make_channel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that writes later than it says so."""
    alpha, beta = make_host(), make_host()
    make_channel(beta, app_id="cli_b", name="Beta")
    beta.record.store.append(KEY, "assistant", "mine", "Beta", "om_1", sender_kind="bot", ids={"app_id": "cli_b"})
    channel, append = make_channel(alpha), alpha.record.store.append
    monkeypatch.setattr(alpha.record.store, "append", lambda *args, **fields: append(*args, **fields) or True)
    receive(channel, "om_1", "mine", sender_type="bot", person="beta")
    assert alpha.conversation.background.drain(PATIENCE)
    bot = alpha.record.store.members.bot_of("cli_b")
    assert bot is not None
    assert bot.open_ids.get("cli_a")


def test_each_bot_that_hears_of_a_group_tells_so_and_who_has_no_name(host: Host, make_channel: Any) -> None:
    told: list[tuple[str, str, str]] = []
    host.inbound.heard = lambda app_id, heard, nameless, ids: told.append((app_id, heard.session_key, nameless))
    receive(make_channel(host), "om_1")
    host.record.store.members.remember_person("on_ada", "Ada")
    receive(make_channel(host, app_id="cli_b"), "om_1", app_id="cli_b")
    receive(make_channel(host), "om_2", "my secret", chat_type="p2p", chat_id="oc_private")
    assert told == [("cli_a", KEY, "on_ada"), ("cli_b", KEY, "")]


def test_a_bot_sits_in_a_group_before_it_asks_what_was_missed_there(host: Host, make_channel: Any) -> None:
    told: list[tuple[str, ...]] = []
    host.inbound.sits = lambda app_id, key: told.append(("sits", app_id, key))
    host.arrivals._first_heard = lambda key, *_: told.append(("asks", key))
    receive(make_channel(host), "om_1")
    assert told == [("sits", "cli_a", KEY), ("asks", KEY)]
