"""The gate, the guard and the claim at work in the loop, with several agents in one process."""

import asyncio
from typing import Any

import pytest
from support.leases import FOR_EVER
from support.memory_chat import KEY, StreamingMemoryChannel, profile
from support.waiting import PATIENCE, until

from nanobot_transcript.conversation.posts import Posts
from nanobot_transcript.errors import ResponderError
from nanobot_transcript.outbox import Outbox
from nanobot_transcript.relevance import Decision, Reason, RelevanceGate, Stage
from nanobot_transcript.relevance.choice import ClaimOpen
from nanobot_transcript.relevance.decision_log_file import FileDecisionLog
from nanobot_transcript.runner.agent_loop import LoopOptions
from nanobot_transcript.turns import AnswerClaims, ClaimLimits, FileLease, LoopGuard, LoopLimits, Relay, RelaySettings

NAMES = ("Alpha", "Beta", "Gamma", "Delta")
AT_ONCE = ClaimLimits(ttl=FOR_EVER, longest_wait=0.0, look_every=0.02, patience=FOR_EVER)
BEST_FIRST = ClaimLimits(ttl=FOR_EVER, longest_wait=FOR_EVER, look_every=0.02, patience=FOR_EVER)


class FixedGate:
    """Decides as it was told, and notes what it was asked."""

    def __init__(
        self, respond: bool | None, *, stage: Stage = Stage.SCORE, score: float = 0.5, judge: bool = True
    ) -> None:
        self.decision = Decision(respond, Reason.UNDECIDED, score, stage, open=stage is Stage.SCORE)
        self.judge = judge
        self.asked: list[Any] = []
        self.resolved = 0
        self.noted: list[Decision] = []

    def note(self, decision: Decision) -> None:
        self.noted.append(decision)

    def decide(self, message: Any, history: Any, agent: Any, members: Any, **about: Any) -> Decision:
        self.asked.append((message, list(history), about))
        return self.decision

    async def resolve(self, decision: Decision) -> Decision:
        if decision.respond is not None:
            return decision
        self.resolved += 1
        return Decision(self.judge, Reason.JUDGE_YES if self.judge else Reason.JUDGE_NO, 0.5, Stage.JUDGE)


def claims(stage: Any, name: str, limits: ClaimLimits = AT_ONCE) -> AnswerClaims:
    return AnswerClaims(FileLease(stage.folder, wait=PATIENCE), stage.store, name, limits)


def four(stage: Any, limits: ClaimLimits = AT_ONCE, claim_open: ClaimOpen = "questions", **gates: FixedGate) -> None:
    members = tuple(profile(name) for name in NAMES)
    for name in NAMES:
        gate = gates.get(name, FixedGate(True))
        taking = {"claims": claims(stage, name, limits), "claim_open": claim_open}
        stage.add(name, f"{name} answers.", gate=gate, members=lambda _: members, **taking)


async def test_of_four_bots_that_feel_meant_exactly_one_answers(stage: Any) -> None:
    four(stage)
    await stage.start()
    for number in range(5):
        await stage.chat.say(f"who knows about number {number}?")
    await stage.chat.answers(5)
    await stage.quiet()
    answered = [shown.outbound.reply_to for shown in stage.chat.shown]
    assert len(answered) == len(set(answered)) == 5


async def test_the_one_that_fits_best_answers(stage: Any) -> None:
    gates = {name: FixedGate(True, score=0.1) for name in NAMES}
    gates["Gamma"] = FixedGate(True, score=1.0)
    four(stage, BEST_FIRST, **gates)
    await stage.start(grace=0)  # the others wait for ever
    await stage.chat.say("who knows?")
    assert await stage.chat.answers(1) == ["Gamma answers."]
    await stage.stop()


