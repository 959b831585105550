"""What runs beside two real gateways: posts of other processes, and what nobody has heard."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from support.scene import Scene
from support.waiting import PATIENCE, until

from nanobot_transcript.outbox import Outbox, post_id_for
from nanobot_transcript.sql.location import Shelf
from transcript_channels.simulator import Chat, FeishuSimulator, ScriptedModel, scopes
from transcript_mcp.assistant.groups import GroupQuestions
from transcript_mcp.assistant.questions.service import Assistant
from transcript_mcp.assistant.questions.sql_store import SqlQuestionStore
from transcript_mcp.assistant.questions.values import AnswerContent, Choices, Option, Question

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="module")]

HISTORY = "GET /open-apis/im/v1/messages"
BUTTON = {"tag": "button", "text": {"tag": "plain_text", "content": "Yes"}, "value": {"choice": "yes"}}
CARD = {"schema": "2.0", "body": {"elements": [{"tag": "markdown", "content": "Ship it?"}, BUTTON]}}
GAP = 200


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def two(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    """Alpha and Beta."""
    pytest.importorskip("nanobot")
    scenes: list[Scene] = []
    answers = ScriptedModel(lambda request: scenes[0].answer(request))  # noqa: PLW0108 - filled below
    async with FeishuSimulator() as feishu, answers as model:
        scene = Scene(feishu, model, tmp_path_factory.mktemp("beside"))
        scenes.append(scene)
        try:
            await asyncio.gather(scene.start(scene.alpha), scene.start(scene.beta))
            yield scene
        finally:
            await asyncio.gather(*(gateway.stop() for gateway in scene.gateways.values()))
            scene.store.close()


async def unheard(scene: Scene, chat: Chat, *texts: str) -> None:
    """Bo says something of which the platform tells nobody, not even later."""
    for app in (scene.alpha, scene.beta):
        app.revoke(scopes.GROUP_MSG)
    for text in texts:
        await scene.feishu.say(chat, scene.bo, text, wait=False)
    for app in (scene.alpha, scene.beta):
        app.grant(scopes.GROUP_MSG)


async def post(scene: Scene, chat: Chat, *arguments: str) -> dict[str, Any]:
    """``nanobot-transcript post`` in a process of its own; what it prints."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "nanobot_transcript", "post", scene.key(chat), *arguments),
        *("--store", str(scene.store_dir), "--json"),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "HOME": str(scene.folder)},
    )
    said, _ = await process.communicate()
    assert process.returncode == 0
    return json.loads(said)


async def test_a_post_comes_once_and_its_answers_come_back_though_the_sender_was_killed(two: Scene) -> None:
    group = two.group()
    await two.feishu.say(group, two.ada, "a group that both have heard of")
    card = two.folder / "card.json"
    card.write_text(json.dumps(CARD))
    options = ("--card", str(card), "--key", "ship", "--agent", "Alpha", "--wait", f"{PATIENCE:g}")
    posted, again = await asyncio.gather(post(two, group, *options), post(two, group, *options))
    assert posted["id"] == again["id"]
    (message,) = two.feishu.messages(group, two.alpha)
    asked = len(two.model.requests)
    with Outbox(two.store_dir) as outbox:
        # The command asks for no answers; whoever does posts from a program.
        ship = outbox.post(two.key(group), card=CARD, agent="Alpha", idempotency_key="ship it")
        status = await outbox.wait_sent(ship, PATIENCE)
        assert status.message_id is not None
        question = two.feishu.message(status.message_id)
        await two.gateways["Alpha"].kill()
        await two.feishu.say(group, two.ada, "@Beta wait a day", reply_to=question, in_thread=True, wait=False)
        reply = await outbox.wait_answer(ship, PATIENCE)
        assert reply is not None
        assert (reply.kind, reply.text, reply.sender) == ("reply", "@Beta wait a day", two.ada.union_id)
        await two.gateways["Alpha"].start()
        await two.feishu.press(question, two.ada, {"choice": "yes"})
        press = await outbox.wait_answer(ship, PATIENCE, after=reply.seq)
        assert press is not None
        assert (press.kind, press.value, press.sender) == ("action", {"choice": "yes"}, two.ada.union_id)
        outbox.revise(ship, {"schema": "2.0", "body": {"elements": [{"tag": "markdown", "content": "Shipped."}]}})
        await until(lambda: "Shipped." in str(question.content))
        await until(lambda: "Shipped." in two.texts(group))
    said = [entry for entry in await two.recorded(group, 4) if entry.get("agent") == "Alpha"]
    assert [entry["message_id"] for entry in said] == [message.message_id, question.message_id]
    assert len(two.model.requests) == asked


