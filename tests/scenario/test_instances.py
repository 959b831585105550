"""Several bots in one nanobot process."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from support.scene import Scene
from support.waiting import until

from transcript_channels.simulator import App, FeishuSimulator, ScriptedModel

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="module")]


def instance(app: App, name: str) -> dict[str, str]:
    return {"id": name.lower(), "name": name, "appId": app.app_id, "appSecret": app.app_secret}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def twins(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    """One gateway with the instances Alfa and Bravo; the platform calls both bots ``Assistant``."""
    scenes: list[Scene] = []
    answers = ScriptedModel(lambda request: scenes[0].answer(request))  # noqa: PLW0108 - filled below
    async with FeishuSimulator() as feishu, answers as model:
        scene = Scene(feishu, model, tmp_path_factory.mktemp("twins"))
        scenes.append(scene)
        instances = [instance(scene.alpha, "Alfa"), instance(scene.beta, "Bravo")]
        gateway = await scene.start(scene.alpha, channel={"instances": instances})
        try:
            await feishu.wait_connected(scene.alpha, scene.beta)
            # Until then nanobot takes a mention of anybody for a mention of its bot.
            await until(lambda: gateway.log.count("bot open_id: ") == len(instances))
            yield scene
        finally:
            await gateway.stop()
            scene.store.close()


async def test_each_bot_of_a_process_has_its_name_its_lines_and_its_sessions(twins: Scene) -> None:
    group = twins.group()
    twins.when("first one", "I am the first.")
    twins.when("second one", "And I the second.")
    await twins.ask(group, twins.ada, "@Alpha first one?", twins.alpha)
    await twins.recorded(group, 2)
    await twins.ask(group, twins.ada, "@Beta second one?", twins.beta)
    entries = await twins.recorded(group, 4)
    assert [(entry["sender"], entry["content"]) for entry in entries[1::2]] == [
        ("Alfa", "I am the first."),
        ("Bravo", "And I the second."),
    ]
    prompt = twins.request("second one").text
    assert '"from": "Alfa", "bot": true' in prompt
    assert "I am the first." in prompt


async def test_a_message_for_both_is_shown_to_neither_as_somebody_elses(twins: Scene) -> None:
    group = twins.group()
    twins.when("both of you", "Here.")
    await twins.feishu.say(group, twins.ada, "@Alpha @Beta both of you?")
    for app in (twins.alpha, twins.beta):
        await twins.feishu.wait_for_message(group, app, "Here.")
    for request in twins.model.requests:
        if "both of you" in request.last_user_text:
            assert request.text.count("both of you") == 1
