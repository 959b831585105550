"""Real nanobot gateways in mode ``gate`` when much goes wrong at once: bursts, a judge that hangs, recalls, crowds."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from support.scene import Scene
from support.waiting import until

from transcript_channels.simulator import Chat, FeishuSimulator, Message, ScriptedModel

pytestmark = pytest.mark.asyncio(loop_scope="module")

JUDGED = '"new_message"'


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def storm(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    """Alpha and a second bot of the same name, in mode gate with a judge of their own."""
    pytest.importorskip("nanobot")
    scenes: list[Scene] = []
    answers = ScriptedModel(lambda request: scenes[0].answer(request))  # noqa: PLW0108 - filled below
    async with FeishuSimulator(ack_timeout=30.0) as feishu, answers as model:
        scene = Scene(feishu, model, tmp_path_factory.mktemp("storm"))
        scenes.append(scene)
        scene.beta = feishu.add_app("Alpha")
        judge = {
            "NANOBOT_TRANSCRIPT_GROUPS__MODE": "gate",
            "NANOBOT_TRANSCRIPT_GATE__JUDGE__KIND": "openai",
            "NANOBOT_TRANSCRIPT_GATE__JUDGE__MODEL": "the-judge",
            "NANOBOT_TRANSCRIPT_GATE__JUDGE__BASE_URL": model.base_url,
            "NANOBOT_TRANSCRIPT_GATE__JUDGE__API_KEY": "its own",
            "NANOBOT_TRANSCRIPT_GATE__JUDGE__TIMEOUT": "10",
        }
        try:
            first = await scene.start(scene.alpha, channel=None, **judge)
            second = await scene.start(scene.beta, channel={"streaming": False}, **judge)
            scene.gateways = {"first": first, "second": second}
            yield scene
        finally:
            await asyncio.gather(*(gateway.stop() for gateway in scene.gateways.values()))
            scene.store.close()


@pytest_asyncio.fixture(loop_scope="module")
async def worn_out(storm: Scene) -> AsyncIterator[None]:
    """For a test whose judge never answers: Alpha asks none for half a minute after that, so it starts again."""
    yield
    await storm.gateways["first"].kill()
    await storm.gateways["first"].start()


class Judge:
    """Hangs until ``may_speak`` is set, and says then that the bot is meant. ``asked`` counts its open questions."""

    def __init__(self) -> None:
        self.asked = 0
        self.may_speak = asyncio.Event()

    async def __call__(self) -> str:
        self.asked += 1
        await self.may_speak.wait()
        return "true"


async def wander(storm: Scene, group: Chat, about: str, judge: Any) -> None:
    """Alpha answered Ada, and then others talked about something else: the judge is asked who is meant now, also by
    what the others say.

    The judge is shown the whole conversation, so its answer has to be found before the answers to what is said there.
    """
    storm.when(JUDGED, judge)
    storm.when(f"which {about}", "The first one leaves at noon.")
    await storm.ask(group, storm.ada, f"@Alpha which {about}?", storm.alpha)
    for number in range(8):
        await storm.feishu.say(group, storm.bo, f"something else {number}")


def answers_to(storm: Scene, group: Chat) -> Counter[str]:
    """How many answers each message has in the record."""
    return Counter(str(entry.get("reply_to")) for entry in storm.record(group) if entry["role"] == "assistant")


async def test_what_is_taken_back_while_the_judge_thinks_costs_no_token(storm: Scene) -> None:
    group = storm.group(storm.alpha, storm.ada, storm.bo)
    judge = Judge()
    storm.when("the later ship", judge)
    await wander(storm, group, "ships", "false")
    message = await storm.feishu.say(group, storm.ada, "and the later ship?")
    await until(lambda: judge.asked)
    await storm.feishu.recall(message)
    judge.may_speak.set()
    await until(lambda: f"{message.message_id} was recalled" in storm.gateways["first"].log)
    storm.when("still there", "Yes.")
    await storm.ask(group, storm.ada, "@Alpha still there?", storm.alpha, "Yes.")
    assert [one for one in storm.asked_about("later ship") if JUDGED not in one.question] == []


@pytest.mark.usefixtures("worn_out")
async def test_mentions_in_a_burst_are_answered_once_each_while_the_judge_hangs(storm: Scene) -> None:
    group = storm.group(storm.alpha, storm.ada, storm.bo)
    await wander(storm, group, "trains", Judge())
    storm.when("urgent", "Done.")
    said: list[Message] = []
    for number in range(60):
        text = (
            f"@Alpha urgent {number}"
            if number % 20 == 10
            else "and the later one?"
            if number % 7 == 0
            else f"so {number}"
        )
        said.append(await storm.feishu.say(group, storm.ada, text, wait=False))
    wanted = [message.message_id for message in said[10::20]]
    await until(lambda: all(answers_to(storm, group)[one] for one in wanted))
    assert [answers_to(storm, group)[one] for one in wanted] == [1, 1, 1]
    recorded = [entry["message_id"] for entry in storm.record(group)]
    assert len(recorded) == len(set(recorded))
    assert {message.message_id for message in said} <= set(recorded)


@pytest.mark.usefixtures("worn_out")
async def test_messages_do_not_pile_up_behind_a_judge_that_hangs(storm: Scene) -> None:
    group = storm.group(storm.alpha, storm.ada, storm.bo)
    await wander(storm, group, "planes", Judge())
    said = [await storm.feishu.say(group, storm.ada, f"and the later plane {n}?", wait=False) for n in range(60)]
    logs = storm.store_dir / ".state" / "decisions"

    def decided(message: Message) -> bool:
        return any(f'"{message.message_id}"' in path.read_text() for path in logs.rglob("*") if path.is_file())

    await until(lambda: all(map(decided, said)))  # one after the other it would be 600 s, longer than anybody waits


async def test_a_crowd_of_fifty_asks_nobody_in_particular_and_gets_one_answer(storm: Scene) -> None:
    crowd = [storm.feishu.add_person(f"Person {number}") for number in range(48)]
    group = storm.group(storm.alpha, storm.beta, *crowd)
    storm.when(JUDGED, "true")
    storm.when("password of the printer", "It is on the printer.")
    await asyncio.gather(*(storm.feishu.say(group, one, f"I am {one.name}", wait=False) for one in crowd))
    await storm.recorded(group, 48)
    asked = await storm.feishu.say(group, crowd[7], "does anybody know the password of the printer?")
    await until(lambda: answers_to(storm, group)[asked.message_id] > 0)
    log = f"{asked.message_id} was answered by another bot"
    await until(lambda: any(log in gateway.log for gateway in storm.gateways.values()))
    assert answers_to(storm, group)[asked.message_id] == 1


async def test_a_huge_text_is_recorded_and_answered_and_keeps_no_other_group_waiting(storm: Scene) -> None:
    group, other = storm.group(storm.alpha, storm.ada), storm.group(storm.alpha, storm.ada)
    storm.when("pasted log", "I have read it.")
    storm.when("quick one", "Here.")
    huge = "@Alpha a pasted log: " + "<at id=" + " " * 60_000 + "x" * 60_000
    await storm.feishu.say(group, storm.ada, huge, wait=False)
    await storm.ask(other, storm.ada, "@Alpha a quick one", storm.alpha, "Here.")
    await storm.feishu.wait_for_message(group, storm.alpha, "read it")
    assert len(storm.record(group)[0]["content"]) > 100_000


async def test_of_two_bots_with_one_name_each_knows_its_own_words_and_commands(storm: Scene) -> None:
    group = storm.group()
    await storm.ask(group, storm.ada, "@Alpha /status", storm.alpha)
    await until(lambda: len(storm.record(group)) == 2)
    assert storm.feishu.messages(group, storm.beta) == []
    names = {entry.get("agent") for chat in storm.store.chats() for entry in storm.store.scan(chat.session_key)} - {
        None
    }
    assert all(name == "Alpha" or str(name).startswith("Alpha-") for name in names)
