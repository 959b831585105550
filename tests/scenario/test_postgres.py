"""The two gateways once more, with the record in PostgreSQL and each bot in a home of its own."""

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio
import scenario.test_gate as gates
import scenario.test_two_gateways as scenes
from support.demo import Demo
from support.places import open_record
from support.postgres import Cluster, started_cluster
from support.scene import Scene, running_scene
from support.waiting import until

from nanobot_transcript.record import Record

pytestmark = pytest.mark.asyncio(loop_scope="module")

Act = Callable[[Scene], Awaitable[None]]

KILLS: Final = 20

SHORT: list[Act] = [
    scenes.test_people_talk_alpha_answers_and_beta_knows_what_alpha_said,
    scenes.test_a_message_recalled_after_it_was_shown_is_gone_from_the_session,
    scenes.test_what_another_process_takes_back_is_gone_from_the_next_prompt,
    scenes.test_no_line_comes_twice_in_one_session,
    scenes.test_what_is_pushed_twice_is_recorded_and_answered_once,
]


def _is_plain(act: Act) -> bool:
    """Takes the scene and nothing else."""
    return act.__code__.co_varnames[: act.__code__.co_argcount] == ("scene",)


LONG: list[Act] = [
    act
    for name, act in vars(scenes).items()
    if name.startswith("test_")
    and _is_plain(act)
    # puts a folder where a file of the record would lie
    and act not in (*SHORT, scenes.test_what_cannot_be_recorded_is_pushed_again_and_answered_once)
]

GATED: list[Act] = [
    gates.test_a_command_stays_nanobots,
    gates.test_what_follows_on_an_answer_is_answered_by_the_same_bot_only,
]


def variables(cluster: Cluster, schema: str, **more: str) -> dict[str, str]:
    """What a gateway is told: one line of configuration. Its spool lies in its own home."""
    told = {"RECORD__URL": cluster.url, "RECORD__SCHEMA": schema, **more}
    return {f"NANOBOT_TRANSCRIPT_{name}": value for name, value in told.items()}


def seen_from_here(scene: Scene, cluster: Cluster, schema: str) -> Record:
    """What the test looks at instead of files."""
    record = open_record(f"{cluster.url}#{schema}")
    scene.look_at(record)
    return record


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    """Two real nanobot gateways whose record is in a database."""
    pytest.importorskip("nanobot")
    async with running_scene(tmp_path_factory.mktemp("scene"), variables=variables(cluster, "scene")) as running:
        with seen_from_here(running, cluster, "scene"):
            yield running


@pytest.mark.parametrize("act", SHORT, ids=lambda act: act.__name__.removeprefix("test_"))
async def test_a_scene_goes_on_with_the_record_in_a_database(act: Act, scene: Scene) -> None:
    scene.begin()
    await act(scene)
    assert not scene.store_dir.exists()


