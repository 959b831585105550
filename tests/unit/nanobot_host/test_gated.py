"""Mode ``gate``: which messages reach nanobot, in which order, and for whom nobody waits."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from support.stub_nanobot import group_event, sdk_object
from support.waiting import PATIENCE

from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.relevance.decision_log_file import FileDecisionLog
from nanobot_transcript.turns import AnswerClaims
from transcript_channels.nanobot_host.gatekeeper import PossibleTurn
from transcript_channels.nanobot_host.host import Host

KEY = "feishu:oc_1"
GATE = {"mode": "gate"}
NO_LOG = {"log": False}

Judge = Callable[[], Awaitable[str]]


class Talk:
    """What is said to a channel, in the order in which nanobot's loop gets it."""

    def __init__(self, host: Host, channel: Any) -> None:
        self.host, self.channel = host, channel
        self._now = int(time.time() * 1000) - 60_000
        self._number = 0

    def hear(self, text: str, *, person: str = "ada", **fields: Any) -> tuple[str, Any]:
        """A message arrives in the thread of the long connection; returns its id and the event."""
        self._number += 1
        self._now += 1000
        message_id = f"om_{self._number}"
        event = sdk_object(group_event(message_id, text, person=person, create_time=self._now, **fields))
        self.channel._on_message_sync(event)
        return message_id, event

    async def say(self, text: str, **fields: Any) -> str:
        """The same, and nanobot's loop is done with it."""
        message_id, event = self.hear(text, **fields)
        await self.channel._on_message(event)
        return message_id

    def answer(self, text: str, reply_to: str, agent: str = "Alpha", app_id: str = "cli_a", **fields: Any) -> None:
        """A bot said something."""
        self._now += 1000
        self.host.record.store.append(
            KEY,
            "assistant",
            text,
            agent,
            f"om_of_{agent}_{self._now}",
            self._now,
            agent=agent,
            sender_kind="bot",
            ids={"app_id": app_id},
            reply_to=reply_to,
            **fields,
        )

    async def wander(self) -> None:
        """Alpha answered Ada, and then others talked about something else: who is meant now is not clear."""
        asked = await self.say("Alpha, when is the release?")
        self.answer("On Friday.", asked)
        for number in range(8):
            await self.say(f"the bus was {number} minutes late", person="bo")

    @property
    def handled(self) -> list[str]:
        """The messages that became turns."""
        return [options["metadata"]["message_id"] for options in self.channel.handled]


@pytest.fixture
def talk(make_host: Any, make_channel: Any) -> Callable[..., Talk]:
    def make(judge: Judge | None = None, **sections: Any) -> Talk:
        gate = {"judge": {"kind": "host", "timeout": 30}} if judge is not None else {}
        host = make_host(**{"groups": GATE, "gate": gate, **sections})
        if judge is not None:
            asked = judge

            async def chat_with_retry(**options: Any) -> Any:
                return SimpleNamespace(content=await asked(), finish_reason="stop")

            provider = SimpleNamespace(chat_with_retry=chat_with_retry)
            host.model.attend(lambda: SimpleNamespace(provider=provider, model="m"))
        return Talk(host, make_channel(host))

    return make


async def test_what_is_for_nobody_ends_before_nanobot_sees_it(talk: Callable[..., Talk]) -> None:
    here = talk()
    await here.say("I had noodles for lunch.")
    meant = await here.say("Alpha, and you?")
    assert here.handled == [meant]
    assert len(here.host.record.store.recent(KEY, 10).entries) == 2


async def test_what_follows_on_an_answer_is_answered_without_a_mention(talk: Callable[..., Talk]) -> None:
    here = talk()
    asked = await here.say("Alpha, count to two")
    here.answer("One.", asked)
    more = await here.say("continue")
    assert here.handled == [asked, more]


