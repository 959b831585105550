"""Sending, replying, editing, recalling, reacting over REST."""

import json

import aiohttp
import pytest

BASE = "/open-apis/im/v1/messages"


async def test_a_sent_message_comes_back_with_its_ids(team) -> None:
    answer = await team.as_alpha.send(team.group.chat_id, "hello")
    data = answer["data"]
    assert data["message_id"].startswith("om_")
    assert data["chat_id"] == team.group.chat_id
    assert data["create_time"].isdigit()
    assert data["sender"]["id"] == team.alpha.app_id
    assert json.loads(data["body"]["content"]) == {"text": "hello"}
    assert [message.text for message in team.feishu.messages(team.group)] == ["hello"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"receive_id": "oc_unknown"}, 230001),
        ({"content": "no json"}, 230001),
        ({"content": "[]"}, 230001),
        ({"content": {"words": "x"}}, 230001),
        ({"msg_type": "poem"}, 230001),
        ({"uuid": "x" * 51}, 99992402),
        ({"content": {"text": "x" * 150 * 1024}}, 230025),
        ({"msg_type": "post", "content": {"content": [[{"tag": "text", "text": "x" * 31000}]]}}, 230025),
        ({"msg_type": "interactive", "content": {"elements": ["x" * 31000]}}, 230025),
        ({"msg_type": "interactive", "content": {"type": "card", "data": {"card_id": "1"}}}, 230099),
    ],
)
async def test_what_the_platform_refuses_is_refused_with_its_code(team, body, code: int) -> None:
    answer = await team.as_alpha.send(team.group.chat_id, "hello", **body)
    assert answer["code"] == code
    assert answer["status"] == 400
    assert team.feishu.messages(team.group) == []


async def test_a_bot_outside_the_group_cannot_send(team) -> None:
    team.feishu.leave(team.group, team.alpha)
    assert (await team.as_alpha.send(team.group.chat_id, "hello"))["code"] == 230002


@pytest.mark.parametrize("id_type", ["open_id", "union_id", "user_id"])
async def test_sending_to_a_person_goes_into_the_private_chat(team, id_type: str) -> None:
    ids = {
        "open_id": team.ada.open_id(team.alpha),
        "union_id": team.ada.union_id,
        "user_id": team.ada.user_id,
    }
    team.as_alpha.to = {"receive_id_type": id_type}
    answer = await team.as_alpha.send(ids[id_type], "hello")
    private = team.feishu.private_chat(team.ada, team.alpha)
    assert answer["data"]["chat_id"] == private.chat_id
    assert private.chat_id.startswith("oc_")
    assert [message.text for message in private.messages] == ["hello"]


async def test_the_open_id_of_another_app_is_refused(team) -> None:
    team.as_alpha.to = {"receive_id_type": "open_id"}
    assert (await team.as_alpha.send(team.ada.open_id(team.beta), "hi"))["code"] == 99992361
    assert (await team.as_alpha.send("ou_unknown", "hi"))["code"] == 230001


async def test_the_same_uuid_is_delivered_once(team) -> None:
    first = await team.as_alpha.send(team.group.chat_id, "hello", uuid="u1")
    second = await team.as_alpha.send(team.group.chat_id, "hello", uuid="u1")
    other_app = await team.as_beta.send(team.group.chat_id, "hello", uuid="u1")
    assert first["data"]["message_id"] == second["data"]["message_id"]
    assert other_app["data"]["message_id"] != first["data"]["message_id"]
    assert len(team.feishu.messages(team.group)) == 2


async def test_a_lost_answer_and_the_same_uuid_give_one_message(team) -> None:
    team.feishu.fail(f"POST {BASE}", code=230001, after=True)
    assert (await team.as_alpha.send(team.group.chat_id, "hello", uuid="u1"))["code"] == 230001
    assert (await team.as_alpha.send(team.group.chat_id, "hello", uuid="u1"))["code"] == 0
    assert len(team.feishu.messages(team.group)) == 1


