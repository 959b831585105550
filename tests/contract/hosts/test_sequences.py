"""Whatever happens in a group, both hosts make the same of it.

``FAILING`` is the list of what is to be mended; ``OWN_WAYS`` and the tables of ``support/comparing.py`` say where the
hosts may differ, and why.
"""

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, Final

import pytest
import pytest_asyncio
from support.comparing import ASPECTS
from support.in_process import PluginInProcess, RunnerInProcess
from support.sequences import SEQUENCES
from support.stage import Outcome, Stage

pytest.importorskip("nanobot")

Key = tuple[str, str]

OWN_WAYS: Final[dict[str, tuple[str, ...]]] = {}
UNASKED: Final[frozenset[str]] = frozenset()
FAILING: Final[dict[Key, str]] = {}


def _cases() -> Iterator[Any]:
    for name in SEQUENCES:
        for aspect in ASPECTS:
            if (name, aspect) not in OWN_WAYS:
                reason = FAILING.get((name, aspect))
                yield pytest.param(name, aspect, marks=pytest.mark.xfail(reason=reason, strict=True) if reason else ())


class Stages:
    """Both hosts, and what they have made of the sequences so far."""

    def __init__(self, runner: Stage, plugin: Stage) -> None:
        self._stages = runner, plugin
        self._played: dict[str, tuple[Outcome, Outcome]] = {}

    async def outcomes(self, name: str) -> tuple[Outcome, Outcome]:
        """What the runner and the plugin make of a sequence; it is played once."""
        if name not in self._played:
            runner, plugin = [await stage.live_through(SEQUENCES[name]) for stage in self._stages]
            self._played[name] = runner, plugin
        return self._played[name]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stages(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stages]:
    """Both hosts for all tests."""
    made = [Stage(tmp_path_factory.mktemp(kind.__name__), kind) for kind in (RunnerInProcess, PluginInProcess)]
    for stage in made:
        await stage.start()
    yield Stages(made[0], made[1])
    for stage in made:
        await stage.stop()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("name", "aspect"), _cases())
async def test_both_hosts_make_the_same_of_it(stages: Stages, name: str, aspect: str) -> None:
    runner, plugin = ASPECTS[aspect](*await stages.outcomes(name))
    assert runner == plugin