async def test_who_is_addressed_for_certain_answers_without_a_claim(stage: Any) -> None:
    gates = {name: FixedGate(True, stage=Stage.CERTAIN, score=1.0) for name in ("Alpha", "Beta")}
    gates |= {name: FixedGate(False) for name in ("Gamma", "Delta")}
    gates["Gamma"].decision = gates["Delta"].decision = Decision(False, Reason.OTHER_MENTIONED, 0, Stage.OTHERS)
    four(stage, **gates)
    await stage.start()
    await stage.chat.say("@Alpha and @Beta, both of you?")
    await stage.chat.answers(2)
    await stage.quiet()
    assert sorted(stage.chat.texts()) == ["Alpha answers.", "Beta answers."]


async def test_small_talk_that_is_open_to_anybody_is_answered_by_nobody(stage: Any) -> None:
    four(stage, **{name: FixedGate(False, score=0.05) for name in NAMES})
    await stage.start()
    await stage.chat.say("good morning everybody")
    await stage.quiet()
    assert stage.chat.texts() == []


async def test_with_the_real_gate_an_unaddressed_question_gets_one_answer_and_small_talk_none(stage: Any) -> None:
    members = tuple(profile(name) for name in NAMES)
    log = FileDecisionLog(stage.folder)
    for name in NAMES:
        gate = RelevanceGate(log=log)
        stage.add(name, f"{name} answers.", gate=gate, claims=claims(stage, name), members=lambda _: members)
    await stage.start()
    await stage.chat.say("good morning")
    asked = await stage.chat.say("does anybody know when the next release is?")
    mentioned = await stage.chat.say("@Beta and the one after that?")
    await stage.chat.answers(2)
    await stage.quiet()
    replies = [shown.outbound.reply_to for shown in stage.chat.shown]
    assert sorted(replies) == sorted([asked["message_id"], mentioned["message_id"]])
    assert "Beta answers." in stage.chat.texts()
    noted = log.read(KEY, asked["message_id"])
    assert {one["agent"] for one in noted if one["stage"] == "score"} == set(NAMES)
    claims_of = {one["agent"]: (one["reason"], one["respond"]) for one in noted if one["stage"] == "claim"}
    (answer,) = (shown for shown in stage.chat.shown if shown.outbound.reply_to == asked["message_id"])
    assert claims_of == dict.fromkeys(NAMES, ("claim_seen", False)) | {answer.agent: ("claimed", True)}
    outcomes = [(one["agent"], one["reason"], one["respond"]) for one in noted if one["stage"] == "answer"]
    assert outcomes == [(answer.agent, "answered", True)]
    assert {one["stage"] for one in log.read(KEY, mentioned["message_id"])} == {"certain", "others", "answer"}


@pytest.mark.parametrize(("claim_open", "answers"), [("all", 1), ("questions", 0), ("off", 0)])
async def test_what_none_feels_meant_by_is_claimed_where_all_is_to_be_answered(
    stage: Any, claim_open: ClaimOpen, answers: int
) -> None:
    four(stage, claim_open=claim_open, **{name: FixedGate(False, score=0.05) for name in NAMES})
    await stage.start()
    await stage.chat.say("does anybody know?")
    await stage.chat.answers(answers)
    await stage.quiet()
    assert len(stage.chat.texts()) == answers


async def test_the_judge_is_asked_only_when_it_is_undecided_and_its_word_holds(stage: Any) -> None:
    undecided = FixedGate(None, judge=False)
    stage.add("Alpha", "yes", gate=undecided)
    certain = FixedGate(True, stage=Stage.CERTAIN)
    stage.add("Beta", "yes", gate=certain)
    await stage.start()
    await stage.chat.say("what now?")
    await stage.quiet()
    assert (undecided.resolved, certain.resolved) == (1, 0)
    assert stage.chat.texts("Alpha") == []
    assert stage.chat.texts("Beta") == ["yes"]


async def test_the_judge_is_not_asked_where_the_guard_says_no(stage: Any) -> None:
    gate = FixedGate(None)
    stage.add("Alpha", "yes", gate=gate, guard=LoopGuard(LoopLimits(hops=1)))
    await stage.start()
    beta: Any = stage.chat.entry("and you?", sender="Beta", role="assistant", sender_kind="bot", agent="Beta")
    await stage.chat.tell(beta)
    await stage.quiet()
    assert gate.resolved == 0
    assert len(gate.asked) == 1
    assert stage.chat.shown == []


