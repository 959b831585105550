"""Reading history, as apps see it."""

import json

BASE = "/open-apis/im/v1/messages"


def texts(data) -> list[str]:
    return [json.loads(item["body"]["content"])["text"] for item in data["items"]]


async def say_many(team, count: int) -> None:
    for number in range(count):
        await team.feishu.say(team.group, team.ada, f"m{number}", at_ms=1_700_000_000_000 + number * 1000)


async def test_the_default_order_is_ascending_the_oldest_page_first(team) -> None:
    await say_many(team, 30)
    page = await team.as_alpha.history(team.group.chat_id)
    assert texts(page) == [f"m{n}" for n in range(20)]
    assert page["has_more"] is True


async def test_paging_goes_through_everything_in_either_order(team) -> None:
    await say_many(team, 7)
    for sort, wanted in (("ByCreateTimeAsc", range(7)), ("ByCreateTimeDesc", range(6, -1, -1))):
        seen: list[str] = []
        query = {"page_size": 3, "sort_type": sort}
        while True:
            page = await team.as_alpha.history(team.group.chat_id, **query)
            seen += texts(page)
            if not page["has_more"]:
                break
            query["page_token"] = page["page_token"]
        assert seen == [f"m{n}" for n in wanted]
        assert "page_token" not in page


async def test_a_page_token_belongs_to_one_order(team) -> None:
    await say_many(team, 3)
    page = await team.as_alpha.history(team.group.chat_id, page_size=1)
    query = {"container_id_type": "chat", "container_id": team.group.chat_id, "page_token": page["page_token"]}
    answer = await team.as_alpha.call("GET", BASE, None, sort_type="ByCreateTimeDesc", **query)
    assert answer["code"] == 230001


async def test_page_sizes_outside_1_to_50_are_refused(team) -> None:
    for size in ("0", "51", "many"):
        query = {"container_id_type": "chat", "container_id": team.group.chat_id, "page_size": size}
        assert (await team.as_alpha.call("GET", BASE, None, **query))["code"] == 99992402


async def test_start_and_end_are_seconds_and_inclusive(team) -> None:
    await say_many(team, 5)
    page = await team.as_alpha.history(team.group.chat_id, start_time=1_700_000_001, end_time=1_700_000_003)
    assert texts(page) == ["m1", "m2", "m3"]
    none = await team.as_alpha.history(team.group.chat_id, start_time=1_700_000_001_000)
    assert none["items"] == []


async def test_history_without_its_scope_is_refused(team) -> None:
    query = {"container_id_type": "chat", "container_id": team.group.chat_id}
    team.alpha.revoke("im:message.group_msg")
    assert (await team.as_alpha.call("GET", BASE, None, **query))["code"] == 230027
    team.alpha.revoke("im:message")
    answer = await team.as_alpha.call("GET", BASE, None, **query)
    assert answer["code"] == 99991672
    assert "/auth?q=" in answer["msg"]


async def test_outsiders_may_not_read(team) -> None:
    team.feishu.leave(team.group, team.alpha)
    query = {"container_id_type": "chat", "container_id": team.group.chat_id}
    assert (await team.as_alpha.call("GET", BASE, None, **query))["code"] == 230002


async def test_people_appear_by_open_id_and_bots_by_app_id(team) -> None:
    await team.feishu.say(team.group, team.ada, "@Alpha hi")
    await team.as_beta.send(team.group.chat_id, "hello")
    person, bot = (await team.as_alpha.history(team.group.chat_id))["items"]
    assert person["sender"] == {
        "id": team.ada.open_id(team.alpha),
        "id_type": "open_id",
        "sender_type": "user",
        "tenant_key": person["sender"]["tenant_key"],
    }
    assert person["mentions"][0]["id"] == team.alpha.bot_open_id
    assert bot["sender"]["id"] == team.beta.app_id
    assert bot["sender"]["sender_type"] == "app"
    assert bot["sender"]["open_bot_id"] == team.beta.open_id(team.alpha)
    named = (await team.as_alpha.history(team.group.chat_id, with_sender_name="true"))["items"]
    assert [item["sender"]["sender_name"] for item in named] == ["Ada", "Beta"]


