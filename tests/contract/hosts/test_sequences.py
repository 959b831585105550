"""Whatever happens in a group, both hosts make the same of it."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from support import sequences
from support.in_process import PluginInProcess, RunnerInProcess
from support.stage import Outcome, Stage

pytest.importorskip("nanobot")

Outcomes = dict[str, tuple[Outcome, Outcome]]

SEQUENCES = {name: one for name, one in vars(sequences).items() if getattr(one, "__module__", "") == sequences.__name__}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stages(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Stage, Stage]]:
    """The runner's stage and the plugin's."""
    made = [Stage(tmp_path_factory.mktemp(kind.__name__), kind) for kind in (RunnerInProcess, PluginInProcess)]
    for stage in made:
        await stage.start()
    yield made[0], made[1]
    for stage in made:
        await stage.stop()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", SEQUENCES)
async def test_both_hosts_write_the_same_entries(stages: tuple[Stage, Stage], name: str) -> None:
    runner, plugin = [await stage.live_through(SEQUENCES[name]) for stage in stages]
    assert runner.entries == plugin.entries
