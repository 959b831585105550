"""Several processes of ``run`` in one group: discussions that end, and one answer to a question for nobody."""

import asyncio
import signal
import sys
from typing import Any

import pytest
from support.leases import FOR_EVER, run_out

from transcript_channels.simulator import scopes

LIMIT = 4
BOTS = ("Alpha", "Beta", "Gamma", "Delta")
MIND = """
import os, sys, time
name, message, folder = os.environ["TRANSCRIPT_AGENT"], os.environ["TRANSCRIPT_MESSAGE_ID"], sys.argv[1]
with open(os.path.join(folder, "asked"), "a") as asked:
    asked.write(f"{message} {name}\\n")
while os.path.exists(os.path.join(folder, f"hold-{name}")):
    time.sleep(0.05)
print(name, "knows.")
"""
POINT = "import os; print('@{other} and what of', os.environ['TRANSCRIPT_MESSAGE_ID'], '?')"


class Discussion:
    """Two bots, each in a process of its own, who hand the word to each other for ever."""

    def __init__(self, site: Any) -> None:
        self.site = site
        self.apps = [site.app("Alpha"), site.app("Beta")]

    async def start(self, *, pushed: bool) -> None:
        for app in self.apps:
            for scope in (scopes.GROUP_MSG_INCLUDE_BOT, scopes.GROUP_AT_MSG_INCLUDE_BOT):
                (app.grant if pushed else app.revoke)(scope)
        minds = {
            app: {"kind": "command", "command": [sys.executable, "-c", POINT.format(other=other.name)]}
            for app, other in zip(self.apps, reversed(self.apps), strict=True)
        }
        config = self.site.config(minds, relay={"mode": "mentions"})
        started = await asyncio.gather(*(self.site.run(config, app.name) for app in self.apps))
        self.processes = dict(zip((app.name for app in self.apps), started, strict=True))

    async def stops(self) -> None:
        """One discussion, from a person's word to the refusal of the last turn by the process that it is for."""
        site = self.site
        site.new_group(*self.apps)
        await site.feishu.say(site.group, site.ada, "@Alpha discuss it with the other one")
        await site.until(lambda: len(site.group.messages) >= 1 + LIMIT)
        last = site.group.messages[LIMIT]
        other = next(app.name for app in self.apps if app is not last.sender)
        refused = (f"{last.message_id} is not relayed: hop_limit", f"does not answer {last.message_id}: hop_limit")
        await site.until(lambda: any(words in self.processes[other].log for words in refused))
        await site.until(lambda: all("hop" in entry for entry in site.record()[1:]))
        said = [(entry.get("agent"), entry.get("hop")) for entry in site.record()[1:]]
        assert said == [("Alpha", 1), ("Beta", 2), ("Alpha", 3), ("Beta", 4)]
        assert len(site.group.messages) == 1 + LIMIT


