"""Who is told, how often, and what an acknowledgement does."""

import json

import aiohttp
import pytest
from support.feishu_client import long_connection
from support.loop_clock import later
from support.waiting import PATIENCE

from transcript_channels.simulator import FeishuSimulator, scopes


async def test_every_bot_of_the_group_is_told_of_a_persons_message(team) -> None:
    message = await team.feishu.say(team.group, team.ada, "hello")
    assert {push.app for push in message.pushes} == {team.alpha, team.beta}


async def test_bots_are_not_told_of_other_bots_messages(team) -> None:
    answer = await team.as_alpha.send(team.group.chat_id, f"@all {team.beta.name}")
    assert answer["code"] == 0
    assert team.feishu.pushes == []


@pytest.mark.parametrize(
    ("scope", "mentioned", "told"),
    [
        (scopes.GROUP_MSG, False, True),
        (scopes.GROUP_AT_MSG, False, False),
        (scopes.GROUP_AT_MSG, True, True),
        (scopes.GROUP_MSG_INCLUDE_BOT, False, True),
        (scopes.GROUP_AT_MSG_INCLUDE_BOT, True, True),
        (scopes.GROUP_AT_MSG_INCLUDE_BOT, False, False),
        (scopes.P2P_MSG, True, False),
    ],
)
async def test_scopes_decide_about_peoples_messages(team, scope: str, mentioned: bool, told: bool) -> None:
    team.beta.scopes = {scope}
    message = await team.feishu.say(team.group, team.ada, "@Beta hi" if mentioned else "hi")
    assert (team.beta in {push.app for push in message.pushes}) is told


@pytest.mark.parametrize(
    ("scope", "mentioned", "told"),
    [
        (scopes.GROUP_MSG, True, False),
        (scopes.GROUP_AT_MSG, True, False),
        (scopes.GROUP_MSG_INCLUDE_BOT, False, True),
        (scopes.GROUP_AT_MSG_INCLUDE_BOT, False, False),
        (scopes.GROUP_AT_MSG_INCLUDE_BOT, True, True),
    ],
)
async def test_include_bot_scopes_decide_about_bots_messages(team, scope: str, mentioned: bool, told: bool) -> None:
    team.beta.scopes = {scope}
    at = f'<at user_id="{team.beta.open_id(team.alpha)}">Beta</at> ' if mentioned else ""
    answer = await team.as_alpha.send(team.group.chat_id, at + "hi")
    message = team.feishu.message(answer["data"]["message_id"])
    assert [push.app for push in message.pushes] == ([team.beta] if told else [])
    if told:
        sender = message.pushes[0].event["event"]["sender"]
        assert sender["sender_type"] == "bot"
        assert sender["sender_id"]["open_id"] == team.alpha.open_id(team.beta)


async def test_private_messages_have_an_oc_chat_and_go_to_their_bot_alone(team) -> None:
    message = await team.feishu.say_private(team.ada, team.alpha, "secret")
    assert [push.app for push in message.pushes] == [team.alpha]
    event = message.pushes[0].event["event"]["message"]
    assert event["chat_type"] == "p2p"
    assert event["chat_id"].startswith("oc_")
    again = await team.feishu.say_private(team.ada, team.alpha, "more")
    assert again.chat is message.chat


async def test_a_200_settles_a_push(team) -> None:
    async with long_connection(team.feishu, team.alpha, team.session) as connection:
        message = await team.feishu.say(team.group, team.ada, "hello")
        push = message.pushes[0]
        assert push.acked
        assert message.acks == {"Alpha": 200, "Beta": None}
        assert len(push.attempts) == 1
        assert push.attempts[0].acked_ms >= push.attempts[0].sent_ms
        assert [event["event"]["message"]["message_id"] for event in connection.events] == [message.message_id]


async def test_a_500_makes_the_same_event_come_again(team) -> None:
    codes = iter([500, 500, 200])
    async with long_connection(team.feishu, team.alpha, team.session, lambda event: next(codes)) as connection:
        message = await team.feishu.say(team.group, team.ada, "hello")
    assert [attempt.code for attempt in message.pushes[0].attempts] == [500, 500, 200]
    assert len({event["header"]["event_id"] for event in connection.events}) == 1
    assert len({frame.headers["message_id"] for frame in connection.frames}) == 3


async def test_after_the_last_delay_a_push_is_given_up(team) -> None:
    async with long_connection(team.feishu, team.alpha, team.session, lambda event: 500):
        message = await team.feishu.say(team.group, team.ada, "hello")
    assert message.pushes[0].state == "gave_up"
    assert len(message.pushes[0].attempts) == 3


