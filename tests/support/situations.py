"""Four bots, two people, nobody who judges: the situations, who is to answer in each, and the office they happen in."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from transcript_channels.simulator import App, Chat, FeishuSimulator, Message, Person

if TYPE_CHECKING:
    from support.in_process import HostInProcess

__all__ = ["ANSWER", "BOTS", "RARE", "SITUATIONS", "Office", "Situation"]

BOTS: Final = ("Alpha", "Beta", "小助手", "运维机器人")

ANSWER: Final = "All right."
"""What the model says."""


class Situation(NamedTuple):
    """What Ada says, one thing after the other, and who answers the last one: names, or how many."""

    said: tuple[str, ...]
    by: tuple[str, ...] | int

    @property
    def wanted(self) -> str:
        """Who answers, in words."""
        return f"{self.by} of them" if isinstance(self.by, int) else ", ".join(self.by) or "nobody"

    def is_met_by(self, names: Sequence[str]) -> bool:
        """True when these are the bots that are to answer, each once."""
        return len(names) == self.by if isinstance(self.by, int) else sorted(names) == sorted(self.by)


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
    """Four bots on one platform, each in a host of its own, and a group for each situation ``cold`` and ``warm``."""

    def __init__(self, feishu: FeishuSimulator) -> None:
        self.feishu = feishu
        self.ada: Person = feishu.add_person("Ada")
        self.mei: Person = feishu.add_person("韩梅梅")
        self.apps: list[App] = [feishu.add_app(name) for name in BOTS]
        self.hosts: list[HostInProcess] = []
        self.groups: dict[tuple[str, str], Chat] = {
            (name, kind): feishu.add_group(name, [self.ada, self.mei, *self.apps])
            for name in SITUATIONS
            for kind in ("cold", "warm")
        }

    async def settled(self, message: Message) -> None:
        """Wait until every host has dealt with what was said."""
        for host in self.hosts:
            await host.settled()

    async def say(self, group: Chat, who: Person, text: str) -> tuple[Message, list[Message]]:
        """Somebody says something; the message, and what bots say to it."""
        message = await self.feishu.say(group, who, text)
        await self.settled(message)
        later = group.messages[group.messages.index(message) + 1 :]
        return message, [said for said in later if isinstance(said.sender, App)]

    async def warm_up(self, group: Chat) -> None:
        """Everybody says something."""
        await self.say(group, self.mei, "早上好")
        for app in self.apps:
            await self.say(group, self.ada, f"@{app.name} good morning")
        await self.say(group, self.mei, "I am at my desk now.")

    async def play(self, group: Chat, name: str) -> tuple[Message, list[str]]:
        """Let a situation happen; what was said last, and who answered it."""
        said, answers = [await self.say(group, self.ada, text) for text in SITUATIONS[name].said][-1]
        assert all(answer.text == ANSWER for answer in answers)
        return said, [answer.sender.name for answer in answers]