class Four:
    """Four bots, each in a process of its own; whoever is asked writes that down before answering."""

    def __init__(self, site: Any) -> None:
        self.site = site
        self.apps = {name: site.app(name) for name in BOTS}
        program = site.folder / "mind.py"
        program.write_text(MIND, encoding="utf-8")
        mind = {"kind": "command", "command": [sys.executable, str(program), str(site.folder)]}
        turns = {"claim": {"ttl": FOR_EVER, "longest_wait": 0.3}}
        self.config = site.config(dict.fromkeys(self.apps.values(), mind), turns=turns)
        self.processes: dict[str, Any] = {}

    async def start(self) -> None:
        started = await asyncio.gather(*(self.site.run(self.config, name) for name in BOTS))
        self.processes = dict(zip(BOTS, started, strict=True))

    def asked(self, message_id: str) -> list[str]:
        """Whose mind was asked about a message."""
        path = self.site.folder / "asked"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [line.split()[1] for line in lines if line.startswith(f"{message_id} ")]

    async def one_answer(self, number: int, *, to: str = "") -> None:
        """Ask nobody in particular; one of them answers, and only that one's mind is asked."""
        site = self.site
        site.new_group(*self.apps.values())
        question = await site.feishu.say(site.group, site.bo, f"{to}does anybody know the number {number}?")
        await site.until(lambda: len(site.record()) >= 2)
        await self.left(question.message_id)
        assert self.asked(question.message_id) == [site.record()[1].get("agent")]

    async def one_answer_after_a_kill(self, number: int) -> None:
        """The same, and the one that claimed the question is killed before it sends."""
        site = self.site
        site.new_group(*self.apps.values())
        for name in BOTS:
            (site.folder / f"hold-{name}").touch()
        question = await site.feishu.say(site.group, site.ada, f"does anybody know the secret {number}?")
        await site.until(lambda: self.asked(question.message_id))
        (first,) = self.asked(question.message_id)
        await self.processes[first].stop(signal.SIGKILL)
        await site.until(lambda: len(self.noted(question.message_id, '"claim_seen"')) == len(BOTS) - 1)
        run_out(site.store.base_dir, f"answer {site.key} {question.message_id}")
        for name in BOTS:
            (site.folder / f"hold-{name}").unlink()
        await site.until(lambda: len(site.record()) >= 2)
        await self.left(question.message_id, but=first)
        answered = site.record()[1].get("agent")
        assert answered != first
        assert self.asked(question.message_id) == [first, answered]
        self.processes[first] = await site.run(self.config, first)

    async def no_answer(self) -> None:
        """Tell everybody something."""
        site = self.site
        site.new_group(*self.apps.values())
        told = await site.feishu.say(site.group, site.ada, "@all lunch is at noon")
        await site.until(lambda: len(self.noted(told.message_id, '"everyone"')) == len(BOTS))
        assert await site.ask("@Beta hello", self.apps["Beta"]) == "Beta knows."
        assert self.asked(told.message_id) == []
        assert len(site.group.messages) == 3

    def noted(self, message_id: str, word: str) -> list[str]:
        """What bots have noted of their decisions about a message, in lines with this word."""
        logs = self.site.folder / "transcripts" / ".state" / "decisions"
        lines = [line for path in logs.rglob("*.log") for line in path.read_text(encoding="utf-8").splitlines()]
        return [line for line in lines if message_id in line and word in line]

    async def left(self, question: str, *, but: str = "") -> None:
        """All others have left the question alone, and the group has one answer to it."""
        answer = self.site.record()[1]
        others = [name for name in BOTS if name not in (answer.get("agent"), but)]
        said = f"{question} was answered by another bot"
        await self.site.until(lambda: all(said in self.processes[name].log for name in others))
        assert [entry.get("reply_to") for entry in self.site.record()[1:]] == [question]
        assert len(self.site.group.messages) == 2


@pytest.mark.parametrize("pushed", [False, True])
async def test_two_bots_told_to_discuss_stop_at_the_limit(site: Any, pushed: bool) -> None:
    discussion = Discussion(site)
    await discussion.start(pushed=pushed)
    await discussion.stops()


async def test_four_processes_give_one_answer_to_a_question_and_none_to_an_announcement(site: Any) -> None:
    four = Four(site)
    await four.start()
    await four.one_answer(1)
    await four.one_answer(2, to="@all ")
    await four.no_answer()


async def test_when_the_one_that_claimed_is_killed_before_it_sends_exactly_one_other_answers(site: Any) -> None:
    four = Four(site)
    await four.start()
    await four.one_answer_after_a_kill(1)


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("pushed", [False, True])
async def test_two_bots_told_to_discuss_stop_at_the_limit_every_time(site: Any, pushed: bool, soak_row: Any) -> None:
    discussion = Discussion(site)
    await discussion.start(pushed=pushed)
    for _ in range(20):
        await discussion.stops()
    soak_row(discussions=20, pushed=pushed, beyond_the_limit=0)


@pytest.mark.soak
@pytest.mark.timeout(1200)
async def test_four_processes_give_one_answer_every_time(site: Any, soak_row: Any) -> None:
    four = Four(site)
    await four.start()
    for number in range(50):
        await four.one_answer(number)
    soak_row(questions=50, not_exactly_one_answer=0)


@pytest.mark.soak
@pytest.mark.timeout(1700)
async def test_a_killed_claim_is_taken_over_by_exactly_one_every_time(site: Any, soak_row: Any) -> None:
    four = Four(site)
    await four.start()
    for number in range(50):
        await four.one_answer_after_a_kill(number)
    soak_row(questions=50, killed_holders=50, not_exactly_one_answer=0)
