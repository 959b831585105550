"""Reading a chat's history."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.feishu_answers import ok, refused
from support.work import counted_work

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import (
    CallBudgetError,
    NotPermittedError,
    QuotaExhaustedError,
    RateLimitedError,
    UnexpectedAnswerError,
)
from nanobot_transcript.store.member_file import FileMembers
from nanobot_transcript.store.members import MemberDirectory
from transcript_channels.feishu.client import FeishuClient
from transcript_channels.feishu.history import FeishuHistory, Span
from transcript_channels.feishu.history_items import item_from_api

LIST = "/open-apis/im/v1/messages"
START = 1_700_000_000_000


@pytest.fixture
def members(tmp_path) -> MemberDirectory:
    return FileMembers(tmp_path)


@pytest.fixture
def history(team, members) -> FeishuHistory:
    for bot in (team.alpha, team.beta):
        members.remember_bot(bot.app_id, bot.name, open_ids={team.alpha.app_id: bot.open_id(team.alpha)})
    return FeishuHistory(team.client, members)


async def say_many(team, count: int) -> None:
    for number in range(count):
        await team.feishu.say(team.group, team.ada, f"m{number}", at_ms=START + number * 1000)


def texts(entries: list[Entry]) -> list[str]:
    return [entry["content"] for entry in entries]


def listings(team) -> list[dict[str, str]]:
    return [call.query for call in team.feishu.calls_to(f"GET {LIST}")]


# --- pages


async def test_the_newest_messages_come_first_through_all_pages(team, history) -> None:
    await say_many(team, 130)
    assert texts(await history.list_recent_messages(team.group.chat_id, 120)) == [f"m{n}" for n in range(129, 9, -1)]
    assert [query["sort_type"] for query in listings(team)] == ["ByCreateTimeDesc"] * 3
    assert {query["page_size"] for query in listings(team)} == {"50"}


async def test_no_more_pages_are_asked_for_than_needed(team, history) -> None:
    await say_many(team, 60)
    assert texts(await history.list_recent_messages(team.group.chat_id, 3)) == ["m59", "m58", "m57"]
    assert len(listings(team)) == 1
    assert await history.list_recent_messages(team.group.chat_id, 0) == []
    assert len(listings(team)) == 1


async def test_a_span_of_time_is_kept_to_the_millisecond(team, history) -> None:
    for number in range(6):
        await team.feishu.say(team.group, team.ada, f"m{number}", at_ms=START + number * 400)
    options: dict[str, Any] = {"since_ms": START + 400, "until_ms": START + 1600}
    assert texts(await history.list_recent_messages(team.group.chat_id, 50, **options)) == ["m4", "m3", "m2", "m1"]
    assert (listings(team)[0]["start_time"], listings(team)[0]["end_time"]) == ("1700000000", "1700000002")


async def test_a_chat_without_messages_is_no_error(team, history) -> None:
    assert await history.list_recent_messages(team.group.chat_id) == []


async def test_a_page_that_repeats_itself_does_not_go_on_for_ever(api, client) -> None:
    api.get(LIST).mock(return_value=ok(has_more=True, page_token="same", items=[]))
    with pytest.raises(UnexpectedAnswerError):
        await FeishuHistory(client).list_recent_messages("oc_1")
    assert len([call for call in api.calls if call.request.url.path == LIST]) == 2


@pytest.mark.parametrize(("pages", "complete"), [(40, True), (41, False)])
async def test_a_history_of_more_pages_than_are_read_is_not_complete(pages: int, complete: bool) -> None:
    read: list[str] = []

    class Recalled(FeishuClient):
        async def call(self, method: str, path: str, **details: Any) -> dict[str, Any]:
            read.append(path)
            item = {"message_id": f"om_{len(read)}", "create_time": str(START - len(read)), "deleted": True}
            more = {"has_more": len(read) < pages, "page_token": str(len(read))}
            return {"items": [item | {"msg_type": "text", "sender": {"id": "ou_1", "sender_type": "user"}}], **more}

    fetched = await FeishuHistory(Recalled("cli_a", "secret")).fetch("oc_1", 100)
    assert (len(read), fetched.complete) == (40, complete)


async def test_messages_that_moved_to_the_next_page_are_listed_once(api, client) -> None:
    pages = [
        ok(has_more=True, page_token="p2", items=[item(3), item(2)]),
        ok(has_more=False, items=[item(2), item(1)]),
    ]
    api.get(LIST).mock(side_effect=pages)
    entries = await FeishuHistory(client).list_recent_messages("oc_1")
    assert [entry["message_id"] for entry in entries] == ["om_3", "om_2", "om_1"]


async def test_messages_of_one_moment_are_ordered_by_their_position(api, client) -> None:
    same = [item(1, create_time="5000000000000", message_position=str(n), message_id=f"om_{n}") for n in (9, 11, 10)]
    api.get(LIST).mock(return_value=ok(items=same))
    entries = await FeishuHistory(client).list_recent_messages("oc_1")
    assert [entry["message_id"] for entry in entries] == ["om_11", "om_10", "om_9"]


async def test_a_page_of_giant_messages_keeps_nobody_waiting(api, client) -> None:
    line = {"tag": "markdown", "content": "x" * 20}
    contents = {"interactive": {"elements": [[line] * 10] * 100}, "text": {"text": "看" * 300_000}}
    page = [
        item(n, msg_type=kind, body={"content": json.dumps(body, ensure_ascii=False)})
        for n, (kind, body) in enumerate([*contents.items()] * 12)
    ]
    api.get(LIST).mock(return_value=ok(items=page))
    with counted_work() as work:
        entries = await FeishuHistory(client).list_recent_messages("oc_1")
    assert len(entries) == 24
    assert work.of(item_from_api) == 0  # they were read, but not on the event loop


# --- what an entry holds


async def test_people_go_by_their_union_id_and_bots_by_their_name(team, history) -> None:
    said = await team.feishu.say(team.group, team.ada, "@Alpha hi")
    sent = await team.feishu.say(team.group, team.alpha, "hello", reply_to=said)
    bot, person = await history.list_recent_messages(team.group.chat_id)
    assert person == {
        "role": "user",
        "content": "@Alpha hi",
        "sender": team.ada.union_id,
        "message_id": said.message_id,
        "ts": said.created_ms,
        "sender_name": "Ada",
        "sender_kind": "human",
        "ids": {"open_id": team.ada.open_id(team.alpha)},
        "msg_type": "text",
        "mentions": [{"name": "Alpha", "id": "Alpha", "account": team.alpha.app_id}],
        "pos": 1,
        "source": "history",
    }
    assert bot["message_id"] == sent.message_id
    assert (bot["role"], bot["sender"], bot.get("agent"), bot.get("sender_kind")) == (
        "assistant",
        "Alpha",
        "Alpha",
        "bot",
    )
    assert bot.get("ids") == {"app_id": team.alpha.app_id}
    assert (bot.get("reply_to"), bot.get("root_id")) == (said.message_id, said.message_id)


async def test_people_are_asked_for_once_and_remembered(team, history, members) -> None:
    await team.feishu.say(team.group, team.ada, "one")
    await team.feishu.say(team.group, team.bo, "two")
    for _ in range(3):
        await history.list_recent_messages(team.group.chat_id)
    assert len(team.feishu.calls_to("GET /open-apis/contact/v3/users/batch")) == 1
    assert members.sender_for(team.alpha.app_id, team.ada.open_id(team.alpha)) == team.ada.union_id
    assert members.name_of(team.bo.union_id) == "Bo"


async def test_without_the_contact_scope_people_go_by_open_id_and_the_scope_is_named_once(
    team, history, caplog
) -> None:
    team.alpha.revoke("contact:user.base:readonly")
    await team.feishu.say(team.group, team.ada, "one")
    for _ in range(2):
        (entry,) = await history.list_recent_messages(team.group.chat_id)
    assert entry["sender"] == team.ada.open_id(team.alpha)
    assert entry.get("sender_name") == "Ada"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "contact:user.base:readonly" in caplog.text


async def test_a_bot_nobody_introduced_goes_by_its_app_id_and_the_name_the_platform_gives(team) -> None:
    gamma = team.feishu.add_app("Gamma")
    team.feishu.join(team.group, gamma)
    await team.feishu.say(team.group, gamma, "hello")
    (entry,) = await FeishuHistory(team.client).list_recent_messages(team.group.chat_id)
    assert (entry["sender"], entry.get("sender_name"), entry["role"]) == (gamma.app_id, "Gamma", "assistant")


async def test_recalled_messages_are_told_as_such_and_do_not_count(team, history) -> None:
    kept = await team.feishu.say(team.group, team.ada, "kept", at_ms=START)
    gone = await team.feishu.say(team.group, team.ada, "oops", at_ms=START + 1000)
    await team.feishu.recall(gone)
    recall, entry = await history.list_recent_messages(team.group.chat_id, 1)
    assert entry["message_id"] == kept.message_id
    assert (recall.get("op"), recall.get("target"), recall["message_id"]) == ("recall", gone.message_id, None)
    assert "oops" not in json.dumps(recall)


async def test_edited_messages_have_their_new_text_and_say_so(team, history) -> None:
    message = await team.feishu.say(team.group, team.ada, "one")
    await team.feishu.edit(message, "two")
    (entry,) = await history.list_recent_messages(team.group.chat_id)
    assert (entry["content"], entry.get("edited")) == ("two", True)


async def test_the_words_of_cards_posts_and_shares_are_read(team, history) -> None:
    card = {"schema": "2.0", "body": {"elements": [{"tag": "markdown", "content": "**42** cases"}]}}
    post = {"title": "Plan", "content": [[{"tag": "text", "text": "first"}], [{"tag": "hr"}]]}
    await team.feishu.say(team.group, team.beta, msg_type="interactive", content=card, at_ms=START)
    await team.feishu.say(team.group, team.ada, msg_type="post", content=post, at_ms=START + 1)
    shared = {"chat_id": "oc_other"}
    await team.feishu.say(team.group, team.ada, msg_type="share_chat", content=shared, at_ms=START + 2)
    assert texts(await history.list_recent_messages(team.group.chat_id)) == [
        "[shared group: oc_other]",
        "Plan\nfirst\n\n---",
        "**42** cases",
    ]


async def test_bundles_of_forwarded_messages_are_opened(team, history) -> None:
    asked = await team.feishu.say(team.group, team.ada, "why?\nreally", at_ms=START)
    answered = await team.feishu.say(team.group, team.bo, "because", at_ms=START + 1)
    inner = await team.feishu.forward(team.group, team.ada, [answered])
    await team.feishu.forward(team.group, team.bo, [asked, inner])
    newest = (await history.list_recent_messages(team.group.chat_id))[0]
    assert newest["content"] == "[forwarded messages]\n> Ada: why?\n> really\n> Ada: [forwarded messages]"


async def test_a_bundle_that_cannot_be_opened_stays_a_stub(team, history) -> None:
    bundle = await team.feishu.forward(team.group, team.ada, [])
    team.feishu.fail(f"GET {LIST}/{bundle.message_id}", code=230002)
    assert texts(await history.list_recent_messages(team.group.chat_id)) == ["[forwarded messages]"]


# --- topics


async def test_answers_in_topics_are_found_and_sorted_in(team, history) -> None:
    root = await team.feishu.say(team.group, team.ada, "root", at_ms=START)
    answer: dict[str, Any] = {"reply_to": root, "in_thread": True}
    await team.feishu.say(team.group, team.bo, "inside", at_ms=START + 1000, **answer)
    await team.feishu.say(team.group, team.ada, "beside", at_ms=START + 2000)
    await team.feishu.say(team.group, team.ada, "inside again", at_ms=START + 3000, **answer)
    entries = await history.list_recent_messages(team.group.chat_id)
    assert texts(entries) == ["inside again", "beside", "inside", "root"]
    assert entries[0].get("thread_id") == root.thread_id
    assert [query["container_id_type"] for query in listings(team)] == ["chat", "thread"]


async def test_a_topic_on_an_old_message_is_read_when_it_is_named(team, history) -> None:
    root = await team.feishu.say(team.group, team.ada, "root", at_ms=START)
    answer: dict[str, Any] = {"reply_to": root, "in_thread": True}
    await team.feishu.say(team.group, team.bo, "old", at_ms=START + 1000, **answer)
    await team.feishu.say(team.group, team.bo, "new", at_ms=START + 9000, **answer)
    span: dict[str, Any] = {"since_ms": START + 5000}
    assert await history.list_recent_messages(team.group.chat_id, **span) == []
    entries = await history.list_recent_messages(team.group.chat_id, threads=[root.thread_id], **span)
    assert texts(entries) == ["new"]


async def test_a_topic_that_is_not_visible_is_left_out(team, history) -> None:
    root = await team.feishu.say(team.group, team.ada, "root")
    await team.feishu.say(team.group, team.bo, "inside", reply_to=root, in_thread=True)
    elsewhere = await team.feishu.say(team.feishu.add_group("Other", [team.ada]), team.ada, "secret")
    await team.feishu.say(elsewhere.chat, team.ada, "more", reply_to=elsewhere, in_thread=True)
    threads = ["omt_unknown", elsewhere.thread_id]
    assert texts(await history.list_recent_messages(team.group.chat_id, threads=threads)) == ["inside", "root"]


# --- trouble


async def test_a_missing_scope_is_named(team, history) -> None:
    team.alpha.revoke("im:message.group_msg")
    with pytest.raises(NotPermittedError) as caught:
        await history.list_recent_messages(team.group.chat_id)
    assert caught.value.scopes == ("im:message.group_msg",)
    team.alpha.revoke("im:message")
    with pytest.raises(NotPermittedError) as caught:
        await history.list_recent_messages(team.group.chat_id)
    assert "im:message" in caught.value.scopes


async def test_a_bot_outside_the_chat_is_told_so(team, history) -> None:
    team.feishu.leave(team.group, team.alpha)
    with pytest.raises(NotPermittedError, match="not in the chat"):
        await history.list_recent_messages(team.group.chat_id)


async def test_expired_tokens_limits_and_gateways_are_got_over(team, history, time) -> None:
    await say_many(team, 120)
    await team.client.bot_info()
    team.feishu.expire_tokens()
    team.feishu.limit_rate(f"GET {LIST}", reset=3)
    team.feishu.fail(f"GET {LIST}", status=502, times=1)
    assert len(await history.list_recent_messages(team.group.chat_id, 120)) == 120
    assert len(time.slept) == 2


async def test_what_was_read_before_the_trouble_is_kept(team, history) -> None:
    await say_many(team, 120)
    team.feishu.quota = 1
    fetched = await history.fetch(team.group.chat_id, 120)
    assert texts(fetched.entries) == [f"m{n}" for n in range(119, 69, -1)]
    assert fetched.complete is False
    assert isinstance(fetched.failure, QuotaExhaustedError)
    with pytest.raises(QuotaExhaustedError):
        await history.list_recent_messages(team.group.chat_id)


async def test_a_whole_chat_is_complete(team, history) -> None:
    await say_many(team, 3)
    assert (await history.fetch(team.group.chat_id, 120, Span(START))).complete is True


async def test_a_spent_budget_ends_the_reading(team, members) -> None:
    await say_many(team, 120)
    left = [True, False]
    history = FeishuHistory(team.client.budgeted(lambda: left.pop(0) if left else False), members)
    fetched = await history.fetch(team.group.chat_id, 120)
    assert (len(fetched.entries), type(fetched.failure)) == (50, CallBudgetError)


async def test_a_limit_that_lasts_is_an_error(team, history, time) -> None:
    team.feishu.limit_rate(f"GET {LIST}", reset=600)
    with pytest.raises(RateLimitedError):
        await history.list_recent_messages(team.group.chat_id)


@pytest.mark.parametrize("items", ["no list", {"a": 1}, 7])
async def test_a_list_that_is_none_is_an_error(api, client, items) -> None:
    api.get(LIST).mock(return_value=ok(items=items))
    with pytest.raises(UnexpectedAnswerError):
        await FeishuHistory(client).list_recent_messages("oc_1")


async def test_single_items_that_make_no_sense_are_left_out(api, client) -> None:
    junk = [None, 7, {}, {"message_id": "om_x"}, item(5, create_time="never"), item(6, sender={}, msg_type="system")]
    api.get(LIST).mock(return_value=ok(items=[*junk, item(1)]))
    entries = await FeishuHistory(client).list_recent_messages("oc_1")
    assert [entry["message_id"] for entry in entries] == ["om_1"]


async def test_ids_do_not_leave_their_place_in_an_address(api, client) -> None:
    bundle = item(1, message_id="../../evil?x=1#y", msg_type="merge_forward")
    api.get(LIST).mock(return_value=ok(items=[bundle]))
    opened = api.get(url__regex=r".*evil.*").mock(return_value=refused(230001))
    await FeishuHistory(client).list_recent_messages("oc_1")
    assert opened.calls.last.request.url.raw_path.startswith(b"/open-apis/im/v1/messages/..%2F..%2Fevil%3Fx%3D1%23y?")


VALUE = st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.floats() | st.just([]) | st.just({})


@given(st.dictionaries(st.sampled_from([*"ab", "message_id", "create_time", "sender", "body", "mentions"]), VALUE))
def test_no_item_raises(value: dict[str, Any]) -> None:
    item_from_api({**item(1), **value}, "cli_a", "oc_1")


def item(number: int, **changes: Any) -> dict[str, Any]:
    """A message as the platform lists it."""
    return {
        "message_id": f"om_{number}",
        "msg_type": "text",
        "create_time": str(START + number * 1000),
        "update_time": str(START + number * 1000),
        "deleted": False,
        "updated": False,
        "chat_id": "oc_1",
        "sender": {"id": "ou_1", "id_type": "open_id", "sender_type": "user", "tenant_key": "t"},
        "body": {"content": json.dumps({"text": f"m{number}"})},
        "message_position": str(number),
        **changes,
    }


def test_the_fields_of_the_api_are_read_as_they_are_documented() -> None:
    bot = {"id": "cli_b", "id_type": "app_id", "sender_type": "app", "sender_name": "Beta", "open_bot_id": "ou_b"}
    mention = {"key": "@_user_1", "id": "on_9", "id_type": "union_id", "name": "Ada"}
    content = json.dumps({"text": "@_user_1 hi"})
    read = item_from_api(item(1, sender=bot, mentions=[mention], body={"content": content}), "cli_a", "oc_1")
    assert read is not None
    assert read.message.text == "@Ada hi"
    assert (read.message.sender_ids, read.message.from_bot, read.sender_name) == ({"app_id": "cli_b"}, True, "Beta")
    assert read.message.mentions[0].ids == {"union_id": "on_9"}


async def test_requests_are_those_the_platform_documents(api, client) -> None:
    route = api.get(LIST).mock(return_value=ok(items=[]))
    await FeishuHistory(client).list_recent_messages("oc_1", 10)
    assert dict(route.calls.last.request.url.params) == {
        "container_id_type": "chat",
        "container_id": "oc_1",
        "sort_type": "ByCreateTimeDesc",
        "page_size": "50",
        "card_msg_content_type": "user_card_content",
        "with_sender_name": "true",
    }
