"""Four bots, two people, nobody who judges: who answers, where nobody has spoken yet and where everybody has.

Each bot has a host, a configuration and a home of its own. All they share is the record.
"""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest
import pytest_asyncio
from support.in_process import HostInProcess, PluginInProcess, RunnerInProcess

from transcript_channels.simulator import App, Chat, FeishuSimulator, Message, Person, ScriptedModel

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("nanobot")

BOTS: Final = ("Alpha", "Beta", "小助手", "运维机器人")
SETTINGS: Final[dict[str, Any]] = {
    "groups": {"mode": "gate"},
    "relay": {"mode": "mentions"},
    "turns": {"claim": {"longest_wait": 0.05, "ttl": 2.0}},
}


class Situation(NamedTuple):
    """What Ada says, one thing after the other, and who answers the last one: names, or how many."""

    said: tuple[str, ...]
    by: tuple[str, ...] | int


SITUATIONS: Final = {
    "a_bot_is_called": Situation(("Hey Alpha, when do we ship?",), ("Alpha",)),
    "a_bot_is_called_in_chinese": Situation(("请问Alpha什么时候发布？",), ("Alpha",)),
    "a_bot_is_named_within_a_question": Situation(("Could Beta look at this?",), ("Beta",)),
    "a_person_is_called": Situation(("韩梅梅, did you see the mail?",), ()),
    "two_bots_are_called": Situation(("Alpha和Beta，你们怎么看？",), ("Alpha", "Beta")),
    "the_talk_turns_to_another_bot": Situation(("@Alpha 你同意吗？", "Beta你呢？"), ("Beta",)),
    "the_talk_turns_to_a_person": Situation(("@小助手 总结一下", "韩梅梅你觉得呢？"), ()),
    "nobody_in_particular_is_asked": Situation(("Does anyone know the deploy command?",), 1),
    "nobody_in_particular_is_asked_in_chinese": Situation(("有人知道部署命令吗？",), 1),
    "a_chinese_bot_is_called": Situation(("小助手，今天有什么安排？",), ("小助手",)),
    "a_person_is_talked_about": Situation(("韩梅梅 is on leave today.",), ()),
    "a_bot_is_asked_about_another": Situation(("@Beta what did Alpha say?",), ("Beta",)),
}

RARE: Final = {
    "nobody_in_particular_is_asked_in_chinese",
    "a_chinese_bot_is_called",
    "a_person_is_talked_about",
    "a_bot_is_asked_about_another",
}
"""Situations that are tried with full repetitions only."""


class Office:
    """Four bots on one platform, each in a host of its own."""

    def __init__(self, feishu: FeishuSimulator, model: ScriptedModel) -> None:
        self.feishu, self.model = feishu, model
        self.ada: Person = feishu.add_person("Ada")
        self.mei: Person = feishu.add_person("韩梅梅")
        self.apps: list[App] = [feishu.add_app(name) for name in BOTS]
        self.hosts: list[HostInProcess] = []
        self.groups: dict[tuple[str, str], Chat] = {
            (name, kind): feishu.add_group(name, [self.ada, self.mei, *self.apps])
            for name in SITUATIONS
            for kind in ("cold", "warm")
        }

    async def say(self, group: Chat, who: Person, text: str) -> list[Message]:
        """Somebody says something; what bots say to it."""
        after = len(group.messages) + 1
        await self.feishu.say(group, who, text)
        for host in self.hosts:
            await host.settled()
        return [message for message in group.messages[after:] if isinstance(message.sender, App)]

    async def warm_up(self, group: Chat) -> None:
        """Everybody says something."""
        await self.say(group, self.mei, "早上好")
        for app in self.apps:
            await self.say(group, self.ada, f"@{app.name} good morning")
        await self.say(group, self.mei, "I am at my desk now.")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=[RunnerInProcess, PluginInProcess])
async def office(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Office]:
    shared: Path = tmp_path_factory.mktemp("record")
    async with FeishuSimulator(ack_timeout=30.0) as feishu, ScriptedModel(lambda _: "All right.") as model:
        made = Office(feishu, model)
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
    group, situation = office.groups[name, kind], SITUATIONS[name]
    if kind == "warm":
        await office.warm_up(group)
    answers: list[Message] = []
    for text in situation.said:
        answers = await office.say(group, office.ada, text)
    names = sorted(answer.sender.name for answer in answers)
    if isinstance(situation.by, int):
        assert len(names) == situation.by
    else:
        assert names == sorted(situation.by)
