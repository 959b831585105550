"""A mode for each group, and the plugin switched off."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from support.scene import Scene

from transcript_channels.simulator import Chat, FeishuSimulator, ScriptedModel, ToolCall

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="module")]


class Modes(Scene):
    """Alpha's gateway has a mode for each of three groups; Beta's has the plugin switched off."""

    observed: Chat
    off: Chat
    other: Chat

    async def start_all(self) -> None:
        self.observed, self.off, self.other = self.group(), self.group(), self.group()
        chats = {self.observed.chat_id: {"mode": "observe"}, self.off.chat_id: {"mode": "off"}}
        await asyncio.gather(
            self.start(self.alpha, NANOBOT_TRANSCRIPT_GROUPS__CHATS=json.dumps(chats)),
            self.start(
                self.beta,
                NANOBOT_TRANSCRIPT_GROUPS__MODE="off",
                NANOBOT_TRANSCRIPT_STORE__DIR=str(self.folder / "unused"),
            ),
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def modes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Modes]:
    scenes: list[Modes] = []
    answers = ScriptedModel(lambda request: scenes[0].answer(request))  # noqa: PLW0108 - filled below
    async with FeishuSimulator() as feishu, answers as model:
        scene = Modes(feishu, model, tmp_path_factory.mktemp("modes"))
        scenes.append(scene)
        try:
            await scene.start_all()
            yield scene
        finally:
            await asyncio.gather(*(gateway.stop() for gateway in scene.gateways.values()))
            scene.store.close()


async def test_a_group_that_is_observed_is_recorded_and_not_shared(modes: Modes) -> None:
    modes.when("in the observed group", ToolCall("group_transcript", {"limit": 5}), "I cannot know.")
    await modes.feishu.say(modes.observed, modes.bo, "only for the record")
    await modes.ask(modes.observed, modes.ada, "@Alpha in the observed group?", modes.alpha, "cannot know")
    await modes.recorded(modes.observed, 3)
    request = modes.request("in the observed group")
    assert "only for the record" not in request.text
    assert "not shared" in request.tool_results[0]


async def test_a_group_that_is_off_is_answered_and_not_recorded(modes: Modes) -> None:
    modes.when("in the silent group", "Here I am.")
    await modes.feishu.say(modes.off, modes.bo, "leave no trace")
    await modes.ask(modes.off, modes.ada, "@Alpha in the silent group?", modes.alpha, "Here I am.")
    assert modes.traces(modes.off.chat_id, "leave no trace", "Here I am.") == []


async def test_any_other_group_is_shared(modes: Modes) -> None:
    modes.when("in the open group", "I heard.")
    await modes.feishu.say(modes.other, modes.bo, "for everybody")
    await modes.ask(modes.other, modes.ada, "@Alpha in the open group?", modes.alpha, "I heard.")
    assert '"text": "for everybody"' in modes.request("in the open group").text
    await modes.recorded(modes.other, 3)


async def test_switched_off_nanobot_answers_as_if_the_plugin_were_not_there(modes: Modes) -> None:
    modes.when("anybody there", "Yes.")
    message = await modes.feishu.say(modes.other, modes.bo, "not for Beta")
    await modes.ask(modes.other, modes.ada, "@Beta anybody there?", modes.beta, "Yes.")
    assert message.acks["Beta"] == 200
    request = modes.request("anybody there")
    assert "not for Beta" not in request.text
    assert "group_transcript" not in request.tool_names
    assert not (modes.folder / "unused").exists()
    assert "ranscript" not in modes.gateways["Beta"].log.replace(str(modes.folder), "")