async def test_a_reply_stands_beside_its_parent(team) -> None:
    asked = await team.feishu.say(team.group, team.ada, "why?")
    answer = (await team.as_alpha.reply(asked.message_id, "because"))["data"]
    assert (answer["parent_id"], answer["root_id"]) == (asked.message_id, asked.message_id)
    assert "thread_id" not in answer
    further = (await team.as_beta.reply(answer["message_id"], "indeed"))["data"]
    assert (further["parent_id"], further["root_id"]) == (answer["message_id"], asked.message_id)


async def test_a_reply_in_a_thread_opens_one_and_later_replies_stay_in_it(team) -> None:
    asked = await team.feishu.say(team.group, team.ada, "why?")
    answer = (await team.as_alpha.reply(asked.message_id, "because", reply_in_thread=True))["data"]
    assert answer["thread_id"].startswith("omt_")
    assert asked.thread_id == answer["thread_id"]
    stays = (await team.as_beta.reply(answer["message_id"], "indeed"))["data"]
    assert stays["thread_id"] == answer["thread_id"]
    person = await team.feishu.say(team.group, team.ada, "ok", reply_to=asked)
    event = person.pushes[0].event["event"]["message"]
    assert event["thread_id"] == answer["thread_id"]
    assert event["root_id"] == asked.message_id


async def test_a_recalled_message_cannot_be_replied_to(team) -> None:
    asked = await team.feishu.say(team.group, team.ada, "why?")
    await team.feishu.recall(asked)
    assert (await team.as_alpha.reply(asked.message_id, "because"))["code"] == 230011


async def test_a_bot_edits_its_own_text_twenty_times(team) -> None:
    sent = (await team.as_alpha.send(team.group.chat_id, "one"))["data"]["message_id"]
    body = {"msg_type": "text", "content": json.dumps({"text": "two"})}
    for _ in range(20):
        assert (await team.as_alpha.call("PUT", f"{BASE}/{sent}", body))["code"] == 0
    assert (await team.as_alpha.call("PUT", f"{BASE}/{sent}", body))["code"] == 230072
    message = team.feishu.message(sent)
    assert (message.text, message.updated) == ("two", True)
    assert (await team.as_beta.call("PUT", f"{BASE}/{sent}", body))["code"] == 230071


async def test_a_card_is_patched_and_not_edited(team) -> None:
    card = {"elements": [{"tag": "markdown", "content": "one"}]}
    sent = await team.as_alpha.send(team.group.chat_id, msg_type="interactive", content=card)
    path = f"{BASE}/{sent['data']['message_id']}"
    body = {"msg_type": "interactive", "content": json.dumps(card)}
    assert (await team.as_alpha.call("PUT", path, body))["code"] == 230054
    changed = {"elements": [{"tag": "markdown", "content": "two"}]}
    assert (await team.as_alpha.call("PATCH", path, {"content": json.dumps(changed)}))["code"] == 0
    assert team.feishu.messages(team.group)[0].text == "two"


async def test_a_card_of_fifteen_days_is_too_old_to_patch(team) -> None:
    sent = await team.as_alpha.send(team.group.chat_id, msg_type="interactive", content={"elements": []})
    message = team.feishu.message(sent["data"]["message_id"])
    message.created_ms -= 15 * 24 * 3600 * 1000
    answer = await team.as_alpha.call("PATCH", f"{BASE}/{message.message_id}", {"content": "{}"})
    assert answer["code"] == 230031


async def test_a_bot_recalls_its_own_messages_only(team) -> None:
    own = (await team.as_alpha.send(team.group.chat_id, "one"))["data"]["message_id"]
    foreign = await team.feishu.say(team.group, team.ada, "two")
    assert (await team.as_alpha.call("DELETE", f"{BASE}/{foreign.message_id}"))["code"] == 230026
    assert (await team.as_alpha.call("DELETE", f"{BASE}/{own}"))["code"] == 0
    assert team.feishu.message(own).recalled
    assert (await team.as_alpha.call("DELETE", f"{BASE}/{own}"))["code"] == 230011


