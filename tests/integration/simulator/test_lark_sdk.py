"""The real lark-oapi against the simulator. One pair of processes serves all tests: importing the SDK takes seconds."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio
from support.lark import LarkProcess, lark_process
from support.needs import needs
from support.waiting import PATIENCE

from transcript_channels.simulator import App, Chat, FeishuSimulator, Message, Person, Push

pytestmark = [needs("lark_oapi"), pytest.mark.asyncio(loop_scope="module")]


@dataclass
class Stage:
    """Two apps, each the real SDK, in one group with Ada."""

    feishu: FeishuSimulator
    ada: Person
    alpha_app: App
    beta_app: App
    group: Chat
    alpha: LarkProcess
    beta: LarkProcess


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared() -> AsyncIterator[Stage]:
    async with FeishuSimulator(repush_delays=(0.05, 0.1, 0.2)) as feishu:
        feishu.client_config.ping_interval = 1  # a client that comes back pings only when its next one is due
        ada = feishu.add_person("Ada")
        alpha, beta = feishu.add_app("Alpha"), feishu.add_app("Beta")
        group = feishu.add_group("Team", [ada, alpha, beta])
        async with asyncio.TaskGroup() as starting:
            first, second = lark_process(feishu, alpha), lark_process(feishu, beta)
            entering = [starting.create_task(one.__aenter__()) for one in (first, second)]
        try:
            yield Stage(feishu, ada, alpha, beta, group, entering[0].result(), entering[1].result())
        finally:
            await first.__aexit__(None, None, None)
            await second.__aexit__(None, None, None)


@pytest_asyncio.fixture(loop_scope="module")
async def stage(shared: Stage) -> Stage:
    """The same two again, with what came of the test before them settled and forgotten."""
    shared.feishu.clear_faults()
    await shared.feishu.settled()
    for worker in (shared.alpha, shared.beta):
        await worker.fresh()
    shared.group = shared.feishu.add_group("Team", [shared.ada, shared.alpha_app, shared.beta_app])
    return shared


def text(content: str) -> str:
    return json.dumps({"text": content})


def pushed(message: Message, app: App) -> Push:
    """The push of a message to an app."""
    return next(push for push in message.pushes if push.app is app)


async def received(stage: Stage, worker: LarkProcess, count: int) -> list[dict]:
    await stage.feishu.wait_for(lambda: len(worker.received()) >= count)
    return worker.received()


async def test_an_event_reaches_the_handler_and_is_acknowledged(stage: Stage) -> None:
    message = await stage.feishu.say(stage.group, stage.ada, "hello @Alpha")
    assert message.acks == {"Alpha": 200, "Beta": 200}
    for worker, app in ((stage.alpha, stage.alpha_app), (stage.beta, stage.beta_app)):
        event = (await received(stage, worker, 1))[0]
        assert event["message"]["message_id"] == message.message_id
        assert event["message"]["chat_type"] == "group"
        assert event["sender"]["sender_id"]["open_id"] == stage.ada.open_id(app)
        assert event["message"]["mentions"][0]["id"]["open_id"] == stage.alpha_app.open_id(app)


async def test_the_client_pings_and_takes_the_pong(stage: Stage) -> None:
    await stage.feishu.wait_for(lambda: stage.alpha_app.connections[0].pings >= 1)


async def test_an_exception_in_the_handler_is_a_500_and_the_event_comes_again(stage: Stage) -> None:
    message = await stage.feishu.say(stage.group, stage.ada, "raise once")
    push = next(one for one in message.pushes if one.app is stage.alpha_app)
    assert [attempt.code for attempt in push.attempts] == [500, 200]
    assert len(await received(stage, stage.alpha, 2)) == 2


async def test_an_event_without_a_handler_is_a_500(stage: Stage) -> None:
    stage.alpha_app.events.add("im.message.reaction.created_v1")
    message = await stage.feishu.say(stage.group, stage.ada, "hello")
    known = len(stage.feishu.pushes)
    await stage.feishu.react(message, stage.ada)
    stage.alpha_app.events.discard("im.message.reaction.created_v1")
    push = stage.feishu.pushes[known]
    await stage.feishu.wait_for(lambda: push.ack_code == 500)
    await stage.feishu.settled([push])
    assert push.state == "gave_up"


async def test_fragments_are_put_together_and_acknowledged_once(stage: Stage) -> None:
    stage.alpha_app.fragment_bytes = 150
    message = await stage.feishu.say(stage.group, stage.ada, "长" * 500)
    stage.alpha_app.fragment_bytes = None
    push = next(one for one in message.pushes if one.app is stage.alpha_app)
    assert [attempt.code for attempt in push.attempts] == [200]
    assert json.loads((await received(stage, stage.alpha, 1))[0]["message"]["content"])["text"] == "长" * 500


async def test_a_recall_is_told(stage: Stage) -> None:
    message = await stage.feishu.say(stage.group, stage.ada, "oops")
    pushes = await stage.feishu.recall(message)
    assert [push.ack_code for push in pushes] == [200, 200]
    await stage.feishu.wait_for(lambda: stage.alpha.received("im.message.recalled_v1"))
    assert stage.alpha.received("im.message.recalled_v1")[0]["message_id"] == message.message_id


async def test_after_a_drop_the_client_comes_back_and_what_was_under_way_comes_again(stage: Stage) -> None:
    before = stage.alpha_app.connections[0]
    slow = await stage.feishu.say(stage.group, stage.ada, "answer slowly", wait=False)
    await stage.feishu.wait_for(lambda: len(stage.alpha.received()) == 1)
    await stage.feishu.drop_connections()
    during = await stage.feishu.say(stage.group, stage.ada, "while you were away", wait=False)
    await stage.feishu.wait_connected(stage.alpha_app, stage.beta_app)
    assert stage.alpha_app.connections[0] is not before
    every = [*slow.pushes, *during.pushes]
    await stage.feishu.wait_for(lambda: all(push.acked for push in every), PATIENCE)
    ids = {event["message"]["message_id"] for event in stage.alpha.received()}
    assert ids == {slow.message_id, during.message_id}


async def test_a_refused_handshake_is_tried_again(stage: Stage) -> None:
    stage.feishu.refuse_handshakes(1, "system busy", app=stage.alpha_app)
    await stage.feishu.drop_connections(stage.alpha_app)
    await stage.feishu.wait_connected(stage.alpha_app)
    assert (await stage.feishu.say(stage.group, stage.ada, "hello")).acks["Alpha"] == 200


async def test_a_busy_endpoint_is_asked_again(stage: Stage) -> None:
    stage.feishu.fail("POST /callback/ws/endpoint", code=1, app=stage.alpha_app)
    await stage.feishu.drop_connections(stage.alpha_app)
    await stage.feishu.wait_connected(stage.alpha_app)
    assert (await stage.feishu.say(stage.group, stage.ada, "hello")).acks["Alpha"] == 200


async def test_a_thousand_events_at_full_speed_into_two_processes(stage: Stage) -> None:
    said = [await stage.feishu.say(stage.group, stage.ada, f"{n}", wait=False) for n in range(1000)]
    await stage.feishu.settled()
    for worker, app in ((stage.alpha, stage.alpha_app), (stage.beta, stage.beta_app)):
        got = [event["message"]["message_id"] for event in await received(stage, worker, 1000)]
        assert list(dict.fromkeys(got)) == [message.message_id for message in said]
        # What a busy machine acknowledges too late is pushed again, as the platform does; nothing comes unpushed.
        attempts = {message.message_id: len(pushed(message, app).attempts) for message in said}
        assert all(times <= attempts[message_id] for message_id, times in Counter(got).items())
    assert all(push.acked for message in said for push in message.pushes)


async def test_sending_and_replying_return_what_the_platform_stored(stage: Stage) -> None:
    sent = (await stage.alpha.do("send", to=stage.group.chat_id, content=text("one"), uuid="u-1"))["data"]
    again = (await stage.alpha.do("send", to=stage.group.chat_id, content=text("one"), uuid="u-1"))["data"]
    assert again["message_id"] == sent["message_id"]
    replied = (await stage.beta.do("reply", message_id=sent["message_id"], content=text("two"), in_thread=True))["data"]
    assert replied["parent_id"] == sent["message_id"]
    assert replied["thread_id"].startswith("omt_")
    assert [message.text for message in stage.feishu.messages(stage.group)] == ["one", "two"]
    assert stage.alpha.received() == stage.beta.received() == []


async def test_a_private_message_goes_by_open_id(stage: Stage) -> None:
    open_id = stage.ada.open_id(stage.alpha_app)
    sent = await stage.alpha.do("send", to=open_id, content=text("psst"), by="open_id")
    assert sent["data"]["chat_id"] == stage.feishu.private_chat(stage.ada, stage.alpha_app).chat_id
    foreign = await stage.beta.do("send", to=open_id, content=text("psst"), by="open_id")
    assert foreign["code"] == 99992361


async def test_history_is_read_page_by_page(stage: Stage) -> None:
    for number in range(3):
        await stage.feishu.say(stage.group, stage.ada, f"m{number}")
    first = (await stage.alpha.do("history", chat_id=stage.group.chat_id, page_size=2))["data"]
    rest = (await stage.alpha.do("history", chat_id=stage.group.chat_id, page_size=2, page_token=first["page_token"]))[
        "data"
    ]
    items = [*first["items"], *rest["items"]]
    assert [json.loads(item["body"]["content"])["text"] for item in items] == ["m0", "m1", "m2"]
    assert (first["has_more"], rest["has_more"]) == (True, False)
    assert items[0]["sender"]["sender_name"] == "Ada"
    newest = (await stage.alpha.do("history", chat_id=stage.group.chat_id, sort="ByCreateTimeDesc"))["data"]
    assert json.loads(newest["items"][0]["body"]["content"])["text"] == "m2"


async def test_members_and_the_bots_own_identity_are_known(stage: Stage) -> None:
    members = (await stage.alpha.do("members", chat_id=stage.group.chat_id))["data"]
    assert [member["name"] for member in members["items"]] == ["Ada"]
    info = (await stage.alpha.do("bot_info"))["raw"]
    assert info["bot"]["open_id"] == stage.alpha_app.bot_open_id


async def test_a_card_is_streamed_and_pressed(stage: Stage) -> None:
    card = {
        "schema": "2.0",
        "config": {"streaming_mode": True},
        "body": {"elements": [{"tag": "markdown", "content": "", "element_id": "text"}]},
    }
    card_id = (await stage.alpha.do("make_card", data=json.dumps(card)))["data"]["card_id"]
    content = json.dumps({"type": "card", "data": {"card_id": card_id}})
    await stage.alpha.do("send", to=stage.group.chat_id, content=content, msg_type="interactive")
    streamed = {"card_id": card_id, "element_id": "text"}
    assert (await stage.alpha.do("stream", **streamed, content="Hel", sequence=1))["code"] == 0
    assert (await stage.alpha.do("stream", **streamed, content="Hello", sequence=1))["code"] == 300317
    assert (await stage.alpha.do("stream", **streamed, content="Hello", sequence=2))["code"] == 0
    closed = json.dumps({"config": {"streaming_mode": False}})
    assert (await stage.alpha.do("settings", card_id=card_id, settings=closed, sequence=3))["code"] == 0
    message = await stage.feishu.wait_for_message(stage.group, stage.alpha_app)
    assert message.text == "Hello"
    shown = (await stage.beta.do("get", message_id=message.message_id))["data"]["items"][0]
    assert shown["sender"]["id"] == stage.alpha_app.app_id
    push = await stage.feishu.press(message, stage.ada, {"choice": 1})
    assert push.response is not None
    assert push.response["toast"]["content"] == "你好"
    assert message.text == "pressed"
    assert stage.alpha.received("card.action.trigger")[0]["action"]["value"] == {"choice": 1}


async def test_edits_patches_and_reactions(stage: Stage) -> None:
    sent = (await stage.alpha.do("send", to=stage.group.chat_id, content=text("one")))["data"]["message_id"]
    assert (await stage.alpha.do("edit", message_id=sent, content=text("two")))["code"] == 0
    assert (await stage.beta.do("edit", message_id=sent, content=text("no")))["code"] == 230071
    assert (await stage.beta.do("react", message_id=sent, emoji="OK"))["code"] == 0
    assert (await stage.alpha.do("patch", message_id=sent, content="{}"))["code"] == 230054
    message = stage.feishu.message(sent)
    assert message.text == "two"
    assert [reaction.emoji for reaction in message.reactions] == ["OK"]


async def test_errors_look_to_the_sdk_as_on_the_platform(stage: Stage) -> None:
    send = "POST /open-apis/im/v1/messages"
    stage.feishu.limit_rate(send)
    assert (await stage.alpha.do("send", to=stage.group.chat_id, content=text("x")))["code"] == 99991400
    stage.feishu.fail(send, status=502)
    raised = await stage.alpha.do("send", to=stage.group.chat_id, content=text("x"))
    assert raised == {"raised": "JSONDecodeError"}
    stage.feishu.expire_tokens(stage.alpha_app)
    assert (await stage.alpha.do("send", to=stage.group.chat_id, content=text("x")))["code"] == 99991663