async def test_the_gate_sees_the_shared_record_and_whose_talk_it_is(stage: Any) -> None:
    gate = FixedGate(False, stage=Stage.OTHERS)
    gate.decision = Decision(False, Reason.SCORE_LOW, 0.0, Stage.SCORE)
    stage.add("Alpha", gate=gate)
    await stage.start()
    beta: Any = stage.chat.entry("I am on it", sender="Beta", role="assistant", sender_kind="bot", agent="Beta")
    await stage.chat.tell(beta)
    await stage.chat.say("thanks, go on")
    await stage.quiet()
    message, history, about = gate.asked[-1]
    assert [entry["content"] for entry in history] == ["I am on it", "thanks, go on"]
    assert message["content"] == "thanks, go on"
    assert about["owner"] == "Beta"


class Failing:
    """A mind that cannot answer, which shows once ``true()`` is."""

    def __init__(self, true: Any) -> None:
        self.asked = False
        self._true = true

    async def respond(self, prompt: Any) -> Any:
        self.asked = True
        await until(self._true)
        raise ResponderError("no model")
        yield ""

    async def close(self) -> None:
        return None


async def told_after(stage: Any, first: Any) -> None:
    """A question that Beta hears of when Alpha's mind, the ``first``, has begun with it."""
    await stage.start()
    question = stage.chat.entry("who can?")
    await stage.chat.tell(question, but="Beta")
    await until(lambda: first.asked)
    await stage.chat.tell(question, but="Alpha")


async def test_when_the_one_that_claimed_cannot_answer_another_one_does(stage: Any) -> None:
    gate = FixedGate(True)
    failing = Failing(lambda: gate.asked)
    stage.add("Alpha", failing, gate=FixedGate(True), claims=claims(stage, "Alpha"), members=both)
    stage.add("Beta", "I can.", gate=gate, claims=claims(stage, "Beta"), members=both)
    await told_after(stage, failing)
    assert await stage.chat.answers(1) == ["I can."]


async def test_who_steps_in_for_one_that_claimed_and_failed_is_noted_as_that(stage: Any) -> None:
    gate = FixedGate(True)
    failing = Failing(lambda: gate.noted)
    stage.add("Alpha", failing, gate=FixedGate(True), claims=claims(stage, "Alpha"), members=both)
    stage.add("Beta", "I can.", gate=gate, claims=claims(stage, "Beta"), members=both)
    await told_after(stage, failing)
    assert await stage.chat.answers(1) == ["I can."]
    await stage.quiet()
    noted = [(one.respond, one.reason) for one in gate.noted]
    assert noted == [(False, "claim_seen"), (True, "taken_over"), (True, "answered")]


class NoNotes:
    """A gate of somebody else's that takes no notes, or fails at it."""

    def __init__(self, error: Exception | None = None) -> None:
        self._gate = FixedGate(True)
        self.decide = self._gate.decide
        self.resolve = self._gate.resolve
        if error is not None:
            self.note = self._fail
        self._error = error

    def _fail(self, decision: Decision) -> None:
        assert self._error is not None
        raise self._error


@pytest.mark.parametrize("error", [None, OSError("The disk is full."), ValueError("?")])
async def test_a_note_that_cannot_be_taken_keeps_nobody_from_answering(
    stage: Any, error: Exception | None, caplog: pytest.LogCaptureFixture
) -> None:
    stage.add("Alpha", "I can.", gate=NoNotes(error), claims=claims(stage, "Alpha"), members=both)
    await stage.start()
    await stage.chat.say("who can?")
    assert await stage.chat.answers(1) == ["I can."]
    await stage.quiet()
    assert ("could not be logged" in caplog.text) == (error is not None)


