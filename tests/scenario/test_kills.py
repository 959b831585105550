"""kill -9 of a gateway at any moment: no acknowledged message is lost, nothing is recorded twice."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio
from support.gateways import Gateway
from support.scene import Scene
from support.waiting import PATIENCE

from transcript_channels.simulator import Chat, FeishuSimulator, Message, Reply, ScriptedModel

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(900)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def killed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    """One gateway, Alpha's, which the tests kill; whatever is in the record, this process wrote it."""
    folder = tmp_path_factory.mktemp("killed")
    answers = ScriptedModel(lambda request: Reply("Yes, I am still here.", chunk_delay=0.01))
    async with FeishuSimulator(repush_delays=(0.2,) * 200) as feishu, answers as model:
        scene = Scene(feishu, model, folder)
        await scene.start(scene.alpha)
        try:
            yield scene
        finally:
            await scene.gateways["Alpha"].stop()
            scene.store.close()


async def chatter(scene: Scene, group: Chat, said: list[Message], stop: asyncio.Event) -> None:
    """Somebody talks without a break; now and then a message asks the bot."""
    while not stop.is_set():
        mention = "@Alpha " if len(said) % 25 == 0 else ""
        text = f"{mention}message {len(said)} " + "x" * random.randrange(2000)
        said.append(await scene.feishu.say(group, scene.ada, text, wait=False))
        await asyncio.sleep(random.random() * 0.01)


async def kill_while_talking(scene: Scene, kills: int) -> tuple[Chat, list[Message], int]:
    """Kill and restart under load; afterwards wait until every message was acknowledged."""
    group, gateway = scene.group(scene.alpha, scene.ada), scene.gateways["Alpha"]
    said: list[Message] = []
    early = 0
    for _ in range(kills):
        stop = asyncio.Event()
        talk, before = asyncio.create_task(chatter(scene, group, said, stop)), len(said)
        await scene.feishu.wait_for(lambda before=before: acknowledged(said[before:]), PATIENCE, "the first is heard")
        await asyncio.sleep(random.uniform(0.0, 0.6))
        await gateway.kill()
        stop.set()
        await talk
        early = await check_acknowledged(scene, group, said)
        await gateway.start()
    pushes = [push for message in said for push in message.pushes]
    await scene.feishu.wait_for(lambda: all(push.acked for push in pushes), PATIENCE, "all acknowledged")
    return group, said, early


async def check_acknowledged(scene: Scene, group: Chat, said: list[Message]) -> int:
    """With the gateway dead: what it acknowledged is in the record."""
    recorded = {entry["message_id"] for entry in scene.record(group)}
    heard = acknowledged(said)
    assert heard <= recorded
    return len(heard)


def acknowledged(said: list[Message]) -> set[str]:
    return {message.message_id for message in said if message.acks.get("Alpha") == 200}


def check_record(scene: Scene, group: Chat, said: list[Message], kills: int) -> None:
    counts = Counter(entry["message_id"] for entry in scene.record(group))
    assert {message_id for message_id, count in counts.items() if count > 1} == set()
    assert {message.message_id for message in said} <= set(counts)
    answers = {message.message_id for message in scene.feishu.messages(group, scene.alpha)}
    assert set(counts) <= answers | {message.message_id for message in said}
    report = scene.store.verify(scene.key(group))
    assert (report.duplicates, report.foreign_lines) == (0, 0)
    assert report.torn_lines <= kills  # half a line that was being written, ended; the platform pushed the whole again


async def test_kills_under_load_lose_nothing_acknowledged_and_double_nothing(killed: Scene) -> None:
    group, said, early = await kill_while_talking(killed, kills=2)
    check_record(killed, group, said, kills=2)
    assert early > 0


async def test_a_restarted_bot_repeats_no_line_to_a_session_it_had(killed: Scene) -> None:
    group, gateway = killed.group(killed.alpha, killed.ada, killed.bo), killed.gateways["Alpha"]
    root = await killed.feishu.say(group, killed.bo, "an old remark")
    await killed.ask(group, killed.ada, "@Alpha before", killed.alpha, "still here", reply_to=root, in_thread=True)
    await killed.recorded(group, 3)
    await restart(gateway)
    await killed.feishu.say(group, killed.bo, "a new remark")
    await killed.ask(group, killed.ada, "@Alpha after", killed.alpha, "still here", reply_to=root, in_thread=True)
    prompt = killed.request("after").text
    assert prompt.count('"text": "an old remark"') == 1
    assert prompt.count("a new remark") == 1
    assert prompt.count("still here") == 1


async def test_what_was_taken_back_while_the_bot_was_dead_is_gone_from_its_next_prompt(killed: Scene) -> None:
    group, gateway = killed.group(killed.alpha, killed.ada, killed.bo), killed.gateways["Alpha"]
    root = await killed.feishu.say(group, killed.bo, "a topic")
    secret = await killed.feishu.say(group, killed.bo, "the code is 4713", reply_to=root, in_thread=True)
    in_topic = {"reply_to": secret, "in_thread": True}
    await killed.ask(group, killed.ada, "@Alpha first", killed.alpha, "still here", **in_topic)
    assert "[Reply to: the code is 4713]" in killed.request("first").text
    assert '"text": "the code is 4713"' in killed.request("first").text
    await killed.recorded(group, 4)
    await gateway.kill()
    assert killed.store.recall(killed.key(group), secret.message_id)
    await gateway.start()
    in_topic["reply_to"] = root
    await killed.ask(group, killed.ada, "@Alpha second", killed.alpha, "still here", **in_topic)
    prompt = killed.request("second").text
    assert "first" in prompt
    assert "4713" not in prompt


async def restart(gateway: Gateway) -> None:
    await gateway.kill()
    await gateway.start()


@pytest.mark.soak
async def test_many_kills_lose_nothing_acknowledged_and_double_nothing(
    killed: Scene, soak_row: Callable[..., None]
) -> None:
    group, said, early = await kill_while_talking(killed, kills=20)
    check_record(killed, group, said, kills=20)
    soak_row(kills=20, messages=len(said), acknowledged_before_a_kill=early, lost=0, doubled=0)
