"""Whatever happens in a group, both hosts make the same of it.

``FAILING`` of ``support/differing.py`` is the list of what is to be mended; ``OWN_WAYS`` there, and the tables of
``support/comparing.py``, say where the hosts may differ.
"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from support.comparing import ASPECTS
from support.differing import NOBODY_ASKS, cases
from support.in_process import PluginInProcess, RunnerInProcess
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
@pytest.mark.parametrize(("name", "aspect"), list(cases(SEQUENCES)))
async def test_both_hosts_make_the_same_of_it(stages: Stages, name: str, aspect: str) -> None:
    runner, plugin = ASPECTS[aspect](*await stages.outcomes(SEQUENCES[name]))
    assert runner == plugin
    assert aspect != "asker" or name in NOBODY_ASKS or any(runner)
