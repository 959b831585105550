"""What became of an answer: it is noted, shown while it is being written, and said where that is wanted."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from support.leases import FOR_EVER
from support.memory_chat import KEY, MemoryChannel, profile
from support.waiting import PATIENCE, until

from nanobot_transcript.conversation.decision import PRIVATE
from nanobot_transcript.errors import ResponderError
from nanobot_transcript.relevance import RelevanceGate
from nanobot_transcript.relevance.decision_log_file import FileDecisionLog
from nanobot_transcript.relevance.tally import Tally, tallies_since
from nanobot_transcript.runner.agent_loop import LoopOptions
from nanobot_transcript.turns import AnswerClaims, ClaimLimits, FileLease

SORRY = "I cannot answer just now."
TELLS = LoopOptions(failure_text=SORRY)
LONG = "claude ended with exit code 1:\nthe key is wrong " + "x" * 500


class Mind:
    """Says ``text`` once ``go`` is set, or fails with ``error``."""

    def __init__(self, text: str = "", error: BaseException | None = None) -> None:
        self.asked = asyncio.Event()
        self.go = asyncio.Event()
        self.go.set()
        self._text, self.error = text, error

    async def respond(self, prompt: Any) -> AsyncIterator[str]:
        self.asked.set()
        await self.go.wait()
        if self.error is not None:
            raise self.error
        yield self._text

    async def close(self) -> None:
        return None


class Reacting(MemoryChannel):
    """A channel that keeps what it showed."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.reactions: list[tuple[str, str, bool]] = []

    @asynccontextmanager
    async def working(self, message_id: str, reaction: str) -> AsyncIterator[None]:
        self.reactions.append((message_id, reaction, True))
        try:
            yield
        finally:
            self.reactions.append((message_id, reaction, False))


def outcomes(stage: Any) -> list[tuple[str, str | None]]:
    """The reasons of the last stage, and why."""
    records = FileDecisionLog(stage.folder).read(KEY)
    return [(one["reason"], one.get("why")) for one in records if one["stage"] == "answer"]


def add(stage: Any, mind: Mind, name: str = "Alpha", **parts: Any) -> Any:
    return stage.add(name, mind, gate=RelevanceGate(log=FileDecisionLog(stage.folder)), **parts)


@pytest.mark.parametrize(
    ("mind", "noted"),
    [
        (Mind("Hello."), ("answered", None)),
        (Mind(" \n"), ("said_nothing", None)),
        (Mind(error=ResponderError("The model is away.")), ("failed", "The model is away.")),
        (Mind(error=KeyError("x")), ("failed", "The answer failed with a program error: KeyError.")),
    ],
)
async def test_what_became_of_an_answer_is_noted(stage: Any, mind: Mind, noted: tuple[str, str | None]) -> None:
    add(stage, mind)
    await stage.start()
    await stage.chat.say("@Alpha hello")
    await stage.quiet()
    assert outcomes(stage) == [noted]


async def test_why_an_answer_failed_is_one_line_that_is_not_long(stage: Any) -> None:
    add(stage, Mind(error=ResponderError(LONG)))
    await stage.start()
    await stage.chat.say("@Alpha hello")
    await stage.quiet()
    ((_, why),) = outcomes(stage)
    assert why is not None
    assert why.startswith("claude ended with exit code 1: the key is wrong x")
    assert (len(why), why[-1], "\n" in why) == (200, "…", False)


async def test_an_answer_to_what_was_taken_back_is_noted_as_held_back(stage: Any) -> None:
    mind = Mind("Too late.")
    mind.go.clear()
    add(stage, mind)
    await stage.start()
    asked = await stage.chat.say("@Alpha hello")
    await mind.asked.wait()
    await stage.chat.recall(asked)
    mind.go.set()
    await stage.quiet()
    assert outcomes(stage) == [("withdrawn", None)]
    assert stage.chat.texts() == []


async def test_an_answer_that_is_broken_off_by_the_end_is_noted(stage: Any) -> None:
    mind = Mind("Too late.")
    mind.go.clear()
    add(stage, mind)
    await stage.start(grace=0)
    await stage.chat.say("@Alpha hello")
    await mind.asked.wait()
    await stage.stop()
    assert outcomes(stage) == [("failed", "The process was stopped before the answer was complete.")]


