"""A bundle of forwarded messages that comes in live is opened once, by whichever host is first."""

import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import pytest
from support.in_process import HostInProcess, PluginInProcess, RunnerInProcess

from transcript_channels.simulator import FeishuSimulator, ScriptedModel

pytest.importorskip("nanobot")

ASKED: Final = "GET /open-apis/im/v1/messages/{message_id}"
INSIDE: Final = "[forwarded messages]\n> Ada: The deploy is done.\n> Bo: And the tests?"
HOSTS: Final = {"run": RunnerInProcess, "nanobot": PluginInProcess}


async def settled(hosts: Sequence[HostInProcess]) -> None:
    for host in hosts:
        await host.settled()


@pytest.mark.parametrize("calls", [100, 0])
@pytest.mark.parametrize("host", HOSTS)
async def test_a_bundle_is_opened_once_within_the_budget(host: str, calls: int, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        feishu = await stack.enter_async_context(FeishuSimulator(ack_timeout=30.0))
        model = await stack.enter_async_context(ScriptedModel(lambda _: "All right."))
        ada, bo, apps = (
            feishu.add_person("Ada"),
            feishu.add_person("Bo"),
            [feishu.add_app("Alpha"), feishu.add_app("B")],
        )
        group, other = feishu.add_group("Team", [ada, bo, *apps]), feishu.add_group("Other", [ada, bo])
        hosts: list[HostInProcess] = []
        for app in apps:
            own: dict[str, Any] = {
                "agents": {app.app_id: {"name": app.name}},
                "store": {"dir": str(tmp_path / "record")},
                "history": {"calls_per_hour": calls},
            }
            (home := tmp_path / app.name).mkdir()
            hosts.append(HOSTS[host](home, feishu, model, app, own))
            await hosts[-1].start()
            stack.push_async_callback(hosts[-1].stop)
        said = [await feishu.say(other, ada, "The deploy is done."), await feishu.say(other, bo, "And the tests?")]
        await feishu.forward(group, ada, said)
        await settled(hosts)
        (entry,) = hosts[0].record.store.recent(f"feishu:{group.chat_id}").entries
        assert entry["content"] == (INSIDE if calls else "[forwarded messages]")
        assert len(feishu.calls_to(ASKED)) == (1 if calls else 0)
        await feishu.say(group, ada, "@Alpha sum that up")
        await settled(hosts)
        assert ("And the tests?" in json.dumps(model.requests[-1])) == bool(calls)