async def test_other_modes_and_private_chats_are_left_to_nanobot(talk: Callable[..., Talk]) -> None:
    here = talk(groups={"mode": "gate", "chats": {"oc_2": {"mode": "listen"}}})
    await here.say("noodles", chat_id="oc_2")
    listened = await here.say("Alpha?", chat_id="oc_2")
    private = await here.say("Alpha, hello", chat_id="oc_p", chat_type="p2p")
    assert here.handled == [listened, private]


async def test_whoever_may_not_ask_costs_no_decision(talk: Callable[..., Talk]) -> None:
    here = talk(gate=NO_LOG)
    message_id, event = here.hear("no name is named", person="mallory")
    await here.channel._on_message(event)
    assert here.handled == []
    assert here.channel._transcript_bot.answers.hop_of(message_id) is None


async def test_the_judge_is_nanobots_model_and_its_word_counts(talk: Callable[..., Talk]) -> None:
    words = ['{"respond": true}', '{"respond": false}']

    async def judge() -> str:
        return words.pop(0)

    here = talk(judge)
    await here.wander()
    wanted = await here.say("and the second one?")
    unwanted = await here.say("hm, the third one")
    assert wanted in here.handled
    assert unwanted not in here.handled
    assert words == []


async def test_an_error_of_the_model_is_no_verdict(make_host: Any) -> None:
    host = make_host(gate={"judge": {"kind": "host"}})

    async def chat_with_retry(**options: Any) -> Any:
        return SimpleNamespace(content="yes, an error", finish_reason="error")

    provider = SimpleNamespace(chat_with_retry=chat_with_retry)
    host.model.attend(lambda: SimpleNamespace(provider=provider, model="m"))
    with pytest.raises(Exception, match="yes, an error"):
        await host.model(SimpleNamespace(messages=list))


async def test_messages_keep_their_order_while_the_judge_thinks(talk: Callable[..., Talk]) -> None:
    thought = asyncio.Event()

    async def judge() -> str:
        await thought.wait()
        return "yes"

    here = talk(judge)
    await here.wander()
    before = here.handled
    first, one = here.hear("and the second one?")
    second, other = here.hear("and the one after that?")
    turns = [asyncio.ensure_future(here.channel._on_message(event)) for event in (one, other)]
    await asyncio.sleep(0)
    thought.set()
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*turns)
    assert here.handled == [*before, first, second]


async def test_other_chats_go_on_while_the_judge_thinks(talk: Callable[..., Talk]) -> None:
    async def judge() -> str:
        await asyncio.Event().wait()
        return ""

    here = talk(judge)
    await here.wander()
    _, unclear = here.hear("and the second one?")
    waiting = asyncio.ensure_future(here.channel._on_message(unclear))
    async with asyncio.timeout(PATIENCE):
        elsewhere = await here.say("Alpha, are you here?", chat_id="oc_2")
    assert elsewhere in here.handled
    assert not waiting.done()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_a_mention_ends_the_waiting_for_a_judge_and_comes_in_its_place(talk: Callable[..., Talk]) -> None:
    thinking = asyncio.Event()

    async def judge() -> str:
        thinking.set()
        await asyncio.Event().wait()
        return ""

    here = talk(judge)
    await here.wander()
    before = here.handled
    unclear, event = here.hear("and the second one?")
    waiting = asyncio.ensure_future(here.channel._on_message(event))
    async with asyncio.timeout(PATIENCE):
        await thinking.wait()
        mentioned = await here.say("@Alpha answer now")
        await waiting
    assert here.handled == [*before, unclear, mentioned]  # the score had the last word about the unclear one


