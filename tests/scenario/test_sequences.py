"""Real processes live through some of the sequences: the command ``run``, and nanobot's own gateway with the plugin.

All of them are played in one process in ``tests/contract/hosts``.
"""

from collections.abc import AsyncIterator
from typing import Final

import pytest
import pytest_asyncio
from support.as_processes import PluginAsProcess, RunnerAsProcess
from support.comparing import ASPECTS
from support.differing import NOBODY_ASKS, cases
from support.sequences import SEQUENCES
from support.stage import Stage, Stages

pytest.importorskip("nanobot")
pytestmark = pytest.mark.host

CHOSEN: Final = (
    "what_was_said_before_is_shown",
    "chinese_is_understood",
    "a_mention_of_another_bot_is_not_answered",
    "an_alias_is_as_good_as_the_name",
    "an_open_question_is_answered_by_the_only_bot",
    "a_reply_to_the_bot_is_answered",
    "a_thread_in_which_the_bot_spoke_goes_on_without_its_name",
    "what_was_taken_back_is_not_shown",
    "a_mention_by_another_bot_is_answered",
    "a_follow_up_after_a_restart_is_answered",
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stages(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stages]:
    """Both processes for all tests."""
    made = [Stage(tmp_path_factory.mktemp(kind.__name__), kind) for kind in (RunnerAsProcess, PluginAsProcess)]
    async with Stages(made[0], made[1]) as running:
        yield running


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("name", "aspect"), list(cases(CHOSEN)))
async def test_both_processes_make_the_same_of_it(stages: Stages, name: str, aspect: str) -> None:
    runner, plugin = ASPECTS[aspect](*await stages.outcomes(SEQUENCES[name]))
    assert runner == plugin
    assert aspect != "asker" or name in NOBODY_ASKS or any(runner)
