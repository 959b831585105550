"""Real gateways that hear each other: a discussion ends by itself, whatever the platform pushes."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

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
    await until(lambda: len(group.messages) == 2 + LIMIT)
    asked = scene.alpha if group.messages[-1].sender is scene.beta else scene.beta
    refused = f"{group.messages[-1].message_id} is not relayed: hop_limit"
    await until(lambda: refused in scene.gateways[asked.name].log)
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


@pytest.mark.parametrize("pushed", [False, True])
async def test_two_bots_that_discuss_stop_at_the_limit(two: Discussion, pushed: bool) -> None:
    await stops(two, pushed=pushed)


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("pushed", [False, True])
async def test_two_bots_that_discuss_stop_at_the_limit_every_time(two: Discussion, pushed: bool, soak_row: Any) -> None:
    for _ in range(20):
        await stops(two, pushed=pushed)
    soak_row(discussions=20, pushed=pushed, beyond_the_limit=0)


async def test_a_person_in_between_lets_them_go_on(two: Discussion) -> None:
    include_bots(two, on=False)
    group = await discuss(two)
    await two.feishu.say(group, two.ada, "@Beta and what else?")
    await until(lambda: len(group.messages) == 3 + 2 * LIMIT)
    entries = await two.recorded(group, 3 + 2 * LIMIT)
    assert [entry.get("agent") for entry in entries[3 + LIMIT :]] == ["Beta", "Alpha"] * (LIMIT // 2)


class Talk(Scene):
    """Alpha hears everything and answers it, Beta hears everything and the gate decides; neither writes an @."""

    spoken = 0
    sky = False

    def begin(self) -> None:
        super().begin()
        self.sky = False

    def reply(self, name: str) -> str:
        """What ``name`` says next; Alpha calls Beta by name, Beta nobody."""
        if self.sky:
            return "The sky is blue, Ada." if name == "Alpha" else "So it is."
        self.spoken += 1
        return f"Beta, what of {self.spoken * 7}?" if name == "Alpha" else f"It is number {self.spoken}, I think."


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def talk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Talk]:
    """Alpha in mode listen, Beta in mode gate, with a relay of everything each."""
    pytest.importorskip("nanobot")
    scenes: list[Talk] = []
    async with FeishuSimulator() as feishu, ScriptedModel(lambda one: scenes[0].reply(one.api_key)) as model:
        scene = Talk(feishu, model, tmp_path_factory.mktemp("talk"))
        scenes.append(scene)
        relay = {"NANOBOT_TRANSCRIPT_RELAY__MODE": "all"}
        try:
            await asyncio.gather(
                scene.start(scene.alpha, **relay),
                scene.start(scene.beta, channel={"streaming": False}, NANOBOT_TRANSCRIPT_GROUPS__MODE="gate", **relay),
            )
            yield scene
        finally:
            await asyncio.gather(*(gateway.stop() for gateway in scene.gateways.values()))
            scene.store.close()


async def test_with_everything_relayed_bots_hear_what_mentions_nobody_and_stop_at_the_limit(talk: Talk) -> None:
    group = talk.group()
    await talk.feishu.say(group, talk.bo, "a first message", wait=True)
    await talk.feishu.say(group, talk.ada, "@Beta say something")
    await until(lambda: len(group.messages) == 2 + LIMIT)
    last = group.messages[-1].message_id
    await until(lambda: f"{last} is not relayed: hop_limit" in talk.gateways["Beta"].log)
    await until(lambda: all("hop" in entry for entry in talk.record(group)[2:]))
    said = [(entry.get("agent"), entry.get("hop")) for entry in talk.record(group)[2:]]
    assert said == [("Beta", 1), ("Alpha", 2), ("Beta", 3), ("Alpha", 4)]
    assert len(group.messages) == 2 + LIMIT


async def test_with_everything_relayed_the_gate_leaves_what_another_bot_says_to_a_person(talk: Talk) -> None:
    group = talk.group(talk.alpha, talk.beta, talk.ada)
    talk.sky = True
    await talk.feishu.say(group, talk.ada, "both are here", wait=True)
    answer = await talk.ask(group, talk.ada, "@Alpha what colour is the sky?", talk.alpha, "blue")
    await until(lambda: f"Beta leaves {answer.message_id}: " in talk.gateways["Beta"].log)
    asked = await talk.feishu.say(group, talk.ada, "@Beta is it?")
    await talk.feishu.wait_for_message(group, talk.beta, "So it is.")
    (first,) = talk.feishu.messages(group, talk.beta)
    assert first.created_ms >= asked.created_ms
