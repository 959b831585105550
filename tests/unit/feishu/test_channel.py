"""A bot's seat in Feishu, without its connection: what it sends and what it says about that."""

import asyncio

import pytest
from support.waiting import until

from nanobot_transcript.conversation.people import People
from nanobot_transcript.conversation.ports import OutboundMessage, SentMessage
from nanobot_transcript.errors import CallBudgetError, StoreFullError
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.store.member_file import FileMembers
from transcript_channels.feishu.channel import FeishuChannel
from transcript_channels.feishu.platform import FEISHU


async def test_of_a_message_that_breaks_off_what_the_group_sees_is_told(team, tmp_path) -> None:
    members = FileMembers(tmp_path)
    members.remember_bot(team.beta.app_id, "Beta", open_ids={team.alpha.app_id: team.beta.open_id(team.alpha)})
    left = iter([True, True])
    client = team.client.budgeted(lambda: next(left, False))
    channel = FeishuChannel(AgentProfile("Alpha"), client, People(members, FEISHU))
    text = "@Beta look\n\n" + "\n\n".join(f"{number} " + "x" * 900 for number in range(100))
    asked = await team.feishu.say(team.group, team.ada, "tell me")
    message = OutboundMessage(f"feishu:{team.group.chat_id}", text, reply_to=asked.message_id, idempotency_key="k")
    with pytest.raises(CallBudgetError) as caught:
        await channel.send(message)
    _, *there = team.feishu.messages(team.group)
    arrived = caught.value.arrived
    assert isinstance(arrived, SentMessage)
    assert arrived.message_ids == tuple(one.message_id for one in there)
    assert arrived.text == "\n\n".join(one.text for one in there)
    assert str(arrived.text).startswith("@Beta look")
    with pytest.raises(CallBudgetError) as caught:
        await channel.send(message)
    assert caught.value.arrived is None


async def test_a_message_that_is_sent_again_with_its_key_is_there_once(team, tmp_path) -> None:
    channel = FeishuChannel(AgentProfile("Alpha"), team.client, People(FileMembers(tmp_path), FEISHU))
    message = OutboundMessage(f"feishu:{team.group.chat_id}", "hello", idempotency_key="k")
    sent = [await channel.send(message) for _ in range(2)]
    (there,) = team.feishu.messages(team.group)
    assert [one.message_ids for one in sent] == [(there.message_id,)] * 2


async def test_a_message_carries_an_emoji_while_it_is_being_answered(team, tmp_path) -> None:
    channel = FeishuChannel(AgentProfile("Alpha"), team.client, People(FileMembers(tmp_path), FEISHU))
    asked = await team.feishu.say(team.group, team.ada, "tell me")
    async with channel.working(asked.message_id, "OnIt"):
        await until(lambda: asked.reactions)
        assert [(one.emoji, one.member) for one in asked.reactions] == [("OnIt", team.alpha)]
    await until(lambda: not asked.reactions)


async def test_an_emoji_is_left_on_a_message_even_if_the_bot_stops_right_then(team, tmp_path) -> None:
    channel = FeishuChannel(AgentProfile("Alpha"), team.client, People(FileMembers(tmp_path), FEISHU))
    thanks = await team.feishu.say(team.group, team.ada, "thanks")
    channel.react(thanks.message_id, "OK")
    await channel.stop()
    assert [(one.emoji, one.member) for one in thanks.reactions] == [("OK", team.alpha)]


async def test_a_bot_that_starts_learns_what_its_groups_are_called(team, tmp_path) -> None:
    members = FileMembers(tmp_path)
    channel = FeishuChannel(AgentProfile("Alpha"), team.client, People(members, FEISHU))
    await channel.start(lambda _: None)
    assert members.title_of(f"feishu:{team.group.chat_id}") == "Team"


async def test_a_message_in_a_group_asks_for_its_name_where_the_start_could_not(team, tmp_path) -> None:
    members = FileMembers(tmp_path)
    members.remember_person(team.ada.union_id, "Ada")
    channel = FeishuChannel(AgentProfile("Alpha"), team.client, People(members, FEISHU))

    async def publish(_: object) -> None:
        return None

    channel._publish = publish
    body = {"message_id": "om_1", "chat_id": team.group.chat_id, "chat_type": "group", "message_type": "text"}
    body |= {"content": '{"text": "hello"}', "create_time": "1763640000000"}
    sender = {"sender_id": {"union_id": team.ada.union_id}, "sender_type": "user"}
    event = {"header": {"event_type": "im.message.receive_v1"}, "event": {"sender": sender, "message": body}}
    await channel.handle(event)
    await asyncio.gather(*channel._lists._work)
    assert members.title_of(f"feishu:{team.group.chat_id}") == "Team"


async def test_a_name_that_cannot_be_written_down_hides_no_group(team, tmp_path, monkeypatch, caplog) -> None:
    def full(*_: object) -> None:
        raise StoreFullError("The disk is full.", hint="Free some space.")

    members = FileMembers(tmp_path)
    monkeypatch.setattr(members, "remember_chat", full)
    other = team.feishu.add_group("Other", [team.ada, team.alpha])
    channel = FeishuChannel(AgentProfile("Alpha"), team.client, People(members, FEISHU))
    await channel.start(lambda _: None)
    assert all(channel.sits_in(f"feishu:{group.chat_id}") for group in (team.group, other))
    assert caplog.text.count("The names of groups could not be saved") == 1
