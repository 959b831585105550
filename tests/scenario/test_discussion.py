"""Real gateways that hear each other: a discussion ends by itself, whatever the platform pushes."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from support.scene import Scene
from support.waiting import until

from transcript_channels.simulator import Chat, FeishuSimulator, ScriptedModel, scopes

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="module")]

LIMIT = 4


class Discussion(Scene):
    """Whoever is asked says something to the other one, each time something new."""

    spoken = 0

    def reply(self, name: str) -> str:
        """What ``name`` says next."""
        self.spoken += 1
        return f"@{name} point {self.spoken}, what do you think of {self.spoken * 7}?"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def two(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Discussion]:
    """Alpha in mode gate and Beta in mode listen, with a relay each."""
    pytest.importorskip("nanobot")
    scenes: list[Discussion] = []

    def answer(request: object) -> str:
        key = getattr(request, "api_key", "")
        return scenes[0].reply("Beta" if key == "Alpha" else "Alpha")

    async with FeishuSimulator() as feishu, ScriptedModel(answer) as model:
        scene = Discussion(feishu, model, tmp_path_factory.mktemp("discussion"))
        scenes.append(scene)
        try:
            await asyncio.gather(
                scene.start(
                    scene.alpha, NANOBOT_TRANSCRIPT_GROUPS__MODE="gate", NANOBOT_TRANSCRIPT_RELAY__MODE="mentions"
                ),
                scene.start(scene.beta, channel={"streaming": False}, NANOBOT_TRANSCRIPT_RELAY__MODE="mentions"),
            )
            yield scene
        finally:
            await asyncio.gather(*(gateway.stop() for gateway in scene.gateways.values()))
            scene.store.close()


async def discuss(scene: Discussion) -> Chat:
    """Ask for a discussion and wait until nobody goes on."""
    group = scene.group()
    await scene.feishu.say(group, scene.bo, "a first message", wait=True)
    await scene.feishu.say(group, scene.ada, "@Alpha discuss it with Beta")
    await until(lambda: len(group.messages) == 2 + LIMIT, 40)
    asked = scene.alpha if group.messages[-1].sender is scene.beta else scene.beta
    refused = f"{group.messages[-1].message_id} is not relayed: hop_limit"
    await until(lambda: refused in scene.gateways[asked.name].log, 20)
    return group


def include_bots(scene: Discussion, *, on: bool) -> None:
    """Whether the platform pushes to each bot what the other one says."""
    for app in (scene.alpha, scene.beta):
        for scope in (scopes.GROUP_MSG_INCLUDE_BOT, scopes.GROUP_AT_MSG_INCLUDE_BOT):
            (app.grant if on else app.revoke)(scope)


async def stops(scene: Discussion, *, pushed: bool) -> None:
    include_bots(scene, on=pushed)
    group = await discuss(scene)
    # What was overheard first gets the sender's own fields a moment later.
    await until(lambda: all("hop" in entry for entry in scene.record(group)[2:]))
    entries = await scene.recorded(group, 2 + LIMIT)
    assert [entry.get("agent") for entry in entries[2:]] == ["Alpha", "Beta"] * (LIMIT // 2)
    assert [entry.get("hop") for entry in entries[2:]] == list(range(1, LIMIT + 1))
    assert len(group.messages) == 2 + LIMIT


@pytest.mark.timeout(120)
@pytest.mark.parametrize("pushed", [False, True])
async def test_two_bots_that_discuss_stop_at_the_limit(two: Discussion, pushed: bool) -> None:
    await stops(two, pushed=pushed)


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("pushed", [False, True])
async def test_two_bots_that_discuss_stop_at_the_limit_every_time(two: Discussion, pushed: bool) -> None:
    for _ in range(20):
        await stops(two, pushed=pushed)


@pytest.mark.timeout(120)
async def test_a_person_in_between_lets_them_go_on(two: Discussion) -> None:
    include_bots(two, on=False)
    group = await discuss(two)
    await two.feishu.say(group, two.ada, "@Beta and what else?")
    await until(lambda: len(group.messages) == 3 + 2 * LIMIT, 40)
    entries = await two.recorded(group, 3 + 2 * LIMIT)
    assert [entry.get("agent") for entry in entries[3 + LIMIT :]] == ["Beta", "Alpha"] * (LIMIT // 2)
