"""Sending as a bot, on the simulated platform and request by request."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from support.feishu_answers import ok, refused

from nanobot_transcript.errors import (
    CallBudgetError,
    MessageGoneError,
    NoAnswerError,
    NotPermittedError,
    RateLimitedError,
    RequestRefusedError,
    UnexpectedAnswerError,
)
from transcript_channels.feishu.bodies import CARD_BYTES, TEXT_BYTES, At
from transcript_channels.feishu.content import text_of
from transcript_channels.feishu.sender import FeishuSender, Sent, uuid_for

SEND = "/open-apis/im/v1/messages"


@pytest.fixture
def sender(team) -> FeishuSender:
    return FeishuSender(team.client)


def at(team, member) -> At:
    return At(member.open_id(team.alpha), member.name)


# --- text and posts


async def test_a_text_arrives_with_the_platforms_id_and_time(team, sender) -> None:
    (sent,) = await sender.text(team.group.chat_id, "hello 你好 \ud83d")
    message = team.feishu.message(sent.message_id)
    assert message.text == "hello 你好 \ufffd"
    assert sent == Sent(message.message_id, team.group.chat_id, float(message.created_ms))


async def test_a_mention_is_a_real_one_in_texts_and_posts(team, sender) -> None:
    team.beta.grant("im:message.group_at_msg.include_bot:readonly")
    mentions = [at(team, team.beta), at(team, team.ada)]
    (text,) = await sender.text(team.group.chat_id, "@Beta please ask @Ada, not @Adamant", mentions=mentions)
    (post,) = await sender.post(team.group.chat_id, "**Hi**\n@Beta look\n@Ada too", mentions=mentions)
    for sent in (text, post):
        mentioned = [mention.member for mention in team.feishu.message(sent.message_id).mentions]
        assert mentioned == [team.beta, team.ada]
        told = [push.app for push in team.feishu.message(sent.message_id).pushes]
        assert told == [team.beta]
    assert team.feishu.message(text.message_id).text == "@Beta please ask @Ada, not @Adamant"
    assert team.feishu.message(post.message_id).text == "**Hi**\n@Beta look\n@Ada too"


async def test_who_is_to_be_mentioned_and_is_not_in_the_text_comes_first(team, sender) -> None:
    (sent,) = await sender.text(team.group.chat_id, "your turn", mentions=[at(team, team.beta)])
    assert team.feishu.message(sent.message_id).text == "@Beta your turn"


async def test_what_an_agent_wrote_mentions_nobody_by_itself(team, sender) -> None:
    written = f'<at user_id="all">all</at> <AT id={team.ada.open_id(team.alpha)}>Ada</AT> <at user_id="ou_x">'
    (text,) = await sender.text(team.group.chat_id, written)
    (post,) = await sender.post(team.group.chat_id, written)
    for sent in (text, post):
        message = team.feishu.message(sent.message_id)
        assert message.mentions == []
        assert "@all @Ada" in message.text
        assert "@_all" not in json.dumps(message.content)


async def test_a_long_text_comes_in_parts_and_in_order(team, sender) -> None:
    text = "\n".join(f'line {number}: 你好 "quoted"' for number in range(9000))
    sent = await sender.text(team.group.chat_id, text)
    assert len(sent) > 1
    parts = [team.feishu.message(one.message_id).text for one in sent]
    assert "\n".join(parts) == text
    post = "\n\n".join(f"paragraph {number}" for number in range(4000))
    assert len(await sender.post(team.group.chat_id, post, title="Long")) > 1


async def test_nothing_is_not_sent(team, sender) -> None:
    for text in ("", " \n"):
        with pytest.raises(RequestRefusedError):
            await sender.text(team.group.chat_id, text)
    assert team.feishu.calls_to(f"POST {SEND}") == []


# --- replies and topics


async def test_a_reply_hangs_on_its_message_and_a_topic_is_opened_when_wanted(team, sender) -> None:
    asked = await team.feishu.say(team.group, team.ada, "why?")
    (beside,) = await sender.text(team.group.chat_id, "because", reply_to=asked.message_id)
    (inside,) = await sender.post(team.group.chat_id, "because", reply_to=asked.message_id, in_thread=True)
    assert (beside.parent_id, beside.root_id, beside.thread_id) == (asked.message_id, asked.message_id, None)
    assert inside.thread_id == asked.thread_id is not None


async def test_an_answer_to_a_message_that_is_gone_goes_into_the_chat(team, sender) -> None:
    asked = await team.feishu.say(team.group, team.ada, "why?")
    await team.feishu.recall(asked)
    (sent,) = await sender.text(team.group.chat_id, "because", reply_to=asked.message_id)
    assert (sent.parent_id, team.feishu.message(sent.message_id).text) == (None, "because")


async def test_a_person_is_written_to_by_open_or_union_id(team, sender) -> None:
    for receiver in (team.ada.open_id(team.alpha), team.ada.union_id):
        (sent,) = await sender.text(receiver, "psst")
        assert sent.chat_id == team.feishu.private_chat(team.ada, team.alpha).chat_id
    with pytest.raises(RequestRefusedError, match="another app"):
        await sender.text(team.ada.open_id(team.beta), "psst")


# --- once


async def test_the_same_key_sends_once_also_from_another_process(team, sender) -> None:
    first = await sender.text(team.group.chat_id, "once", key="turn-1")
    again = await FeishuSender(team.client.budgeted(None)).text(team.group.chat_id, "once", key="turn-1")
    assert first == again
    assert len(team.feishu.messages(team.group)) == 1
    await sender.text(team.group.chat_id, "once", key="turn-2")
    assert len(team.feishu.messages(team.group)) == 2


async def test_an_answer_that_got_lost_does_not_make_a_second_message(team, sender) -> None:
    team.feishu.fail(f"POST {SEND}", status=502, after=True, times=2)
    await sender.text(team.group.chat_id, "once")
    team.feishu.fail(f"POST {SEND}", drop=True, after=True)
    await sender.text(team.group.chat_id, "twice")
    assert [message.text for message in team.feishu.messages(team.group)] == ["once", "twice"]


async def test_parts_that_are_there_are_not_sent_again(team, sender) -> None:
    text = "\n\n".join("x" * 900 for _ in range(100))
    calls = 0

    def spend() -> bool:
        nonlocal calls
        calls += 1
        return calls != 2

    with pytest.raises(CallBudgetError):
        await FeishuSender(team.client.budgeted(spend)).post(team.group.chat_id, text, key="k")
    sent = await sender.post(team.group.chat_id, text, key="k")
    assert [one.message_id for one in sent] == [one.message_id for one in team.feishu.messages(team.group)]


async def test_of_a_message_that_breaks_off_the_parts_that_are_there_are_told(team, sender) -> None:
    text = "\n\n".join(f"{number} " + "x" * 900 for number in range(100))
    with pytest.raises(CallBudgetError) as caught:
        await FeishuSender(team.client.budgeted(spent_after(2))).post(team.group.chat_id, text)
    there = team.feishu.messages(team.group)
    assert [part.message_id for part in caught.value.arrived] == [one.message_id for one in there]
    assert [text_of("post", part.content) for part in caught.value.arrived] == [one.text for one in there]
    with pytest.raises(CallBudgetError) as caught:
        await FeishuSender(team.client.budgeted(spent_after(0))).post(team.group.chat_id, text)
    assert caught.value.arrived == []


def spent_after(calls: int) -> Callable[[], bool]:
    left = iter([True] * calls)
    return lambda: next(left, False)


def test_a_mark_is_stable_and_short_enough_for_the_platform() -> None:
    marks = {uuid_for("cli_a", "k"), uuid_for("cli_a", "k", 1), uuid_for("cli_b", "k"), uuid_for("cli_a", "l" * 9999)}
    assert len(marks) == 4
    assert all(len(mark) <= 50 and mark.isascii() for mark in marks)


# --- changing and taking back


async def test_texts_and_posts_are_changed(team, sender) -> None:
    (text,) = await sender.text(team.group.chat_id, "one")
    (post,) = await sender.post(team.group.chat_id, "one")
    await sender.edit(text.message_id, "two @Ada", mentions=[at(team, team.ada)])
    await sender.edit(post.message_id, "two", post=True)
    shown = [team.feishu.message(sent.message_id).text for sent in (text, post)]
    assert shown == ["two @Ada", "two"]


async def test_what_cannot_be_changed_says_why(team, sender) -> None:
    said = await team.feishu.say(team.group, team.ada, "mine")
    with pytest.raises(RequestRefusedError, match="Only the sender"):
        await sender.edit(said.message_id, "yours")
    (own,) = await sender.text(team.group.chat_id, "v0")
    for number in range(20):
        await sender.edit(own.message_id, f"v{number + 1}")
    with pytest.raises(RequestRefusedError, match="20 times"):
        await sender.edit(own.message_id, "v21")
    with pytest.raises(RequestRefusedError, match="too long"):
        await sender.edit(own.message_id, "x" * TEXT_BYTES)
    with pytest.raises(RequestRefusedError, match="30 KB"):
        await sender.card(team.group.chat_id, {"elements": [{"tag": "markdown", "content": "x" * CARD_BYTES}]})


async def test_a_message_is_taken_back_once(team, sender) -> None:
    (sent,) = await sender.text(team.group.chat_id, "oops")
    assert await sender.recall(sent.message_id) is True
    assert team.feishu.message(sent.message_id).recalled
    assert await sender.recall(sent.message_id) is False
    with pytest.raises(MessageGoneError):
        await sender.edit(sent.message_id, "really")


# --- streaming


async def test_a_streamed_card_grows_and_is_finished(team, sender) -> None:
    asked = await team.feishu.say(team.group, team.ada, "tell me")
    stream = await sender.stream(team.group.chat_id, title="Alpha", reply_to=asked.message_id, in_thread=True)
    message = team.feishu.message(stream.sent[0].message_id)
    assert not message.finished
    assert await stream.update("Once") is True
    assert message.text == "Alpha\nOnce"
    assert await stream.update("Once upon") is False  # too soon after the last one
    (sent,) = await stream.finish("Once upon a time")
    assert (message.text, message.finished, sent.thread_id) == ("Alpha\nOnce upon a time", True, asked.thread_id)


async def test_a_failed_update_of_a_stream_is_made_good_at_the_end(team, sender, time) -> None:
    stream = await sender.stream(team.group.chat_id)
    team.feishu.fail("PUT /open-apis/cardkit/v1/cards/{card_id}/elements/{element_id}/content", code=99991400)
    assert await stream.update("Once") is False
    assert time.slept == []
    await stream.finish("Once upon a time")
    assert team.feishu.messages(team.group)[0].text == "Once upon a time"


async def test_a_stream_the_platform_has_ended_is_finished_all_the_same(team, sender) -> None:
    stream = await sender.stream(team.group.chat_id)
    content = "PUT /open-apis/cardkit/v1/cards/{card_id}/elements/{element_id}/content"
    team.feishu.fail(content, code=200850, times=None)
    await stream.update("Once")
    team.feishu.fail("PATCH /open-apis/cardkit/v1/cards/{card_id}/settings", code=300309)
    await stream.finish("Once upon a time")
    assert team.feishu.messages(team.group)[0].text == "Once upon a time"


async def test_a_finish_whose_answer_got_lost_is_repeated_without_harm(team, sender) -> None:
    stream = await sender.stream(team.group.chat_id)
    team.feishu.fail("PUT /open-apis/cardkit/v1/cards/{card_id}", status=502, after=True)
    await stream.finish("the end")
    (message,) = team.feishu.messages(team.group)
    assert (message.text, message.finished) == ("the end", True)


async def test_what_does_not_fit_into_a_streamed_card_follows_it(team, sender) -> None:
    stream = await sender.stream(team.group.chat_id)
    text = "\n\n".join(f"{number} " + "x" * 500 for number in range(100))
    await stream.update(text)
    sent = await stream.finish(text)
    assert len(sent) > 1
    shown = "".join(team.feishu.message(one.message_id).text for one in sent)
    assert "".join(shown.split()) == "".join(text.split())


async def test_what_followed_a_streamed_card_before_it_broke_off_belongs_to_it(team) -> None:
    text = "\n\n".join(f"{number} " + "x" * 900 for number in range(100))
    stream = await FeishuSender(team.client.budgeted(spent_after(5))).stream(team.group.chat_id)
    with pytest.raises(CallBudgetError):
        await stream.finish(text)
    there = [one.message_id for one in team.feishu.messages(team.group)]
    assert [one.message_id for one in stream.sent] == there
    assert len(there) == 2


async def test_streaming_without_its_scope_names_it(team, sender) -> None:
    team.alpha.revoke("cardkit:card:write")
    with pytest.raises(NotPermittedError) as caught:
        await sender.stream(team.group.chat_id)
    assert caught.value.scopes == ("cardkit:card:write",)


# --- trouble


async def test_the_limit_of_a_chat_is_waited_for(team, sender, time) -> None:
    team.feishu.fail(f"POST {SEND}", code=230020, times=2)
    await sender.text(team.group.chat_id, "patient")
    assert len(time.slept) == 2
    assert [message.text for message in team.feishu.messages(team.group)] == ["patient"]
    team.feishu.fail(f"POST {SEND}", code=230020, times=None)
    with pytest.raises(RateLimitedError):
        await sender.text(team.group.chat_id, "too much")


async def test_a_bot_outside_the_chat_is_told_so(team, sender) -> None:
    team.feishu.leave(team.group, team.alpha)
    with pytest.raises(NotPermittedError, match="not in the chat"):
        await sender.text(team.group.chat_id, "hello")


async def test_an_answer_without_an_id_is_an_error(api, client) -> None:
    api.post(SEND).mock(return_value=ok())
    with pytest.raises(UnexpectedAnswerError):
        await FeishuSender(client).text("oc_1", "hello")


async def test_a_send_carries_a_mark_and_its_receiver(api, client) -> None:
    answer = ok(message_id="om_1", create_time="1700000000123", chat_id="oc_1")
    route = api.post(SEND).mock(side_effect=[httpx.ReadTimeout("slow"), answer])
    (sent,) = await FeishuSender(client).text("oc_1", "hello", key="k")
    bodies: list[dict[str, Any]] = [json.loads(call.request.content) for call in route.calls]
    assert (
        bodies[0]
        == bodies[1]
        == {
            "receive_id": "oc_1",
            "msg_type": "text",
            "content": '{"text": "hello"}',
            "uuid": uuid_for("cli_a", "k"),
        }
    )
    assert dict(route.calls.last.request.url.params) == {"receive_id_type": "chat_id"}
    assert sent.ts_ms == 1_700_000_000_123


async def test_ids_do_not_leave_their_place_in_an_address(api, client) -> None:
    route = api.put(url__regex=r".*evil").mock(return_value=refused(230001))
    with pytest.raises(RequestRefusedError):
        await FeishuSender(client).edit("../../evil", "x")
    assert route.calls.last.request.url.raw_path == b"/open-apis/im/v1/messages/..%2F..%2Fevil"


async def test_a_platform_that_stays_away_is_an_error(team, sender) -> None:
    await team.client.bot_info()
    await team.feishu.stop()
    with pytest.raises(NoAnswerError):
        await sender.text(team.group.chat_id, "hello?")
