"""Mentions: keys in the text, ids per observer."""

import json

import pytest


def event_for(message, app):
    return next(push.event["event"]["message"] for push in message.pushes if push.app is app)


async def test_a_name_behind_an_at_sign_becomes_a_key_with_the_observers_open_id(team) -> None:
    message = await team.feishu.say(team.group, team.ada, "@Alpha and @Bo, hi")
    assert message.text == "@Alpha and @Bo, hi"
    for app in (team.alpha, team.beta):
        event = event_for(message, app)
        assert json.loads(event["content"])["text"] == "@_user_1 and @_user_2, hi"
        bot, person = event["mentions"]
        assert (bot["key"], bot["name"], bot["mentioned_type"]) == ("@_user_1", "Alpha", "bot")
        assert bot["id"]["open_id"] == team.alpha.open_id(app)
        assert "user_id" not in bot["id"]
        assert person["id"]["open_id"] == team.bo.open_id(app)
        assert person["id"]["user_id"] == team.bo.user_id


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("mail ada@Alpha please", "mail ada@Alpha please"),
        ("@Alphabet", "@Alphabet"),
        ("@Alpha@Bo", "@_user_1@_user_2"),
        ("@Alpha @Alpha", "@_user_1 @_user_1"),
        ("@all look", "@_all look"),
        ("@所有人 看", "@_all 看"),
        ("@nobody", "@nobody"),
    ],
)
async def test_only_whole_names_of_members_are_mentions(team, typed: str, stored: str) -> None:
    message = await team.feishu.say(team.group, team.ada, typed)
    assert message.content == {"text": stored}


async def test_a_chinese_name_needs_no_space_behind_it(team) -> None:
    bot = team.feishu.add_app("小智")
    team.feishu.join(team.group, bot)
    message = await team.feishu.say(team.group, team.ada, "@小智你好")
    assert message.content == {"text": "@_user_1你好"}
    assert message.text == "@小智你好"


async def test_two_members_with_one_name_are_told_apart_by_their_at(team) -> None:
    twin = team.feishu.add_app("Alpha")
    team.feishu.join(team.group, twin)
    message = await team.feishu.say(team.group, team.ada, f"{twin.at} hi")
    assert message.mentions[0].member is twin


async def test_a_bots_at_uses_its_own_open_ids(team) -> None:
    known = team.bo.open_id(team.alpha)
    foreign = team.bo.open_id(team.beta)
    text = f'<at user_id="{known}">Bo</at> and <at user_id="{foreign}">Bo</at>, <at user_id="all"></at>'
    answer = await team.as_alpha.send(team.group.chat_id, text)
    message = team.feishu.message(answer["data"]["message_id"])
    assert message.content == {"text": "@_user_1 and Bo, @_all"}
    assert [mention.member for mention in message.mentions] == [team.bo]


async def test_a_post_carries_at_nodes_with_keys(team) -> None:
    message = await team.feishu.say(team.group, team.ada, "look @Alpha now", msg_type="post")
    assert message.content["content"] == [
        [
            {"tag": "text", "text": "look "},
            {"tag": "at", "user_id": "@_user_1", "user_name": "Alpha", "style": []},
            {"tag": "text", "text": " now"},
        ]
    ]
    assert message.text == "look @Alpha now"
    content = {"zh_cn": {"title": "T", "content": [[{"tag": "at", "user_id": team.bo.open_id(team.alpha)}]]}}
    answer = await team.as_alpha.send(team.group.chat_id, msg_type="post", content=content)
    sent = team.feishu.message(answer["data"]["message_id"])
    assert sent.text == "T\n@Bo"
