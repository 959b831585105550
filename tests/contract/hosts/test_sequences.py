"""Whatever happens in a group, both hosts make the same of it.

``FAILING`` of ``support/differing.py`` is the list of what is to be mended; ``OWN_WAYS`` there, and the tables of
``support/comparing.py``, say where the hosts may differ.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from support.comparing import ASPECTS
from support.differing import NOBODY_ASKS, SELDOM, cases
from support.in_process import PluginInProcess, RunnerInProcess
from support.play import Play
from support.sequences import SEQUENCES
from support.stage import Stage, Stages

pytest.importorskip("nanobot")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stages(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stages]:
    """Both hosts for all tests."""
    made = [Stage(tmp_path_factory.mktemp(kind.__name__), kind) for kind in (RunnerInProcess, PluginInProcess)]
    async with Stages(made[0], made[1]) as running:
        yield running


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("name", "aspect"), list(cases(SEQUENCES, seldom=SELDOM)))
async def test_both_hosts_make_the_same_of_it(stages: Stages, name: str, aspect: str) -> None:
    runner, plugin = ASPECTS[aspect](*await stages.outcomes(SEQUENCES[name]))
    assert runner == plugin
    assert aspect != "asker" or name in NOBODY_ASKS or any(runner)


@pytest.mark.asyncio(loop_scope="module")
async def test_what_nanobot_took_off_its_queue_and_has_made_no_task_of_is_waited_for(
    stages: Stages, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nanobot.agent import loop

    looks_at = loop.agent_context.handle_runtime_control

    async def looks_long_at(*given: Any) -> bool:
        for _ in range(30):  # longer than it takes to find a host at rest
            await asyncio.sleep(0.02)
        return await looks_at(*given)

    async def the_answer_is_there(play: Play) -> None:
        play.meet_beta()
        await play.say(play.ada, "Good morning.")
        await play.beta_says("@Alpha one?")
        assert play.newest.sender is play.alpha

    monkeypatch.setattr(loop.agent_context, "handle_runtime_control", looks_long_at)
    await stages.outcomes(the_answer_is_there)