async def test_reactions_are_put_on_listed_and_taken_off(team) -> None:
    message = await team.feishu.say(team.group, team.ada, "hello")
    path = f"{BASE}/{message.message_id}/reactions"
    body = {"reaction_type": {"emoji_type": "THUMBSUP"}}
    first = await team.as_alpha.call("POST", path, body)
    again = await team.as_alpha.call("POST", path, body)
    assert first["data"]["reaction_id"] == again["data"]["reaction_id"]
    await team.feishu.react(message, team.bo, "OK")
    listed = (await team.as_alpha.call("GET", path))["data"]["items"]
    assert [item["reaction_type"]["emoji_type"] for item in listed] == ["THUMBSUP", "OK"]
    one = f"{path}/{first['data']['reaction_id']}"
    assert (await team.as_beta.call("DELETE", one))["code"] == 231007
    assert (await team.as_alpha.call("DELETE", one))["code"] == 0
    assert [reaction.emoji for reaction in message.reactions] == ["OK"]


async def test_a_file_of_a_message_can_be_downloaded(team) -> None:
    key = team.feishu.add_file(b"data", "notes.txt")
    content = {"file_key": key, "file_name": "notes.txt"}
    message = await team.feishu.say(team.group, team.ada, msg_type="file", content=content)
    url = f"{team.feishu.base_url}{BASE}/{message.message_id}/resources/{key}"
    async with team.session.get(url, headers=team.as_alpha.headers, params={"type": "file"}) as answer:
        assert await answer.read() == b"data"
        assert "notes.txt" in answer.headers["Content-Disposition"]
        assert answer.content_type == "text/plain"


async def test_a_file_is_given_out_only_of_its_message_to_its_chat_and_as_what_it_is(team) -> None:
    said = await team.feishu.send_file(team.group, team.ada, b"pixels", "图 1.png")
    elsewhere = await team.feishu.send_file(team.feishu.add_group("Other", [team.ada]), team.ada, b"x", "a.pdf")
    sticker = await team.feishu.say(team.group, team.ada, msg_type="sticker", content={"file_key": "file_v3_1"})
    key, other = said.content["image_key"], elsewhere.content["file_key"]

    async def code(message_id: str, key: str, **query: str) -> int:
        return (await team.as_alpha.call("GET", f"{BASE}/{message_id}/resources/{key}", None, **query))["code"]

    assert await code(said.message_id, key) == 234001
    assert await code(said.message_id, key, type="file") == 234001
    assert await code("om_unknown", key, type="image") == 234001
    assert await code(said.message_id, other, type="file") == 234003
    assert await code(elsewhere.message_id, other, type="file") == 234004
    assert await code(sticker.message_id, "file_v3_1", type="file") == 234043
    bundle = await team.feishu.forward(team.group, team.ada, [elsewhere])
    url = f"{team.feishu.base_url}{BASE}/{bundle.message_id}/resources/{other}"
    async with team.session.get(url, headers=team.as_alpha.headers, params={"type": "file"}) as answer:
        assert await answer.read() == b"x"
    await team.feishu.recall(said)
    assert await code(said.message_id, key, type="image") == 234003
    team.alpha.scopes.clear()
    assert await code(said.message_id, key, type="image") == 99991672


async def test_an_uploaded_image_can_be_sent_and_downloaded(team) -> None:
    form = aiohttp.FormData({"image_type": "message"})
    form.add_field("image", b"pixels", filename="a.png")
    url = team.feishu.base_url + "/open-apis/im/v1/images"
    async with team.session.post(url, data=form, headers=team.as_alpha.headers) as answer:
        key = (await answer.json())["data"]["image_key"]
    sent = await team.as_alpha.send(team.group.chat_id, msg_type="image", content={"image_key": key})
    resource = f"{BASE}/{sent['data']['message_id']}/resources/{key}"
    url = f"{team.feishu.base_url}{resource}?type=image"
    async with team.session.get(url, headers=team.as_beta.headers) as answer:
        assert await answer.read() == b"pixels"


async def test_an_upload_without_its_part_is_refused(team) -> None:
    url = team.feishu.base_url + "/open-apis/im/v1/files"
    form = aiohttp.FormData({"file_type": "stream"})
    async with team.session.post(url, data=form, headers=team.as_alpha.headers) as answer:
        assert (await answer.json())["code"] == 99992402