@pytest.mark.soak
@pytest.mark.parametrize("act", LONG, ids=lambda act: act.__name__.removeprefix("test_"))
async def test_every_scene_goes_on_with_the_record_in_a_database(act: Act, scene: Scene) -> None:
    scene.begin()
    await act(scene)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gated(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    """The same two in mode gate, each with a relay of what mentions it."""
    pytest.importorskip("nanobot")
    chosen = variables(cluster, "gated", GROUPS__MODE="gate", RELAY__MODE="mentions")
    async with running_scene(tmp_path_factory.mktemp("gated"), variables=chosen, to_beta=("Ada", "Bo")) as running:
        with seen_from_here(running, cluster, "gated"):
            yield running


@pytest.mark.parametrize("act", GATED, ids=lambda act: act.__name__.removeprefix("test_"))
async def test_the_gate_decides_with_the_record_in_a_database(act: Act, gated: Scene) -> None:
    gated.begin()
    await act(gated)


async def test_of_two_that_may_answer_one_claims_it_in_the_database(gated: Scene) -> None:
    gated.when("release date", "Next week.")
    group = gated.group()
    question = await gated.feishu.say(group, gated.ada, "Does anyone know the release date?")
    (_, answer) = await gated.recorded(group, 2)
    loser = gated.gateways["Beta" if answer.get("agent") == "Alpha" else "Alpha"]
    await until(lambda: f"{question.message_id} was answered by another bot" in loser.log)
    assert [entry.get("reply_to") for entry in gated.record(group)[1:]] == [question.message_id]


async def test_one_bot_hears_the_other_through_the_database(gated: Scene) -> None:
    gated.when("consult", "@Beta what is seven times six?")
    gated.when("seven times six", "It is 42.")
    group = gated.group()
    await gated.ask(group, gated.ada, "@Alpha please consult somebody", gated.alpha, "seven times six")
    await gated.feishu.wait_for_message(group, gated.beta, "It is 42.")
    entries = await gated.recorded(group, 3)
    assert [(entry.get("agent"), entry.get("hop")) for entry in entries[1:]] == [("Alpha", 1), ("Beta", 2)]


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_each_message_stands_once_however_often_the_server_is_killed(
    tmp_path_factory: pytest.TempPathFactory, soak_row: Callable[..., None]
) -> None:
    """What is said to a bot gets one answer or, while nobody knows whether another one answers, none."""
    pytest.importorskip("nanobot")
    with started_cluster() as own:
        chosen = variables(own, "killed", GROUPS__MODE="gate")
        async with running_scene(tmp_path_factory.mktemp("killed"), variables=chosen, to_beta=("Ada", "Bo")) as scene:
            with seen_from_here(scene, own, "killed"):
                scene.when("release date", "Next week.")
                scene.when("are you there", "Here I am.")
                group = scene.group()
                for number in range(KILLS):
                    await scene.feishu.say(group, scene.bo, f"before {number}")
                    asking = asyncio.ensure_future(
                        scene.feishu.say(group, scene.ada, f"Does anyone know the release date of {number}?")
                    )
                    own.kill()
                    await scene.feishu.say(group, scene.bo, f"while it is down {number}")
                    await asyncio.to_thread(own.start)
                    await asking
                    await scene.ask(group, scene.ada, "@Alpha are you there", scene.alpha, "Here I am.")
                said = [message for message in group.messages if not message.recalled]
                await until(lambda: len(scene.record(group)) >= len(said))
                await until(lambda: sorted(scene.texts(group)) == sorted(message.text for message in said))
                answers = Counter(entry.get("reply_to") for entry in scene.record(group) if entry.get("agent"))
    assert [count for count in answers.values() if count > 1] == []
    assert sum(answers.values()) >= KILLS  # who is asked by name answers once the server is back
    soak_row(kills=KILLS, said=len(said), recorded=len(said), answered=sum(answers.values()), answered_twice=0)


@pytest.mark.soak
async def test_gateways_that_start_without_the_database_answer_once_it_is_there(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    pytest.importorskip("nanobot")
    with started_cluster() as own:
        own.stop()
        async with running_scene(tmp_path_factory.mktemp("early"), variables=variables(own, "early")) as scene:
            scene.when("are you there", "Here I am.")
            group = scene.group()
            early = await scene.feishu.say(group, scene.bo, "is anybody there?")
            await asyncio.to_thread(own.start)
            with seen_from_here(scene, own, "early"):
                assert [entry["message_id"] for entry in await scene.recorded(group, 1)] == [early.message_id]
                await scene.ask(group, scene.ada, "@Alpha are you there", scene.alpha, "Here I am.")
                await scene.recorded(group, 3)
                await until(lambda: {bot.name for bot in scene.store.members.bots()} == {"Alpha", "Beta"})


@pytest.mark.soak
@pytest.mark.parametrize("host", ["nanobot", "runner"])
async def test_the_demo_plays_with_its_record_in_a_database(host: str, cluster: Cluster, tmp_path: Path) -> None:
    pytest.importorskip("nanobot")
    schema = f"mine_{host}"
    with open_record(f"{cluster.url}#{schema}") as mine:  # what a person has of their own stays as it is
        for account, name in (("cli_mine", "Alpha"), ("cli_too", "Beta")):
            mine.members.remember_bot(account, name)
        demo = Demo(tmp_path, "--host", host, "--json", **variables(cluster, schema))
        try:
            assert await asyncio.to_thread(demo.end) == 0, demo.seen
            demo.expect_all_scenes()
            assert "(schema demo_" in demo.document["transcript"]["store"]
            assert "the schema with the transcript is dropped from the database" in " ".join(demo.seen.split())
            assert "entries in the database" in demo.seen
        finally:
            demo.close()
        assert (mine.store.chats(), {bot.account for bot in mine.members.bots()}) == ([], {"cli_mine", "cli_too"})
    assert demo_schemas(cluster) == []


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.soak)])
async def test_a_demo_that_is_stopped_leaves_no_schema(
    number: signal.Signals, cluster: Cluster, tmp_path: Path
) -> None:
    demo = Demo(tmp_path, "--host", "runner", **variables(cluster, "mine_stopped"))
    try:
        await asyncio.to_thread(demo.until, "4  An open question")
        assert len(demo_schemas(cluster)) == 1
        demo.signal(number)
        assert await asyncio.to_thread(demo.end) == 130, demo.seen
        demo.expect_nothing_left()
    finally:
        demo.close()
    assert demo_schemas(cluster) == []


async def test_at_a_terminal_the_page_shows_the_group_that_is_in_the_database(cluster: Cluster, tmp_path: Path) -> None:
    demo = Demo(tmp_path, "--host", "runner", terminal=True, NO_COLOR="1", **variables(cluster, "mine_page"))
    try:
        at = await asyncio.to_thread(demo.until, "in a schema of its own: demo_")
        await asyncio.to_thread(demo.until, "RECORD__SCHEMA=demo_", after=at)
        await asyncio.to_thread(demo.until, "Chen │ ", after=at)
        await asyncio.to_thread(demo.post_on_the_page, "@Beta recap", by="Alpha")
        at = await asyncio.to_thread(demo.until, "Beta │ People said", after=at)
        at = await asyncio.to_thread(demo.until, "Alpha │ Thanks.", after=at)
        await asyncio.to_thread(demo.until, "Chen │ ", after=at)
        demo.type("/quit")
        assert await asyncio.to_thread(demo.end) == 0, demo.seen
    finally:
        demo.close()
    assert demo_schemas(cluster) == []


async def test_a_demo_whose_database_is_away_says_so_at_once(tmp_path: Path) -> None:
    away = {"NANOBOT_TRANSCRIPT_RECORD__URL": "postgresql://bot:hunter2@127.0.0.1:1/db"}
    demo = Demo(tmp_path, "--host", "runner", **away)
    try:
        assert await asyncio.to_thread(demo.end) == 3, demo.seen
    finally:
        demo.close()
    assert "Connection refused" in demo.seen
    assert "Hint: See whether PostgreSQL runs" in demo.seen
    assert "hunter2" not in demo.seen
    demo.expect_nothing_left()


def demo_schemas(cluster: Cluster) -> list[str]:
    """The schemas of demos that are there now."""
    return [name for (name,) in cluster.execute("SELECT nspname::text FROM pg_namespace WHERE nspname LIKE 'demo\\_%'")]