async def test_thread_replies_are_in_the_thread_and_not_in_the_chat(team) -> None:
    asked = await team.feishu.say(team.group, team.ada, "why?")
    await team.as_alpha.reply(asked.message_id, "because", reply_in_thread=True)
    await team.feishu.say(team.group, team.bo, "beside")
    chat = await team.as_alpha.history(team.group.chat_id)
    assert texts(chat) == ["why?", "beside"]
    assert chat["items"][0]["thread_id"] == asked.thread_id
    thread = await team.as_alpha.history(asked.thread_id, container_id_type="thread")
    assert texts(thread) == ["why?", "because"]
    roots = await team.as_alpha.history(team.group.chat_id, only_thread_root_messages="true")
    assert texts(roots) == ["why?"]
    timed = {"container_id_type": "thread", "container_id": asked.thread_id, "start_time": 1}
    assert (await team.as_alpha.call("GET", BASE, None, **timed))["code"] == 230001


async def test_recalled_messages_are_listed_without_their_text(team) -> None:
    message = await team.feishu.say(team.group, team.ada, "oops")
    await team.feishu.recall(message)
    item = (await team.as_alpha.history(team.group.chat_id))["items"][0]
    assert item["deleted"] is True
    assert "oops" not in item["body"]["content"]
    assert (await team.as_alpha.call("GET", f"{BASE}/{message.message_id}"))["code"] == 230110


async def test_edits_show_in_history_and_are_no_event(team) -> None:
    message = await team.feishu.say(team.group, team.ada, "one")
    pushed = len(team.feishu.pushes)
    await team.feishu.edit(message, "two")
    item = (await team.as_alpha.call("GET", f"{BASE}/{message.message_id}"))["data"]["items"][0]
    assert item["updated"] is True
    assert json.loads(item["body"]["content"]) == {"text": "two"}
    assert len(team.feishu.pushes) == pushed


async def test_cards_are_placeholders_unless_their_content_is_asked_for(team) -> None:
    new = {"schema": "2.0", "body": {"elements": [{"tag": "markdown", "content": "new"}]}}
    old = {"elements": [{"tag": "markdown", "content": "old"}]}
    for card in (new, old):
        await team.as_alpha.send(team.group.chat_id, msg_type="interactive", content=card)
    plain = (await team.as_beta.history(team.group.chat_id))["items"]
    assert "请升级" in plain[0]["body"]["content"]
    assert "new" not in plain[0]["body"]["content"]
    assert json.loads(plain[1]["body"]["content"])["elements"] == [[{"tag": "text", "text": "old"}]]
    full = await team.as_beta.history(team.group.chat_id, card_msg_content_type="user_card_content")
    shown = [json.loads(item["body"]["content"]) for item in full["items"]]
    assert json.loads(shown[0]["user_dsl"]) == new
    assert shown[1] == old


async def test_forwarded_messages_are_a_stub_until_the_bundle_is_asked_for(team) -> None:
    asked = await team.feishu.say(team.group, team.ada, "why?")
    inner = await team.feishu.forward(team.group, team.ada, [asked])
    outer = await team.feishu.forward(team.group, team.bo, [asked, inner])
    stub = (await team.as_alpha.history(team.group.chat_id, sort_type="ByCreateTimeDesc"))["items"][0]
    assert (stub["msg_type"], stub["body"]["content"]) == ("merge_forward", "Merged and Forwarded Message")
    items = (await team.as_alpha.call("GET", f"{BASE}/{outer.message_id}"))["data"]["items"]
    above = [(item["message_id"], item.get("upper_message_id")) for item in items]
    assert above == [
        (outer.message_id, None),
        (asked.message_id, outer.message_id),
        (inner.message_id, outer.message_id),
        (asked.message_id, inner.message_id),
    ]


async def test_people_are_looked_up_by_the_open_ids_of_the_app_that_asks(team) -> None:
    path = "/open-apis/contact/v3/users/batch"
    mine, foreign = team.ada.open_id(team.alpha), team.ada.open_id(team.beta)
    answer = await team.as_alpha.call("GET", path, user_ids=mine)
    assert [user["union_id"] for user in answer["data"]["items"]] == [team.ada.union_id]
    assert (await team.as_alpha.call("GET", path, user_ids=foreign))["data"]["items"] == []
    assert (await team.as_alpha.call("GET", path))["code"] == 99992402
    team.alpha.revoke("contact:user.base:readonly")
    assert (await team.as_alpha.call("GET", path, user_ids=mine))["code"] == 99991672
