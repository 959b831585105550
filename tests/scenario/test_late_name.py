"""A platform that does not say at the start who the bot is."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from support.scene import Scene
from support.waiting import until

from transcript_channels.simulator import FeishuSimulator, ScriptedModel

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def late(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    """Alpha's gateway, started while the platform refuses to describe the bot."""
    answers = ScriptedModel(lambda request: "Here.")
    async with FeishuSimulator() as feishu, answers as model:
        scene = Scene(feishu, model, tmp_path_factory.mktemp("late"))
        feishu.fail("GET /open-apis/bot/v3/info", times=1, code=99991400)
        gateway = await scene.start(scene.alpha)
        try:
            yield scene
        finally:
            await gateway.stop()
            scene.store.close()


async def test_the_name_is_learned_later_and_new_entries_use_it(late: Scene) -> None:
    await until(lambda: (bot := late.store.members.bot_of(late.alpha.app_id)) and bot.name == "Alpha")
    group = late.group(late.alpha, late.ada, late.bo)
    await late.ask(group, late.ada, "@Alpha are you there?", late.alpha, "Here.")
    entries = await late.recorded(group, 2)
    assert [entry["sender"] for entry in entries] == [late.ada.union_id, "Alpha"]
    await late.feishu.say(group, late.ada, "@Bo and you?")
    assert late.requests("and you") == 0
