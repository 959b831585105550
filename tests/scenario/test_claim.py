"""Four real gateways and a question to nobody: one of them answers."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from support.leases import FOR_EVER, run_out
from support.scene import Scene
from support.waiting import until

from transcript_channels.simulator import App, Chat, FeishuSimulator, ModelRequest, Reply, ScriptedModel

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Four(Scene):
    """Alpha, Beta, Gamma and Delta in mode gate."""

    bots: list[App]
    slow: bool = False
    asked: int = 0

    async def start_all(self) -> None:
        self.bots = [self.alpha, self.beta, self.feishu.add_app("Gamma"), self.feishu.add_app("Delta")]
        await asyncio.gather(
            *(
                self.start(
                    app,
                    NANOBOT_TRANSCRIPT_GROUPS__MODE="gate",
                    NANOBOT_TRANSCRIPT_TURNS__CLAIM__TTL=f"{FOR_EVER:g}",
                    NANOBOT_TRANSCRIPT_TURNS__CLAIM__LONGEST_WAIT="0.3",
                )
                for app in self.bots
            )
        )

    def say(self, request: ModelRequest) -> Reply:
        """What the model says; slowly when somebody is to be killed over it."""
        return Reply(f"At noon, says {request.api_key}.", delay=FOR_EVER if self.slow else 0.0)

    def question(self) -> str:
        """Another one each time, for nobody in particular."""
        self.asked += 1
        return f"does anybody know when train {self.asked} leaves?"

    async def one_answer(self, *, to: str = "") -> None:
        """Ask nobody in particular, and see who answers."""
        group, text = self.group(*self.bots, self.ada, self.bo), self.question()
        question = await self.feishu.say(group, self.ada, to + text)
        await self.decided(question.message_id)
        await self.recorded(group, 2)
        await self.ended(group, question.message_id)
        assert self.requests(text) == 1

    async def one_answer_after_a_kill(self) -> None:
        """The same, and whoever is about to answer is killed."""
        group, text = self.group(*self.bots, self.ada, self.bo), self.question()
        self.slow = True
        question = await self.feishu.say(group, self.ada, text)
        await until(lambda: self.requests(text) > 0)
        self.slow = False
        killed = self.gateways[self.request(text).api_key]
        await killed.kill()
        await until(lambda: len(self.noted(question.message_id, '"claim_seen"')) == len(self.bots) - 1)
        run_out(self.store_dir, f"answer {self.key(group)} {question.message_id}")
        await self.recorded(group, 2)
        await self.ended(group, question.message_id, but=killed.app.name)
        assert self.requests(text) == 2
        assert self.record(group)[1].get("agent") != killed.app.name
        await killed.start()

    async def decided(self, message_id: str) -> None:
        """Every bot has made up its mind."""

        def decisions() -> int:
            return sum('"claim"' not in line for line in self.noted(message_id))

        await until(lambda: decisions() >= len(self.bots))

    def noted(self, message_id: str, word: str = "") -> list[str]:
        """What bots have noted of their decisions about a message, in lines with this word."""
        logs = self.store_dir / ".state" / "decisions"
        lines = [line for path in logs.rglob("*.log") for line in path.read_text().splitlines()]
        return [line for line in lines if message_id in line and word in line]

    async def ended(self, group: Chat, question: str, *, but: str = "") -> None:
        """Nobody has a mind to answer any more (``but`` the killed one), and there is one answer."""
        (entry,) = self.record(group)[1:]
        others = self.gateways.keys() - {entry.get("agent"), but}
        left = re.compile(f"{question} was answered by another bot|An answer to {question} is not sent")
        await until(lambda: all(left.search(self.gateways[name].log) for name in others))
        answers = [message for message in group.messages if message.sender in self.bots]
        assert len(answers) == 1
        assert [entry.get("reply_to") for entry in self.record(group)[1:]] == [question]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def four(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Four]:
    """All four gateways."""
    pytest.importorskip("nanobot")
    scenes: list[Four] = []
    async with FeishuSimulator() as feishu, ScriptedModel(lambda request: scenes[0].say(request)) as model:  # noqa: PLW0108 - filled below
        scene = Four(feishu, model, tmp_path_factory.mktemp("four"))
        scenes.append(scene)
        try:
            await scene.start_all()
            yield scene
        finally:
            await asyncio.gather(*(gateway.stop() for gateway in scene.gateways.values()))
            scene.store.close()


async def test_four_bots_give_one_answer_to_a_question_for_nobody(four: Four) -> None:
    for _ in range(3):
        await four.one_answer()


async def test_a_question_to_everybody_gets_one_answer_and_an_announcement_none(four: Four) -> None:
    group = four.group(*four.bots, four.ada, four.bo)
    announcement = await four.feishu.say(group, four.ada, "@all lunch is at noon")
    assert "@_all" in str(announcement.content)
    await four.decided(announcement.message_id)
    await four.one_answer(to="@all ")
    assert four.requests("lunch") == 0
    assert four.texts(group) == ["@all lunch is at noon"]


async def test_when_the_one_that_claimed_is_killed_another_answers_once(four: Four) -> None:
    await four.one_answer_after_a_kill()


@pytest.mark.soak
@pytest.mark.timeout(1200)
async def test_four_bots_give_one_answer_every_time(four: Four, soak_row: Any) -> None:
    for _ in range(50):
        await four.one_answer()
    soak_row(questions=50, not_exactly_one_answer=0)


@pytest.mark.soak
@pytest.mark.timeout(3000)
async def test_a_killed_claim_is_taken_over_every_time(four: Four, soak_row: Any) -> None:
    for _ in range(50):
        await four.one_answer_after_a_kill()
    soak_row(questions=50, killed_holders=50, not_exactly_one_answer=0)