@pytest.mark.parametrize("error", [None, OSError("The disk is full.")])
async def test_a_note_that_cannot_be_taken_lets_the_loop_guard_stop_all_the_same(
    stage: Any, error: Exception | None
) -> None:
    guard = LoopGuard(LoopLimits(hops=1))
    stage.add("Alpha", "yes", gate=NoNotes(error), guard=guard, members=both)
    await stage.start()
    await stage.chat.tell(stage.chat.entry("and you?", "Beta", sender_kind="bot", agent="Beta", hop=1))
    await stage.chat.say("@Alpha still there?")
    assert await stage.chat.answers(1) == ["yes"]


async def test_a_message_for_this_agent_does_not_wait_behind_one_that_another_agent_answers(stage: Any) -> None:
    go = asyncio.Event()

    class Slow:
        asked = False

        async def respond(self, prompt: Any) -> Any:
            self.asked = True
            await go.wait()
            yield "slow"

        async def close(self) -> None:
            return None

    slow, gate = Slow(), FixedGate(True)
    stage.add("Alpha", slow, gate=FixedGate(True), claims=claims(stage, "Alpha"), members=both)
    stage.add("Beta", "quick", gate=gate, claims=claims(stage, "Beta"), members=both)
    await told_after(stage, slow)
    await until(lambda: gate.asked)
    gate.decision = Decision(True, Reason.MENTIONED, 1.0, Stage.CERTAIN)
    await stage.chat.tell(stage.chat.entry("@Beta quick question"), but="Alpha")
    assert "quick" in await stage.chat.answers(1)
    go.set()
    await stage.chat.answers(2)
    await stage.quiet()


async def test_without_a_gate_a_longer_name_is_another_bots(stage: Any) -> None:
    members = (profile("小助手"), profile("小助手二号"))
    for bot in members:
        stage.add(bot.name, f"我是{bot.name}", members=lambda _: members)
    await stage.start()
    await stage.chat.say("@小助手二号 看看")
    await stage.chat.answers(1)
    await stage.quiet()
    assert stage.chat.texts() == ["我是小助手二号"]


def both(_: str) -> Any:
    return (profile("Alpha"), profile("Beta"))


async def test_another_bots_words_come_out_of_the_record_where_the_platform_does_not_push_them(stage: Any) -> None:
    numbers = iter(range(1000))
    for name, other in (("Alpha", "Beta"), ("Beta", "Alpha")):
        relay = Relay(stage.store, profile(name), RelaySettings("mentions"))
        stage.add(name, lambda prompt, other=other: f"@{other} and what about {next(numbers)}?", relay=relay)
    await stage.start()
    await stage.chat.say("@Alpha discuss it with Beta")
    await stage.chat.answers(4)
    await stage.quiet()
    assert len(stage.chat.texts()) == 4
    assert [entry.get("hop") for entry in await stage.record()] == [None, 1, 2, 3, 4]


async def test_where_the_loop_guard_ends_a_discussion_that_is_noted(stage: Any) -> None:
    log = FileDecisionLog(stage.folder)
    guard = LoopGuard(LoopLimits(hops=2))
    for name, other in (("Alpha", "Beta"), ("Beta", "Alpha")):
        relay = Relay(stage.store, profile(name), RelaySettings("mentions"), guard=guard)
        stage.add(name, f"@{other} and you?", relay=relay, guard=guard, gate=RelevanceGate(log=log), members=both)
    await stage.start()
    await stage.chat.say("@Alpha discuss it with the other bot")
    await stage.chat.answers(2)
    last = stage.chat.shown[-1]
    await until(lambda: log.read(KEY, last.message_id))
    await stage.quiet()
    noted = [(one["agent"], one["respond"], one["stage"], one["reason"]) for one in log.read(KEY, last.message_id)]
    assert noted == [("Alpha", False, "guard", "hop_limit")]


