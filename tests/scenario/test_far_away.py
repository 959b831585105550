"""The two gateways once more, with the record in another process and 20 ms away."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
import scenario.test_gate as gates
import scenario.test_two_gateways as scenes
from support.far_away import far_away, nobody_was_blocked, spool_of
from support.scene import Scene, running_scene
from support.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="module")

Act = Callable[[Scene], Awaitable[None]]

SHORT: list[Act] = [
    scenes.test_people_talk_alpha_answers_and_beta_knows_what_alpha_said,
    scenes.test_a_message_recalled_after_it_was_shown_is_gone_from_the_session,
    scenes.test_what_another_process_takes_back_is_gone_from_the_next_prompt,
    scenes.test_a_private_chat_leaves_no_trace,
    scenes.test_no_line_comes_twice_in_one_session,
    scenes.test_what_is_pushed_twice_is_recorded_and_answered_once,
]

GATED: list[Act] = [
    gates.test_a_message_for_somebody_else_costs_no_reaction_and_no_token,
    gates.test_what_follows_on_an_answer_is_answered_by_the_same_bot_only,
    gates.test_a_command_stays_nanobots,
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scene")


SPOOLED = [False, pytest.param(True, marks=pytest.mark.soak)]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SPOOLED, ids=["told", "accepted"])
async def scene(request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Scene]:
    """Two real nanobot gateways whose record is far away."""
    pytest.importorskip("nanobot")
    place = folder / f"spooled-{request.param}"
    place.mkdir()
    with far_away(folder) as far:
        told = far(spooled=request.param)
        async with running_scene(place, variables=told) as running:
            running.spool_dir = spool_of(told)
            yield running


@pytest.mark.soak  # `test_postgres` plays them in CI
@pytest.mark.parametrize("act", SHORT, ids=lambda act: act.__name__.removeprefix("test_"))
async def test_a_scene_goes_on_over_a_record_that_is_far_away(act: Act, scene: Scene, folder: Path) -> None:
    await act(scene)
    nobody_was_blocked(folder)


@pytest.mark.soak
async def test_every_scene_goes_on_over_a_record_that_is_far_away(scene: Scene, folder: Path) -> None:
    acts = [act for name, act in vars(scenes).items() if name.startswith("test_") and _is_plain(act)]
    if scene.spool_dir is not None:  # what the record refuses is not the platform's business any more
        acts.remove(scenes.test_what_cannot_be_recorded_is_pushed_again_and_answered_once)
    assert len(acts) > 20
    for act in acts:
        scene.begin()
        await act(scene)
    nobody_was_blocked(folder)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gated(folder: Path) -> AsyncIterator[Scene]:
    """The same two in mode gate, each with a relay of what mentions it."""
    pytest.importorskip("nanobot")
    place = folder / "gated"
    place.mkdir()
    chosen = {"NANOBOT_TRANSCRIPT_GROUPS__MODE": "gate", "NANOBOT_TRANSCRIPT_RELAY__MODE": "mentions"}
    with far_away(folder) as far:
        async with running_scene(place, variables=far() | chosen, to_beta=("Ada", "Bo")) as running:
            yield running


@pytest.mark.parametrize("act", GATED, ids=lambda act: act.__name__.removeprefix("test_"))
async def test_the_gate_decides_over_a_record_that_is_far_away(act: Act, gated: Scene, folder: Path) -> None:
    await act(gated)
    nobody_was_blocked(folder)


async def test_of_two_that_may_answer_one_claims_it_over_a_record_that_is_far_away(gated: Scene, folder: Path) -> None:
    gated.when("release date", "Next week.")
    group = gated.group()
    question = await gated.feishu.say(group, gated.ada, "Does anyone know the release date?")
    (_, answer) = await gated.recorded(group, 2)
    loser = gated.gateways["Beta" if answer.get("agent") == "Alpha" else "Alpha"]
    await until(lambda: f"{question.message_id} was answered by another bot" in loser.log)
    assert [entry.get("reply_to") for entry in gated.record(group)[1:]] == [question.message_id]
    nobody_was_blocked(folder)


async def test_one_bot_hears_the_other_over_a_record_that_is_far_away(gated: Scene, folder: Path) -> None:
    gated.when("consult", "@Beta what is seven times six?")
    gated.when("seven times six", "It is 42.")
    group = gated.group()
    await gated.ask(group, gated.ada, "@Alpha please consult somebody", gated.alpha, "seven times six")
    await gated.feishu.wait_for_message(group, gated.beta, "It is 42.")
    entries = await gated.recorded(group, 3)
    assert [(entry.get("agent"), entry.get("hop")) for entry in entries[1:]] == [("Alpha", 1), ("Beta", 2)]
    nobody_was_blocked(folder)


def _is_plain(act: Act) -> bool:
    """Takes the scene and nothing else."""
    return act.__code__.co_varnames[: act.__code__.co_argcount] == ("scene",)