async def test_an_agents_question_is_answered_in_the_group_by_a_button_and_by_a_reply(two: Scene) -> None:
    group = two.group()
    await two.feishu.say(group, two.ada, "a group that both have heard of")
    assistant = Assistant(SqlQuestionStore(Shelf(two.folder / "hub")), chat=two.key(group))
    asked = len(two.model.requests)
    outbox = Outbox(two.store_dir)
    async with GroupQuestions(assistant, outbox, two.store.members).running():
        for number, (said, answer) in enumerate((("", "Ship it"), ("2", "Wait"))):
            choices = (Choices("?", options=(Option("Ship it"), Option("Wait"))),)
            after = len(group.messages)
            question = Question("s", str(number), "question", "Ship it now?", fetched=True, choices=choices)
            await assistant.ask(question)
            await until(lambda after=after: len(group.messages) > after)
            card = group.messages[after]
            if said:
                # Until the bot has noted where the card stands, a reply is for the agents, too.
                status = await outbox.wait_sent(post_id_for(f"question\0s\0{number}"), PATIENCE)
                assert status.state == "sent"
                await two.feishu.say(group, two.ada, said, reply_to=card, in_thread=True, wait=False)
            else:
                await two.feishu.press(card, two.ada, {"option": "1"})
            record = await assistant.wait("s", str(number), PATIENCE)
            assert (record.state, record.by, record.contents) == ("answered", "Ada", (AnswerContent("text", answer),))
            await until(lambda card=card, answer=answer: f"Ada answered: {answer}" in str(card.content))
    assistant.close()
    assert len(two.model.requests) == asked


async def test_a_gap_is_filled_once_by_one_process(two: Scene) -> None:
    group = two.group()
    await two.feishu.say(group, two.ada, "both are here")
    await two.recorded(group, 1)
    await asyncio.gather(*(gateway.stop() for gateway in two.gateways.values()))
    await unheard(two, group, *(f"unheard {number}" for number in range(GAP)))
    before = len(two.feishu.calls_to(HISTORY))
    await asyncio.gather(*(gateway.start() for gateway in two.gateways.values()))
    entries = await two.recorded(group, 1 + GAP)
    assert sorted(entry["content"] for entry in entries[1:]) == sorted(f"unheard {number}" for number in range(GAP))
    assert {entry.get("source") for entry in entries[1:]} == {"history"}
    two.when("what was said", "A lot.")
    await two.ask(group, two.ada, "@Alpha what was said?", two.alpha, "A lot.")
    assert f"unheard {GAP - 2}" in two.request("what was said").last_user_text
    await two.ask(group, two.ada, "@Beta what was said?", two.beta, "A lot.")
    asked = [call for call in two.feishu.calls_to(HISTORY)[before:] if group.chat_id in str(call.query)]
    # The newest pages tell whether anything is missing; a slow machine looks there more often. The oldest is read once.
    pages = [call.query.get("page_token", "") for call in asked]
    oldest = list(dict.fromkeys(pages))[-1]
    assert (len(set(pages)) >= GAP / 50, pages.count(oldest)) == (True, 1)
    ids = [entry["message_id"] for entry in two.record(group)]
    assert len(set(ids)) == len(ids)


async def test_a_gap_of_a_lost_connection_is_filled_without_a_word(two: Scene) -> None:
    group = two.group()
    await two.feishu.say(group, two.ada, "both are here")
    await two.recorded(group, 1)
    await two.feishu.drop_connections()
    await unheard(two, group, "into the void")
    await two.feishu.wait_connected(two.alpha, two.beta)
    await until(lambda: "into the void" in two.texts(group))


async def test_without_the_scope_for_the_history_a_bot_answers_and_says_once_what_is_missing(two: Scene) -> None:
    gamma = two.feishu.add_app("Gamma")
    gamma.revoke(scopes.GROUP_MSG)
    group, other = two.group(gamma, two.ada), two.group(gamma, two.ada)
    two.when("are you there", "I am.")
    gateway = await two.start(gamma)
    for chat in (group, other):
        await two.feishu.say(chat, two.ada, "Gamma is not told of this")
        await two.ask(chat, two.ada, "@Gamma are you there?", gamma, "I am.")
    assert [entry["content"] for entry in await two.recorded(other, 2)] == ["@Gamma are you there?", "I am."]
    assert gateway.log.count("Gaps in the record are not filled from Feishu's history") == 1
    assert scopes.GROUP_MSG in gateway.log
    assert len(two.feishu.calls_to(HISTORY, gamma)) == 1
