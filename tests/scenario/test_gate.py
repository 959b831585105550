"""Two real nanobot gateways in mode ``gate``: who answers what, and what a message costs that is not for a bot."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from support.scene import Scene
from support.waiting import until

from nanobot_transcript.cli.commands.doctor import minds
from nanobot_transcript.conversation.decision import PRIVATE
from nanobot_transcript.record import Record
from transcript_channels.nanobot_host.outcomes import turn_completed
from transcript_channels.simulator import FeishuSimulator, Reply, ScriptedModel

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="module")]

REACTION = "POST /open-apis/im/v1/messages/{message_id}/reactions"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gated(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    """Alpha streams and has a session per topic, Beta sends plainly and has one per group; both in mode gate.

    Where the score leaves it open, Alpha asks nanobot's own model and Beta an endpoint of its own. Both react to
    thanks.
    """
    pytest.importorskip("nanobot")
    scenes: list[Scene] = []
    scripted = ScriptedModel(lambda request: scenes[0].answer(request))  # noqa: PLW0108 - filled below
    async with FeishuSimulator() as feishu, scripted as model:
        scene = Scene(feishu, model, tmp_path_factory.mktemp("gate"))
        scene.variables = {"NANOBOT_TRANSCRIPT_GATE__COURTESY_REACTION": "OK"}
        scenes.append(scene)
        beta = {"streaming": False, "topicIsolation": False, "groupPolicy": "open"}
        try:
            await asyncio.gather(
                scene.start(
                    scene.alpha, NANOBOT_TRANSCRIPT_GROUPS__MODE="gate", NANOBOT_TRANSCRIPT_GATE__JUDGE__KIND="host"
                ),
                scene.start(
                    scene.beta,
                    channel=beta,
                    NANOBOT_TRANSCRIPT_GROUPS__MODE="gate",
                    NANOBOT_TRANSCRIPT_GATE__JUDGE__KIND="openai",
                    NANOBOT_TRANSCRIPT_GATE__JUDGE__MODEL="the-judge",
                    NANOBOT_TRANSCRIPT_GATE__JUDGE__BASE_URL=model.base_url,
                    NANOBOT_TRANSCRIPT_GATE__JUDGE__API_KEY="a key of its own",
                ),
            )
            yield scene
        finally:
            await asyncio.gather(*(gateway.stop() for gateway in scene.gateways.values()))
            scene.store.close()


def decisions(scene: Scene, message_id: str) -> int:
    """How many bots have decided about a message; what came of it by a claim, or in the end, counts no more."""
    later = ('"stage":"claim"', '"stage":"answer"')
    return sum(not any(stage in line for stage in later) for line in decided(scene, message_id).splitlines())


def decided(scene: Scene, message_id: str) -> str:
    """The lines of the log about a message."""
    if scene.far is not None:
        keys = [chat.session_key for chat in scene.far.store.chats()]
        noted = [record for key in keys for record in scene.far.decisions.read(key, message_id)]
        return "\n".join(json.dumps(record, separators=(",", ":")) for record in noted)
    logs = [path for path in (scene.store_dir / ".state" / "decisions").rglob("*") if path.is_file()]
    lines = [line for path in logs for line in path.read_text().splitlines()]
    return "\n".join(line for line in lines if f'"{message_id}"' in line)


async def test_a_message_for_somebody_else_costs_no_reaction_and_no_token(gated: Scene) -> None:
    group = gated.group()
    message = await gated.feishu.say(group, gated.ada, "@Bo I had noodles for lunch.")
    other = await gated.feishu.say(group, gated.bo, "So had I.")
    await until(lambda: decisions(gated, message.message_id) == 2 and decisions(gated, other.message_id) == 2)
    await gated.ask(group, gated.ada, "@Beta and you?", gated.beta)
    assert gated.requests("noodles") == gated.requests("So had I.") == 0
    reacted = [call.path for call in gated.feishu.calls if call.path.endswith("/reactions")]
    assert not any(message.message_id in path or other.message_id in path for path in reacted)


async def test_what_follows_on_an_answer_is_answered_by_the_same_bot_only(gated: Scene) -> None:
    group = gated.group()
    gated.when("count to two", "One.")
    gated.when("继续", "Two.")
    await gated.ask(group, gated.ada, "@Alpha count to two", gated.alpha, "One.")
    await gated.recorded(group, 2)
    message = await gated.feishu.say(group, gated.ada, "继续")
    await gated.feishu.wait_for_message(group, gated.alpha, "Two.")
    await until(lambda: decisions(gated, message.message_id) == 2)
    entry = (await gated.recorded(group, 4))[3]
    assert (entry.get("agent"), entry.get("hop")) == ("Alpha", 1)
    assert gated.requests("继续") == 1
    assert "count to two" in gated.request("继续").text
    assert gated.feishu.messages(group, gated.beta) == []


async def test_thanks_get_a_reaction_of_the_bot_that_they_are_for_and_cost_no_token(gated: Scene) -> None:
    group = gated.group()
    gated.when("count to three", "One.")
    await gated.ask(group, gated.ada, "@Alpha count to three", gated.alpha, "One.")
    await gated.recorded(group, 2)
    said = [await gated.feishu.say(group, gated.ada, text) for text in ("谢谢", "@Beta thanks", "@Alpha 不用回了")]
    await until(lambda: all(decisions(gated, one.message_id) == 2 for one in said))
    await until(lambda: said[0].reactions and said[1].reactions)
    reacted = [[(one.emoji, one.member) for one in message.reactions] for message in said]
    assert reacted == [[("OK", gated.alpha)], [("OK", gated.beta)], []]
    assert gated.requests("谢谢") == gated.requests("thanks") == gated.requests("不用回了") == 0
    assert len(group.messages) == 5


async def test_what_the_score_leaves_open_is_put_to_nanobots_own_model(gated: Scene) -> None:
    group = gated.group()
    gated.when('"new_message"', '{"respond": true}')
    gated.when("which trains", "The first one leaves at noon.")
    gated.when("the later one", "The other one leaves at one.")
    await gated.ask(group, gated.ada, "@Alpha which trains?", gated.alpha)
    for number in range(8):
        await gated.feishu.say(group, gated.bo, f"the bus was {number} minutes late")
    await gated.ask(group, gated.ada, "and the later one?", gated.alpha, "at one")
    (question,) = gated.asked_about('"new_message"')
    assert (question.api_key, question.tool_names) == ("Alpha", [])
    assert "you (this agent)" in question.question


@pytest.mark.parametrize("verdict", ["true", "false"])
async def test_what_the_score_leaves_open_is_put_to_another_endpoint(gated: Scene, verdict: str) -> None:
    group = gated.group(gated.beta, gated.ada, gated.bo)
    gated.when('"new_message"', f'{{"respond": {verdict}}}')
    gated.when("which ships", "The first one leaves at two.")
    gated.when("the later ship", "The other one leaves at three.")
    await gated.ask(group, gated.ada, "@Beta which ships?", gated.beta)
    for number in range(8):
        await gated.feishu.say(group, gated.bo, f"the bus was {number} minutes late")
    message = await gated.feishu.say(group, gated.ada, "and the later ship?")
    await until(lambda: decisions(gated, message.message_id) == 1)
    if verdict == "true":
        await gated.feishu.wait_for_message(group, gated.beta, "at three")
    await gated.ask(group, gated.ada, "@Beta which ships again?", gated.beta, "at two")
    (question,) = gated.asked_about('"new_message"')
    assert (question.api_key, question["model"]) == ("a key of its own", "the-judge")
    said = [one.text for one in gated.feishu.messages(group, gated.beta)]
    assert [text[-6:-1] for text in said] == ["t two", *(["three"] if verdict == "true" else []), "t two"]


async def test_a_judge_that_is_broken_leaves_it_to_the_score(gated: Scene) -> None:
    group = gated.group(gated.beta, gated.ada, gated.bo)
    gated.when('"new_message"', Reply(status=500))
    gated.when("which planes", "The first one leaves at four.")
    await gated.ask(group, gated.ada, "@Beta which planes?", gated.beta)
    for number in range(8):
        await gated.feishu.say(group, gated.bo, f"the bus was {number} minutes late")
    message = await gated.feishu.say(group, gated.ada, "and the later plane?")
    await until(lambda: '"judge_failed"' in decided(gated, message.message_id))
    await gated.ask(group, gated.ada, "@Beta which planes again?", gated.beta)
    assert gated.requests('"new_message"') == 1


@pytest.mark.skipif(turn_completed() is None, reason="this nanobot does not say how turns end; `make test`")
async def test_a_model_that_refuses_is_noted_as_a_failed_answer(gated: Scene) -> None:
    group = gated.group(gated.beta, gated.ada)
    gated.when("which trains", Reply(status=401, error="Invalid API key"))
    gated.when("which boats", "The first one leaves at four.")
    failed = await gated.feishu.say(group, gated.ada, "@Beta which trains?")
    await until(lambda: "Invalid API key" in decided(gated, failed.message_id))
    with Record.open(gated.store_dir) as record:
        (told,) = [one.message for one in minds.check(record) if one.severity == "warning"]
    assert told.startswith("Beta: 1 of ")
    assert "Invalid API key" in told
    assert '"answered"' not in decided(gated, failed.message_id)
    asked = await gated.feishu.say(group, gated.ada, "@Beta which boats?")
    await until(lambda: '"answered"' in decided(gated, asked.message_id))
    assert '"failed"' not in decided(gated, asked.message_id)


@pytest.mark.skipif(turn_completed() is None, reason="this nanobot does not say how turns end; `make test`")
async def test_a_model_that_refuses_in_private_is_noted_without_the_chat(gated: Scene) -> None:
    gated.when("which balloons", Reply(status=401, error="Invalid API key"))
    gated.when("which kites", "The red ones.")
    with Record.open(gated.store_dir) as record:
        for asked, ended in (("which balloons?", ["failed"]), ("which kites?", ["failed", "answered"])):
            await gated.feishu.say_private(gated.ada, gated.beta, asked)
            await until(lambda ended=ended: [one["reason"] for one in record.decisions.read(PRIVATE)] == ended)
        noted = str(record.decisions.read(PRIVATE))
    assert not any(told in noted for told in ("API key", "balloons", "ou_", "om_", "on_", "oc_"))


async def test_a_command_stays_nanobots(gated: Scene) -> None:
    group = gated.group()
    await gated.ask(group, gated.ada, "@Alpha /status", gated.alpha)
    assert gated.feishu.messages(group, gated.beta) == []
