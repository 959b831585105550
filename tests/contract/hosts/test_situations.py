"""Four bots, two people, nobody who judges: who answers, where nobody has spoken yet and where everybody has.

Each bot has a host, a configuration and a home of its own. All they share is the record. With a process for each of
them: ``tests/scenario/test_situations.py``.
"""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Final

import pytest
import pytest_asyncio
from support.in_process import PluginInProcess, RunnerInProcess
from support.situations import ANSWER, RARE, SITUATIONS, Office

from transcript_channels.simulator import FeishuSimulator, ScriptedModel

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("nanobot")

SETTINGS: Final[dict[str, Any]] = {
    "groups": {"mode": "gate"},
    "relay": {"mode": "mentions"},
    "turns": {"claim": {"longest_wait": 0.05, "ttl": 2.0}},
}


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=[RunnerInProcess, PluginInProcess])
async def office(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Office]:
    shared: Path = tmp_path_factory.mktemp("record")
    async with FeishuSimulator(ack_timeout=30.0) as feishu, ScriptedModel(lambda _: ANSWER) as model:
        made = Office(feishu)
        for app in made.apps:
            own = {"agents": {app.app_id: {"name": app.name}}, "store": {"dir": str(shared)}}
            home = tmp_path_factory.mktemp("home")
            host = request.param(home, feishu, model, app, {**SETTINGS, **own})
            await host.start()
            made.hosts.append(host)
        for host in made.hosts:
            await host.settled()
        yield made
        for host in reversed(made.hosts):
            await host.stop()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("kind", ["cold", "warm"])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.soak) if name in RARE else name for name in SITUATIONS]
)
async def test_who_is_meant_answers_and_nobody_else(office: Office, name: str, kind: str) -> None:
    group = office.groups[name, kind]
    if kind == "warm":
        await office.warm_up(group)
    _, names = await office.play(group, name)
    assert SITUATIONS[name].is_met_by(names), names
