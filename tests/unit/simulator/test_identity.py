"""Ids: the same for all apps, or different for each."""

import json

from transcript_channels.simulator import FeishuSimulator


def test_the_same_person_has_another_open_id_for_every_app_and_one_union_id() -> None:
    feishu = FeishuSimulator()
    alpha, beta, ada = feishu.add_app("Alpha"), feishu.add_app("Beta"), feishu.add_person("Ada")
    assert ada.open_id(alpha).startswith("ou_")
    assert ada.open_id(alpha) != ada.open_id(beta)
    assert ada.union_id.startswith("on_")
    assert len(ada.user_id) == 8


def test_open_ids_are_derived_from_app_id_and_key() -> None:
    first, second = FeishuSimulator(), FeishuSimulator()
    seen = [one.add_person("Ada").open_id(one.add_app("Alpha", app_id="cli_a1")) for one in (first, second)]
    assert seen[0] == seen[1]


def test_a_bot_is_seen_under_another_open_id_by_another_app() -> None:
    feishu = FeishuSimulator()
    alpha, beta = feishu.add_app("Alpha"), feishu.add_app("Beta")
    assert alpha.bot_open_id == alpha.open_id(alpha)
    assert alpha.bot_open_id != alpha.open_id(beta)


def test_two_people_with_one_name_are_two_people() -> None:
    feishu = FeishuSimulator()
    assert feishu.add_person("Ada").union_id != feishu.add_person("Ada").union_id


async def test_message_and_chat_ids_are_the_same_for_all_apps_and_sender_ids_are_not(team) -> None:
    message = await team.feishu.say(team.group, team.ada, "hello")
    seen = {push.app.name: push.event["event"] for push in message.pushes}
    assert set(seen) == {"Alpha", "Beta"}
    for name in seen:
        assert seen[name]["message"]["message_id"] == message.message_id
        assert seen[name]["message"]["chat_id"] == team.group.chat_id
        assert json.loads(seen[name]["message"]["content"]) == {"text": "hello"}
    senders = {name: event["sender"]["sender_id"] for name, event in seen.items()}
    assert senders["Alpha"]["open_id"] == team.ada.open_id(team.alpha)
    assert senders["Beta"]["open_id"] == team.ada.open_id(team.beta)
    assert senders["Alpha"]["union_id"] == senders["Beta"]["union_id"] == team.ada.union_id
    assert senders["Alpha"]["user_id"] == team.ada.user_id


async def test_without_its_scope_user_id_is_missing(team) -> None:
    team.alpha.revoke("contact:user.employee_id:readonly")
    message = await team.feishu.say(team.group, team.ada, "hello")
    assert "user_id" not in message.pushes[0].event["event"]["sender"]["sender_id"]


async def test_bot_info_names_the_bot_as_it_sees_itself(team) -> None:
    answer = await team.as_alpha.call("GET", "/open-apis/bot/v3/info")
    assert answer["bot"]["open_id"] == team.alpha.bot_open_id
    assert answer["bot"]["app_name"] == "Alpha"
    assert "union_id" not in answer["bot"]