async def test_where_the_guard_stops_what_the_platform_pushed_that_is_noted(stage: Any) -> None:
    log = FileDecisionLog(stage.folder)
    gate, guard = RelevanceGate(log=log), LoopGuard(LoopLimits(hops=1))
    stage.add("Alpha", "yes", gate=gate, guard=guard, members=both)
    await stage.start()
    beta = stage.chat.entry("@Alpha and you?", "Beta", sender_kind="bot", agent="Beta", hop=1)
    await stage.chat.tell(beta)
    await stage.quiet()
    noted = [(one["respond"], one["reason"]) for one in log.read(KEY, beta["message_id"])]
    assert noted == [(True, "named"), (False, "hop_limit")]


async def test_a_post_is_sent_by_the_agent_recorded_once_and_its_answer_starts_no_turn(stage: Any) -> None:
    outbox = Outbox(stage.folder)
    stage.add("Alpha", posts=Posts(outbox))
    await stage.start()
    post = await asyncio.to_thread(outbox.post, KEY, "Shall we ship?", idempotency_key="ship-1")
    assert await stage.chat.answers(1) == ["Shall we ship?"]
    status = await outbox.wait_sent(post, PATIENCE)
    assert (status.state, status.message_id) == ("sent", stage.chat.shown[0].message_id)
    await stage.chat.say("yes, @Alpha", reply_to=status.message_id)
    answer = await outbox.wait_answer(post, PATIENCE)
    assert answer is not None
    assert answer.text == "yes, @Alpha"
    await stage.quiet()
    assert len(stage.chat.texts()) == 1
    assert [entry["content"] for entry in await stage.record()] == ["Shall we ship?", "yes, @Alpha"]
    outbox.close()


async def test_who_loses_its_claim_while_it_streams_takes_its_card_back(stage: Any) -> None:
    go = asyncio.Event()

    class Slow:
        async def respond(self, prompt: Any) -> Any:
            yield "half an"
            await go.wait()
            yield " answer"

        async def close(self) -> None:
            return None

    lease = FileLease(stage.folder, wait=PATIENCE)
    own = claims(stage, "Alpha", ClaimLimits(ttl=FOR_EVER, longest_wait=0.0))
    stage.add("Alpha", Slow(), channel=StreamingMemoryChannel, gate=FixedGate(True), claims=own, members=both)
    await stage.start()
    asked = await stage.chat.say("who can?")
    assert await stage.chat.answers(1) == ["half an"]
    name = f"answer {KEY} {asked['message_id']}"
    held = lease.current(name)
    assert held is not None
    lease.release(held)  # as if it had run out while this process was stopped
    assert lease.acquire(name, "Beta#1", 60) is not None
    go.set()
    await stage.quiet()
    assert stage.chat.texts() == []
    assert [entry["content"] for entry in await stage.record()] == ["who can?"]


async def test_a_message_won_at_last_and_pushed_out_by_newer_ones_is_left_to_another_bot(stage: Any) -> None:
    go = asyncio.Event()

    class Slow:
        async def respond(self, prompt: Any) -> Any:
            await go.wait()
            yield "slow"

        async def close(self) -> None:
            return None

    gate, lease = FixedGate(True), FileLease(stage.folder, wait=PATIENCE)
    own = claims(stage, "Alpha", ClaimLimits(ttl=FOR_EVER, longest_wait=0.0, look_every=0.01, patience=FOR_EVER))
    options = LoopOptions(backlog=1)
    stage.add("Alpha", Slow(), gate=gate, claims=own, members=both, options=options)
    await stage.start()
    asked = stage.chat.entry("who can?")
    name = f"answer {KEY} {asked['message_id']}"
    held = lease.acquire(name, "Beta#1", 600)
    assert held is not None
    await stage.chat.tell(asked)
    await until(lambda: bool(gate.asked))
    gate.decision = Decision(True, Reason.MENTIONED, 1.0, Stage.CERTAIN)
    await stage.chat.say("@Alpha first")
    await until(lambda: len(gate.asked) == 2)
    lease.release(held)
    await until(lambda: (now := lease.current(name)) is not None and now.holder == own.holder)
    await stage.chat.say("@Alpha second")
    await until(lambda: lease.current(name) is None)
    go.set()
    await stage.chat.answers(2)
    await stage.quiet()
