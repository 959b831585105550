"""The two gateways once more, with the record in another process and 20 ms away."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
import scenario.test_two_gateways as scenes
from support.far_away import far_away, nobody_was_blocked
from support.scene import Scene, running_scene

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="module")]

Act = Callable[[Scene], Awaitable[None]]

SHORT: list[Act] = [
    scenes.test_people_talk_alpha_answers_and_beta_knows_what_alpha_said,
    scenes.test_a_message_recalled_after_it_was_shown_is_gone_from_the_session,
    scenes.test_what_another_process_takes_back_is_gone_from_the_next_prompt,
    scenes.test_a_private_chat_leaves_no_trace,
    scenes.test_no_line_comes_twice_in_one_session,
    scenes.test_what_is_pushed_twice_is_recorded_and_answered_once,
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
        async with running_scene(place, variables=far(spooled=request.param)) as running:
            yield running


@pytest.mark.parametrize("act", SHORT, ids=lambda act: act.__name__.removeprefix("test_"))
async def test_a_scene_goes_on_over_a_record_that_is_far_away(act: Act, scene: Scene, folder: Path) -> None:
    scene.unscripted()
    await act(scene)
    nobody_was_blocked(folder)


@pytest.mark.soak
async def test_every_scene_goes_on_over_a_record_that_is_far_away(scene: Scene, folder: Path) -> None:
    acts = [act for name, act in vars(scenes).items() if name.startswith("test_") and _is_plain(act)]
    assert len(acts) > 20
    for act in acts:
        scene.unscripted()
        await act(scene)
    nobody_was_blocked(folder)


def _is_plain(act: Act) -> bool:
    """Takes the scene and nothing else."""
    return act.__code__.co_varnames[: act.__code__.co_argcount] == ("scene",)