async def test_silence_makes_the_event_come_again_and_a_late_answer_is_noted(team) -> None:
    answers = iter([None, 200])
    async with long_connection(team.feishu, team.alpha, team.session, lambda event: next(answers)) as connection:
        message = await team.feishu.say(team.group, team.ada, "hello", wait=False)
        push = message.pushes[0]
        await team.feishu.wait_for(lambda: connection.frames)
        later(PATIENCE)
        await team.feishu.wait_for(lambda: push.acked)
        assert [attempt.code for attempt in push.attempts] == [None, 200]
        await connection.acknowledge(connection.frames[0], 200)
        await team.feishu.wait_for(lambda: push.attempts[0].code == 200)
    assert len(push.attempts) == 2


async def test_events_wait_for_a_bot_that_is_away(team) -> None:
    first = await team.feishu.say(team.group, team.ada, "one")
    second = await team.feishu.say(team.group, team.ada, "two")
    assert first.pushes[0].state == "waiting"
    async with long_connection(team.feishu, team.alpha, team.session) as connection:
        await team.feishu.wait_for(lambda: first.pushes[0].acked and second.pushes[0].acked)
        got = [event["event"]["message"]["message_id"] for event in connection.events]
    assert got == [first.message_id, second.message_id]


async def test_what_was_under_way_on_a_lost_connection_comes_again(team) -> None:
    async with long_connection(team.feishu, team.alpha, team.session, lambda event: None):
        message = await team.feishu.say(team.group, team.ada, "hello", wait=False)
        await team.feishu.wait_for(lambda: message.pushes[0].attempts)
        await team.feishu.drop_connections(team.alpha)
    async with long_connection(team.feishu, team.alpha, team.session) as connection:
        await team.feishu.wait_for(lambda: message.pushes[0].acked)
    assert len(connection.events) == 1


async def test_one_of_several_clients_of_an_app_gets_each_event(team) -> None:
    async with (
        long_connection(team.feishu, team.alpha, team.session) as left,
        long_connection(team.feishu, team.alpha, team.session) as right,
    ):
        for number in range(6):
            await team.feishu.say(team.group, team.ada, f"message {number}")
        assert (len(left.events), len(right.events)) == (3, 3)


async def test_a_duplicate_push_has_the_same_message_and_another_event_id(team) -> None:
    async with long_connection(team.feishu, team.alpha, team.session) as connection:
        message = await team.feishu.say(team.group, team.ada, "hello")
        pushes = await team.feishu.push_again(message, team.alpha)
    assert [push.acked for push in pushes] == [True]
    assert len({event["event"]["message"]["message_id"] for event in connection.events}) == 1
    assert len({event["header"]["event_id"] for event in connection.events}) == 2


async def test_a_recall_tells_those_who_may_know_the_message(team) -> None:
    team.beta.scopes = {scopes.GROUP_AT_MSG}
    message = await team.feishu.say(team.group, team.ada, "oops")
    pushes = await team.feishu.recall(message)
    assert [push.app for push in pushes] == [team.alpha]
    body = pushes[0].event
    assert body["header"]["event_type"] == "im.message.recalled_v1"
    assert body["event"]["message_id"] == message.message_id
    assert body["event"]["chat_id"] == team.group.chat_id
    assert message.text == ""


async def test_an_app_gets_only_events_it_subscribed_to(team) -> None:
    team.alpha.events = {"im.chat.member.bot.added_v1"}
    other = team.feishu.add_group("Other", [team.ada])
    team.feishu.join(other, team.alpha)
    await team.feishu.say(other, team.ada, "hello")
    assert [push.event_type for push in team.feishu.pushes] == ["im.chat.member.bot.added_v1"]


async def test_events_can_come_in_fragments_and_are_acknowledged_once(team) -> None:
    team.alpha.fragment_bytes = 200
    async with long_connection(team.feishu, team.alpha, team.session) as connection:
        message = await team.feishu.say(team.group, team.ada, "hello " * 50)
    assert len(connection.frames) > 3
    assert len(connection.events) == 1
    assert [attempt.code for attempt in message.pushes[0].attempts] == [200]


async def test_a_thousand_events_at_full_speed_arrive_in_order() -> None:
    async with FeishuSimulator(ack_timeout=PATIENCE) as feishu, aiohttp.ClientSession() as session:
        ada, apps = feishu.add_person("Ada"), [feishu.add_app("Alpha"), feishu.add_app("Beta")]
        group = feishu.add_group("Team", [ada, *apps])
        async with (
            long_connection(feishu, apps[0], session) as alpha,
            long_connection(feishu, apps[1], session) as beta,
        ):
            said = [await feishu.say(group, ada, f"{n}", wait=False) for n in range(1000)]
            await feishu.settled()
            wanted = [message.message_id for message in said]
            for connection in (alpha, beta):
                assert [event["event"]["message"]["message_id"] for event in connection.events] == wanted
        assert all(push.acked for push in feishu.pushes)


async def test_half_of_a_character_pair_arrives_as_it_was_written(team) -> None:
    async with long_connection(team.feishu, team.alpha, team.session) as connection:
        await team.feishu.say(team.group, team.ada, "\ud83d broken")
    assert json.loads(connection.events[0]["event"]["message"]["content"])["text"] == "\ud83d broken"