async def test_a_gate_that_fails_leaves_the_decision_to_nanobot(
    talk: Callable[..., Talk], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = talk()

    def nobody(app_id: str) -> AgentProfile:
        raise RuntimeError(app_id)

    monkeypatch.setattr(here.host.conversation, "profile", nobody)
    await here.say("not for the bot")
    meant = await here.say("Alpha, hello")
    assert here.handled == [meant]
    assert "Could not decide who is meant" in caplog.text


async def test_commands_are_nanobots_unless_they_are_another_bots(talk: Callable[..., Talk]) -> None:
    here = talk()
    here.host.record.store.members.remember_bot("cli_b", "Beta")
    here.host.record.store.members.saw(KEY, "Beta")
    await here.say("/stop")
    mine = await here.say("@Alpha /new")
    await here.say("/new@Beta Alpha")
    assert here.handled == [mine]  # nanobot's group policy lets only mentions through


async def test_nobody_in_particular_is_answered_by_the_first_to_claim(talk: Callable[..., Talk]) -> None:
    here = talk(turns={"claim": {"longest_wait": 0}})
    mine = await here.say("does anybody know the train times?")
    assert here.handled == [mine]
    message_id, event = here.hear("and does anybody know the fare?")
    entry = here.host.record.store.get(KEY, message_id)
    assert entry is not None
    other = AnswerClaims(here.host.record.leases, here.host.conversation.store, "Beta")
    claim = await other.win(KEY, entry, alone=True)
    assert claim is not None
    await here.channel._on_message(event)
    assert here.handled == [mine]
    await here.host.conversation.aclose()
    log = FileDecisionLog(here.host.record.store.base_dir)
    assert [one["reason"] for one in log.read(KEY, mine)] == ["open_question", "claimed"]
    assert [one["reason"] for one in log.read(KEY, message_id)] == ["open_question", "claim_seen"]


async def test_what_another_bot_claimed_and_left_is_answered_and_noted_as_taken_over(talk: Callable[..., Talk]) -> None:
    here = talk(turns={"claim": {"longest_wait": 0, "ttl": 1}})
    message_id, event = here.hear("does anybody know the train times?")
    lease, name = here.host.record.leases, f"answer {KEY} {message_id}"
    other = lease.acquire(name, "Beta#1", 60)
    assert other is not None
    await here.channel._on_message(event)
    assert here.handled == []
    lease.release(other)  # Beta died over it
    await here.host.gatekeeper.decider("cli_a").stood_by()
    assert here.handled == [message_id]
    await here.host.conversation.aclose()
    noted = FileDecisionLog(here.host.record.store.base_dir).read(KEY, message_id)
    found = [(one["respond"], one["reason"]) for one in noted]
    assert found == [(True, "open_question"), (False, "claim_seen"), (True, "taken_over")]


async def test_where_the_loop_guard_stops_what_the_gate_lets_through_that_is_noted(talk: Callable[..., Talk]) -> None:
    here = talk(turns={"max_hops": 1})
    await here.say("Alpha and Beta, discuss it")
    here.answer("@Alpha and you?", "om_1", agent="Beta", app_id="cli_b", hop=1)
    entry = here.host.record.store.recent(KEY, 1).entries[-1]
    begun: list[bool] = []

    async def begin(decided: bool) -> None:
        begun.append(decided)

    await here.host.gatekeeper.admit(PossibleTurn(here.channel._transcript_bot, KEY, entry, begin, recorded=True))
    assert begun == []
    noted = FileDecisionLog(here.host.record.store.base_dir).read(KEY, entry["message_id"])
    assert [(one["respond"], one["reason"]) for one in noted] == [(True, "named"), (False, "hop_limit")]


async def test_a_note_that_cannot_be_taken_keeps_nobody_from_answering(
    talk: Callable[..., Talk], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    here = talk(turns={"claim": {"longest_wait": 0}})
    gate, taken = here.host.gatekeeper.gate, here.host.gatekeeper.gate.note

    def full(decision: Any) -> None:
        if decision.stage == "claim":
            raise OSError("The disk is full.")
        taken(decision)

    monkeypatch.setattr(gate, "note", full)
    asked = await here.say("who knows when the next release is?")
    assert here.handled == [asked]
    assert "could not be logged" in caplog.text
    assert "Could not decide" not in caplog.text


async def test_an_answer_whose_claim_another_bot_took_over_is_not_sent(talk: Callable[..., Talk]) -> None:
    here = talk(turns={"claim": {"longest_wait": 0}})
    asked = await here.say("does anybody know the train times?")
    lease = here.host.record.leases
    held = lease.current(f"answer {KEY} {asked}")
    assert held is not None
    lease.release(held)
    assert lease.acquire(f"answer {KEY} {asked}", "another", 60) is not None
    await here.channel.send_delta("oc_1", "They leave", {"message_id": asked})
    await here.channel.send_delta("oc_1", " at noon.", {"message_id": asked})
    await here.channel.send_delta("oc_1", "", {"message_id": asked}, stream_end=True)
    assert here.channel._client.sent == []


async def test_a_message_that_is_taken_back_while_the_judge_thinks_becomes_no_turn(talk: Callable[..., Talk]) -> None:
    thinking, thought = asyncio.Event(), asyncio.Event()

    async def judge() -> str:
        thinking.set()
        await thought.wait()
        return "yes"

    here = talk(judge)
    await here.wander()
    before = here.handled
    unclear, event = here.hear("and the second one?")
    waiting = asyncio.ensure_future(here.channel._on_message(event))
    async with asyncio.timeout(PATIENCE):
        await thinking.wait()
        assert here.host.record.store.recall(KEY, unclear)
        thought.set()
        await waiting
    assert here.handled == before


async def test_a_message_that_is_taken_back_before_anybody_looked_at_it_becomes_no_turn(
    talk: Callable[..., Talk], caplog: pytest.LogCaptureFixture
) -> None:
    here = talk()
    asked, event = here.hear("@Alpha, when?")
    assert here.host.record.store.recall(KEY, asked)
    with caplog.at_level("INFO"):
        await here.channel._on_message(event)
    assert here.handled == []
    assert f"{asked} was recalled" in caplog.text


async def test_a_mention_reaches_a_bot_whose_name_another_one_takes_meanwhile(talk: Callable[..., Talk]) -> None:
    here = talk()
    people = here.host.conversation.people
    people.introduce("cli_a", platform_name="Alpha", open_id="ou_alpha")
    asked, event = here.hear(
        "@_user_1, when?", mentions=[{"key": "@_user_1", "id": {"open_id": "ou_alpha"}, "name": "Alpha"}]
    )
    assert people.members is not None
    people.members.remember_bot("cli_0", "Alpha")
    people.members.saw(KEY, "Alpha")
    await here.channel._on_message(event)
    assert people.look().agent_name("cli_a") == "Alpha-li_a"
    assert here.handled == [asked]


async def test_an_answer_to_what_was_taken_back_meanwhile_is_not_sent(talk: Callable[..., Talk]) -> None:
    here = talk()
    asked = await here.say("@Alpha, when?")
    other = await here.say("@Alpha, and where?")
    assert here.host.record.store.recall(KEY, asked)
    for message_id in (asked, other):
        await here.channel.send_delta("oc_1", "On Friday.", {"message_id": message_id})
        await here.channel.send_delta("oc_1", "", {"message_id": message_id}, stream_end=True)
    answers = [entry for entry in here.host.record.store.recent(KEY, 10).entries if entry.get("agent") == "Alpha"]
    assert [entry.get("reply_to") for entry in answers] == [other]


async def test_an_answer_carries_one_hop_more_than_what_it_answers(talk: Callable[..., Talk]) -> None:
    here = talk()
    asked = await here.say("Alpha, when?")
    await here.channel.send_delta("oc_1", "On Friday.", {"message_id": asked})
    await here.channel.send_delta("oc_1", "", {"message_id": asked}, stream_end=True)
    here.answer("Really?", asked, "Beta", "cli_b", hop=3)
    newest = here.host.record.store.recent(KEY, 1).entries[0]
    await here.channel.send_delta("oc_1", "Yes.", {"message_id": newest["message_id"]})
    await here.channel.send_delta("oc_1", "", {"message_id": newest["message_id"]}, stream_end=True)
    said = [entry for entry in here.host.record.store.recent(KEY, 10).entries if entry.get("agent") == "Alpha"]
    assert [entry.get("hop") for entry in said] == [1, 4]