async def test_nothing_is_noted_about_private_chats(stage: Any) -> None:
    add(stage, Mind("Hello."))
    await stage.start()
    await stage.chat.say("hello", private=True)
    await stage.quiet()
    assert stage.chat.texts() == ["Hello."]
    assert outcomes(stage) == []
    assert FileDecisionLog(stage.folder).outcomes(0) == []


async def test_that_an_answer_in_private_failed_is_noted_until_one_goes_out_and_nothing_of_the_chat(stage: Any) -> None:
    mind, log = Mind("Hello.", error=ResponderError("Ada's salary is a secret.")), FileDecisionLog(stage.folder)
    add(stage, mind)
    await stage.start()
    await stage.chat.say("hello", private=True)
    await until(lambda: log.outcomes(0))
    (noted,), (tally,) = log.outcomes(0), tallies_since(log, 0)
    assert (noted["chat"], noted["message_id"], noted["reason"], tally.failed) == (PRIVATE, None, "failed", 1)
    assert "salary" not in noted["why"]
    mind.error = None
    for _ in range(2):
        await stage.chat.say("hello", private=True)
    await stage.quiet()
    assert [one["reason"] for one in log.outcomes(0)] == ["failed", "answered"]
    assert tallies_since(log, 0) == [Tally("Alpha", 1)]
    assert outcomes(stage) == []


async def test_a_person_who_asked_a_bot_that_fails_is_told_so_where_that_is_wanted(stage: Any) -> None:
    add(stage, Mind(error=ResponderError("no model")), options=TELLS)
    await stage.start()
    asked = await stage.chat.say("@Alpha hello")
    assert await stage.chat.answers(1) == [SORRY]
    await stage.quiet()
    *_, word = await stage.record()
    assert (word["content"], word.get("reply_to"), word["sender"]) == (SORRY, asked["message_id"], "Alpha")
    assert [reason for reason, _ in outcomes(stage)] == ["failed"]


async def test_nobody_is_told_who_is_a_bot_or_addressed_nobody(stage: Any) -> None:
    members = (profile("Alpha"), profile("Beta"))
    limits = ClaimLimits(ttl=FOR_EVER, longest_wait=0.0, look_every=0.02, patience=FOR_EVER)
    claims = AnswerClaims(FileLease(stage.folder, wait=PATIENCE), stage.store, "Alpha", limits)
    mind = Mind(error=ResponderError("no model"))
    add(stage, mind, options=TELLS, claims=claims, members=lambda _: members)
    await stage.start()
    await stage.chat.say("does anybody know when the next release is?")
    await until(lambda: len(outcomes(stage)) == 1)
    await stage.chat.tell(stage.chat.entry("@Alpha what time is it?", "Beta", sender_kind="bot", agent="Beta", hop=1))
    await until(lambda: len(outcomes(stage)) == 2)
    await stage.quiet()
    assert stage.chat.texts() == []


async def test_a_word_that_cannot_be_sent_either_is_told_in_the_log(
    stage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    add(stage, Mind(error=ResponderError("no model")), options=TELLS)
    stage.chat.failures = [ResponderError("the chat is gone")]
    await stage.start()
    await stage.chat.say("@Alpha hello")
    await stage.quiet()
    assert "could not send its failure text: the chat is gone" in caplog.text


async def test_a_message_carries_a_reaction_for_as_long_as_it_is_being_answered(stage: Any) -> None:
    mind = Mind(error=ResponderError("no model"))
    mind.go.clear()
    seat = add(stage, mind, channel=Reacting, options=LoopOptions(reaction="OnIt"))
    await stage.start()
    asked = await stage.chat.say("@Alpha hello")
    await mind.asked.wait()
    assert seat.reactions == [(asked["message_id"], "OnIt", True)]
    mind.go.set()
    await stage.quiet()
    assert seat.reactions[1:] == [(asked["message_id"], "OnIt", False)]


async def test_without_a_reaction_none_is_shown(stage: Any) -> None:
    seat = add(stage, Mind("Hello."), channel=Reacting)
    await stage.start()
    await stage.chat.say("@Alpha hello")
    await stage.quiet()
    assert seat.reactions == []
