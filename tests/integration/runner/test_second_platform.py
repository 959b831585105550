"""`run` with bots on a platform that another package brings, which has little in common with Feishu.

The processes are started and not forked: which packages are installed is read when the product is imported.
"""

import asyncio
import itertools
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from integration.runner.conftest import Running
from support.line_platform.server import LineServer, Member, Room, Said
from support.ports import free_port
from support.waiting import PATIENCE, until

from nanobot_transcript.entry import Entry
from nanobot_transcript.record import Record
from transcript_channels.simulator import FeishuSimulator

TESTS = Path(__file__).resolve().parents[2]
ENTRY_POINT = "[nanobot_transcript.platforms]\nline = support.line_platform.platform:LINE\n"


def script(*answers: str) -> dict[str, Any]:
    return {"kind": "scripted", "answers": list(answers)}


async def output(running: Running) -> str:
    """What a command prints until it ends well."""
    said, _ = await asyncio.wait_for(running.process.communicate(), PATIENCE)
    assert running.process.returncode == 0, running.log
    return said.decode()


@dataclass
class Place:
    """A room on the server with two people of one name, a record, and processes that share the record only."""

    server: LineServer
    folder: Path
    processes: list[Running] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ada, self.other_ada = self.server.add_person("Ada"), self.server.add_person("Ada")
        self.alpha, self.beta = self.server.add_bot("Alpha"), self.server.add_bot("Beta")
        self.room = self.server.add_room("Team", self.ada, self.other_ada, self.alpha, self.beta)
        self.key = f"line:{self.room.number}"
        self.record = Record.open(self.folder / "transcripts")
        self._numbers = itertools.count()
        info = self.folder / "site" / "line_platform-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: line-platform\nVersion: 1.0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(ENTRY_POINT, encoding="utf-8")

    def said(self) -> list[Entry]:
        """The record of the room."""
        return self.record.store.recent(self.key, 1000).entries

    def config(self, minds: dict[Member, dict[str, Any]], **sections: Any) -> Path:
        agents: dict[str, Any] = {
            bot.number: {"name": bot.name, "platform": "line", "app_secret": bot.token, "responder": mind}
            for bot, mind in minds.items()
        }
        agents |= sections.pop("agents", {})
        document = {"line": {"server": self.server.address}, "agents": agents, **sections}
        path = self.folder / f"config-{next(self._numbers)}.yaml"
        path.write_text(yaml.safe_dump(document), encoding="utf-8")
        return path

    async def start(self, *arguments: str) -> Running:
        """The command ``nanobot-transcript`` where the package of the platform is installed."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TMPDIR") if name in os.environ}
        env = kept | {
            "HOME": str(self.folder),
            "PYTHONPATH": f"{self.folder / 'site'}{os.pathsep}{TESTS}",
            "NANOBOT_TRANSCRIPT_STORE__DIR": str(self.folder / "transcripts"),
        }
        log_path = self.folder / f"log-{next(self._numbers)}"
        with log_path.open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "nanobot_transcript", *arguments),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=env,
                cwd=self.folder,
            )
        self.processes.append(Running(process, log_path))
        return self.processes[-1]

    async def run(self, config: Path, *names: str) -> Running:
        """``run`` for all agents or those that are named, connected."""
        running = await self.start("run", "-c", str(config), "--jsonl", *(f"--agent={name}" for name in names))
        await running.event("ready")
        return running

    async def run_each(self, minds: dict[Member, dict[str, Any]], **sections: Any) -> list[Running]:
        """A process for each of the bots."""
        config = self.config(minds, **sections)
        return list(await asyncio.gather(*(self.run(config, bot.name) for bot in minds)))

    async def answer(self, bot: Member, to: Said, room: Room | None = None) -> Said:
        """What a bot answers to a message, once it stands there and in the record."""
        place = room or self.room
        key = f"line:{place.number}"

        def answers() -> list[Said]:
            return self.server.by(place, bot, lambda said: said.reply_to == to.id)

        await until(answers)
        await until(lambda: self.record.store.get(key, answers()[0].id))
        return answers()[0]


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with LineServer() as server:
        one = Place(server, tmp_path)
        try:
            yield one
        finally:
            for running in one.processes:
                if running.process.returncode is None:
                    running.process.kill()
                await running.process.communicate()
            one.record.close()


async def test_an_agent_answers_a_mention_and_both_stand_in_the_record(place: Place) -> None:
    running = await place.run(place.config({place.alpha: script("I am Alpha.")}))
    asked = await place.server.say(place.room, place.ada, f"{place.alpha.at} who are you?")
    answer = await place.answer(place.alpha, asked)
    assert answer.text == "I am Alpha."
    question, said = place.said()
    assert (question["content"], question["sender"]) == ("@Alpha who are you?", place.ada.number)
    assert question.get("mentions") == [{"name": "Alpha", "id": "Alpha", "account": place.alpha.number}]
    assert (said["sender"], said["message_id"], said.get("reply_to")) == ("Alpha", answer.id, asked.id)
    assert (await running.stop(), "ERROR" in running.log) == (0, False)
    assert "Connecting Alpha …" in running.log


async def test_a_message_for_another_bot_is_left_alone(place: Place) -> None:
    await place.run_each({place.alpha: script("I am Alpha."), place.beta: script("I am Beta.")})
    for bot in (place.beta, place.alpha):
        asked = await place.server.say(place.room, place.ada, f"{bot.at} who are you?")
        await place.answer(bot, asked)
    assert [said.sender for said in place.room.said] == [place.ada, place.beta, place.ada, place.alpha]
    asked = place.room.said[0]
    decided = {one["agent"]: one["respond"] for one in place.record.decisions.read(place.key, asked.id)}
    assert decided == {"Alpha": False, "Beta": True}


async def test_a_bot_whose_platform_has_no_reactions_is_silent_when_it_is_thanked(place: Place) -> None:
    minds = {place.alpha: script("I am Alpha.", "I still am.")}
    running = await place.run(place.config(minds, gate={"courtesy_reaction": "OK"}))
    for text in ("who are you?", "and now?"):
        asked = await place.server.say(place.room, place.ada, f"{place.alpha.at} {text}")
        await place.answer(place.alpha, asked)
        thanks = await place.server.say(place.room, place.ada, "thanks")
        await until(lambda: place.record.decisions.read(place.key, thanks.id))  # noqa: B023 - it is waited for
        (decided,) = place.record.decisions.read(place.key, thanks.id)
        assert (decided["respond"], decided["reason"]) == (False, "no_answer_wanted")
    assert await running.stop() == 0
    assert "WARNING" not in running.log
    assert "ERROR" not in running.log


async def test_an_open_question_is_answered_by_one_of_two_processes(place: Place) -> None:
    await place.run_each({place.alpha: script("7 at eight."), place.beta: script("7 at eight.")})
    asked = await place.server.say(place.room, place.ada, "Does anybody know when the demo begins?")
    await until(lambda: len(place.room.said) > 1)

    def reasons() -> dict[str, str]:
        """The last word of each agent on the question."""
        return {one["agent"]: one["reason"] for one in place.record.decisions.read(place.key, asked.id)}

    await until(lambda: sorted(reasons().values()) == ["answered", "claim_seen"])
    (winner,) = [agent for agent, reason in reasons().items() if reason == "answered"]
    await until(lambda: len(place.said()) == 2)
    assert [said.sender.name for said in place.room.said] == ["Ada", winner]


async def test_the_relay_brings_one_bot_what_another_said_to_it(place: Place) -> None:
    minds = {place.alpha: script("@Beta what do you say?"), place.beta: script("I say yes.")}
    await place.run_each(minds, relay={"mode": "mentions"})
    asked = await place.server.say(place.room, place.ada, f"{place.alpha.at} ask the other one")
    relayed = await place.answer(place.alpha, asked)
    assert relayed.text == f"{place.beta.at} what do you say?"
    assert (await place.answer(place.beta, relayed)).text == "I say yes."
    assert [(entry["sender"], entry.get("hop")) for entry in place.said()[1:3]] == [("Alpha", 1), ("Beta", 2)]


async def test_a_post_goes_out_and_the_answer_to_it_comes_back(place: Place) -> None:
    running = await place.run(place.config({place.alpha: script("not a turn")}))
    post = ("post", place.room.number, "Lunch?", "--wait", str(PATIENCE), "--answer")
    posting = asyncio.create_task(output(await place.start(*post)))
    await until(lambda: [one.state for one in place.record.outbox.open_posts()] == ["sent"])
    await place.server.say(place.room, place.other_ada, "At one.", reply_to=place.room.said[0])
    assert "At one." in await posting
    assert await running.stop() == 0
    assert [said.sender for said in place.room.said] == [place.alpha, place.other_ada]


async def test_a_reply_with_the_number_of_a_post_in_another_room_does_not_answer_it(place: Place) -> None:
    other = place.server.add_room("Other", place.ada, place.alpha)
    await place.run(place.config({place.alpha: script("a turn", "another turn")}))
    posts = [place.record.outbox.post(f"line:{room.number}", "Which day?") for room in (place.room, other)]
    await until(lambda: all(place.record.outbox.status(post).state == "sent" for post in posts))
    assert [place.record.outbox.status(post).message_id for post in posts] == ["1", "1"]
    replies = [
        await place.server.say(room, place.ada, room.title, reply_to=room.said[0]) for room in (place.room, other)
    ]
    assert [reply.id for reply in replies] == ["2", "2"]
    await until(lambda: all(place.record.outbox.answers(post) for post in posts))
    assert [[answer.text for answer in place.record.outbox.answers(post)] for post in posts] == [["Team"], ["Other"]]


async def test_a_post_that_is_only_a_card_fails_with_a_word_why(place: Place) -> None:
    await place.run(place.config({place.alpha: script("nothing")}))
    post = place.record.outbox.post(place.key, card={"elements": []})
    await until(lambda: place.record.outbox.status(post).state == "failed")
    assert "no cards" in str(place.record.outbox.status(post).error)
    assert place.room.said == []


async def test_two_people_of_one_name_are_two_senders(place: Place) -> None:
    running = await place.run(place.config({place.alpha: script("Hello.", "Hello again.")}))
    for person in (place.ada, place.other_ada):
        await place.answer(place.alpha, await place.server.say(place.room, person, f"{place.alpha.at} hello"))
    people = [entry for entry in place.said() if entry["role"] == "user"]
    assert [(entry["sender"], entry.get("sender_name")) for entry in people] == [
        (place.ada.number, "Ada"),
        (place.other_ada.number, "Ada"),
    ]
    assert await running.stop() == 0
    assert place.record.store.members.senders_named("ada") == [place.ada.number, place.other_ada.number]


async def test_two_bots_of_one_name_are_told_apart_by_their_numbers(place: Place) -> None:
    twin = place.server.add_bot("Alpha")
    await place.server.join(place.room, twin)
    config = place.config({place.alpha: script("I am the first."), twin: script("I am the second.")})
    named = {place.alpha: "Alpha", twin: f"Alpha-{twin.number}"}
    await asyncio.gather(*(place.run(config, name) for name in named.values()))
    for bot, text in ((twin, "I am the second."), (place.alpha, "I am the first.")):
        asked = await place.server.say(place.room, place.ada, f"{bot.at} which one are you?")
        assert (await place.answer(bot, asked)).text == text
    assert len(place.room.said) == 4
    assert [entry.get("mentions") for entry in place.said()[::2]] == [
        [{"name": "Alpha", "id": named[twin], "account": twin.number}],
        [{"name": "Alpha", "id": "Alpha", "account": place.alpha.number}],
    ]
    assert [entry["sender"] for entry in place.said()[1::2]] == [named[twin], "Alpha"]


async def test_a_bot_that_was_cut_off_comes_back_and_answers(place: Place) -> None:
    running = await place.run(place.config({place.alpha: script("before", "after")}))
    await place.answer(place.alpha, await place.server.say(place.room, place.ada, f"{place.alpha.at} one"))
    place.server.drop(place.alpha)
    await until(lambda: place.server.connections == 2)
    asked = await place.server.say(place.room, place.ada, f"{place.alpha.at} two")
    assert (await place.answer(place.alpha, asked)).text == "after"
    assert await running.stop() == 0
    assert "Alpha is connected again" in running.log
    assert "ERROR" not in running.log


async def test_what_was_not_confirmed_is_told_again_and_answered_once(place: Place) -> None:
    config = place.config({place.alpha: script("once")})
    running = await place.run(config)
    asked = await place.server.say(place.room, place.ada, f"{place.alpha.at} one")
    await place.answer(place.alpha, asked)
    place.server.unconfirm(place.alpha, place.room, asked)
    place.server.drop(place.alpha)
    await until(lambda: place.server.connections == 2 and place.server.has_confirmed(place.alpha))
    assert await running.stop() == 0
    await place.run(config)
    last = await place.server.say(place.room, place.ada, f"{place.alpha.at} two")
    await place.answer(place.alpha, last)
    assert len(place.server.by(place.room, place.alpha)) == 2
    assert len(place.said()) == 4


async def test_a_bot_that_is_put_into_a_room_while_it_runs_takes_part_there(place: Place) -> None:
    late = place.server.add_room("Late", place.ada)
    key = f"line:{late.number}"
    await place.run(place.config({place.alpha: script("I am here.")}))
    post = place.record.outbox.post(key, "Welcome.")
    await place.server.join(late, place.alpha)
    await until(lambda: place.record.outbox.status(post).state == "sent")
    asked = await place.server.say(late, place.ada, f"{place.alpha.at} who are you?")
    assert (await place.answer(place.alpha, asked, late)).text == "I am here."
    members = place.record.store.members
    await until(lambda: members.title_of(key) == "Late")
    assert [(member.name, member.kind) for member in members.of_chat(key)] == [("Alpha", "bot"), ("Ada", "human")]


async def test_one_process_has_bots_on_two_platforms_that_share_no_chat(place: Place) -> None:
    async with FeishuSimulator() as feishu:
        app, bo = feishu.add_app("Gamma"), feishu.add_person("Bo")
        group = feishu.add_group("Far away", [bo, app])
        gamma = {
            "name": "Gamma",
            "app_secret": app.app_secret,
            "encrypt_key": "key",
            "responder": script("I am Gamma."),
        }
        listen = f"127.0.0.1:{free_port()}"
        there = {"base_url": feishu.base_url, "webhook": {"listen": listen}}
        config = place.config({place.alpha: script("I am Alpha.")}, agents={app.app_id: gamma}, feishu=there)
        running = await place.run(config)
        await feishu.subscribe(app, f"http://{listen}/feishu/{app.app_id}", encrypt_key="key")
        asked = await place.server.say(place.room, place.ada, f"{place.alpha.at} who are you?")
        assert (await place.answer(place.alpha, asked)).text == "I am Alpha."
        await feishu.say(group, bo, "@Gamma who are you?")
        assert (await feishu.wait_for_message(group, app)).text == "I am Gamma."
        await until(lambda: len(place.record.store.recent(f"feishu:{group.chat_id}", 9).entries) == 2)
        assert [entry["sender"] for entry in place.said()] == [place.ada.number, "Alpha"]
        assert await running.stop() == 0
    assert f"Connecting Alpha, Gamma (listening at {listen}) …" in running.log
    assert "ERROR" not in running.log


async def test_other_commands_take_the_numbers_of_rooms_and_messages(place: Place) -> None:
    running = await place.run(place.config({place.alpha: script("I am Alpha.")}))
    asked = await place.server.say(place.room, place.ada, f"{place.alpha.at} who are you?")
    await place.answer(place.alpha, asked)
    assert await running.stop() == 0
    tail, why = [
        await output(await place.start(*arguments))
        for arguments in (("tail", place.room.number), ("gate", "explain", place.room.number, asked.id))
    ]
    assert "@Alpha who are you?" in tail
    assert "I am Alpha." in tail
    assert "Alpha" in why


@pytest.mark.parametrize(
    ("change", "sections", "code", "said"),
    [
        ({"platform": "lien"}, {}, 2, "`run` can connect: feishu, line."),
        ({"app_secret": None}, {}, 2, "app_secret is missing"),
        ({"app_secret": "another"}, {}, 4, "nobody has this token"),
        ({}, {"line": {"server": "nowhere"}}, 2, "line.server is 'nowhere'"),
    ],
    ids=["platform", "no secret", "wrong secret", "address"],
)
async def test_what_is_wrong_is_said_and_ends_the_command(
    place: Place, change: dict[str, Any], sections: dict[str, Any], code: int, said: str
) -> None:
    given = {"name": "Alpha", "platform": "line", "app_secret": place.alpha.token, "responder": script("hello")}
    running = await place.start(
        "run", "-c", str(place.config({}, agents={place.alpha.number: given | change}, **sections))
    )
    assert await asyncio.wait_for(running.process.wait(), PATIENCE) == code
    assert said in running.log
    assert "Traceback" not in running.log
