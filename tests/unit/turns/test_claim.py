"""One answer, also when the one who wanted to give it cannot."""

import asyncio
import fcntl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.faketime import FakeTime
from support.leases import FOR_EVER
from support.loop_clock import later
from support.procs import until
from support.waiting import PATIENCE

from nanobot_transcript import AsyncGroupTranscriptStore, StoreError, StoreUnavailableError
from nanobot_transcript.coordination.contract import Grant
from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.turns import AnswerClaims, Claim, ClaimLimits, FileLease
from nanobot_transcript.turns.claim import is_answered

KEY = "feishu:oc_1"
LIMITS = {"ttl": FOR_EVER, "longest_wait": 0.1, "look_every": 0.01, "patience": FOR_EVER}


async def ask(store: AsyncGroupTranscriptStore, message_id: str = "om_1", **fields: Any) -> Entry:
    await store.append(KEY, "user", "Who knows?", "on_ada", message_id, **fields)
    found = await store.get(KEY, message_id)
    assert found is not None
    return found


async def reply(store: AsyncGroupTranscriptStore, agent: str, **fields: Any) -> None:
    await store.append(KEY, "assistant", "I do.", agent, f"om_of_{agent}", sender_kind="bot", agent=agent, **fields)


def claims(
    store: AsyncGroupTranscriptStore,
    agent: str,
    clock: Callable[[], float] | None = None,
    wait: float = PATIENCE,
    **limits: Any,
) -> AnswerClaims:
    lease = FileLease(store.base_dir, wait=wait, clock=clock)
    return AnswerClaims(lease, store, agent, ClaimLimits(**{**LIMITS, **limits}))


def renewed_after(store: AsyncGroupTranscriptStore, claim: Claim, time: FakeTime, seconds: float) -> None:
    """Let the time of the leases pass, and return when the claim was renewed in it."""
    assert claim.grant is not None
    name, lease = claim.grant.name, FileLease(store.base_dir, wait=PATIENCE, clock=time.clock)
    before = lease.current(name)
    assert before is not None, "it ran out"
    time.now += seconds
    until(lambda: (now := lease.current(name)) is not None and now.expires_at > before.expires_at, "it is renewed")


def won(claim: Claim | None) -> Claim:
    assert claim is not None
    return claim


async def test_the_first_to_claim_answers_and_the_others_leave(shared: AsyncGroupTranscriptStore) -> None:
    message = await ask(shared)

    async def contest(agent: str) -> bool:
        claim = await claims(shared, agent).win(KEY, message)
        if claim is None:
            return False
        async with claim:
            assert claim.holds()
            await asyncio.sleep(0)
            await reply(shared, agent, reply_to="om_1")
        return True

    async with asyncio.timeout(PATIENCE):
        answered = await asyncio.gather(*(contest(f"Bot{number}") for number in range(4)))
    assert sum(answered) == 1


async def test_the_best_answer_comes_first(shared: AsyncGroupTranscriptStore) -> None:
    message = await ask(shared)
    winners: list[str] = []

    async def contest(agent: str, score: float) -> None:
        claim = await claims(shared, agent, longest_wait=3600).win(KEY, message, score=score)
        if claim is not None:
            async with claim:
                winners.append(agent)

    low, high, middle = map(asyncio.create_task, (contest("Low", 0.0), contest("High", 1.0), contest("Middle", 0.5)))
    await asyncio.wait_for(high, PATIENCE)
    later(3600)
    await asyncio.wait_for(asyncio.gather(low, middle), PATIENCE)
    assert winners == ["High"]


@pytest.mark.parametrize(("score", "alone"), [(1.0, False), (7.0, False), (0.0, True)])
async def test_the_best_and_the_only_one_do_not_wait(
    shared: AsyncGroupTranscriptStore, score: float, alone: bool
) -> None:
    message = await ask(shared)
    async with asyncio.timeout(PATIENCE):
        claim = won(await claims(shared, "Alpha", longest_wait=3600).win(KEY, message, score=score, alone=alone))
    claim.release()


async def test_who_does_not_stand_by_leaves_at_once(shared: AsyncGroupTranscriptStore) -> None:
    message = await ask(shared)
    held = won(await claims(shared, "Alpha").win(KEY, message))
    async with asyncio.timeout(PATIENCE):
        assert await claims(shared, "Beta", patience=3600).win(KEY, message, stand_by=False) is None
    assert held.holds()


async def test_a_failed_answer_is_left_to_the_next(shared: AsyncGroupTranscriptStore) -> None:
    message = await ask(shared)
    claim = won(await claims(shared, "Alpha").win(KEY, message))
    waiting = asyncio.create_task(claims(shared, "Beta").win(KEY, message))
    with pytest.raises(RuntimeError, match="no model"):
        async with claim:
            raise RuntimeError("no model")
    async with asyncio.timeout(PATIENCE):
        second = won(await waiting)
    assert second.holds()
    assert not claim.holds()


async def test_a_failure_after_the_send_is_not_left_to_the_next(shared: AsyncGroupTranscriptStore) -> None:
    message = await ask(shared)
    claim = won(await claims(shared, "Alpha").win(KEY, message))
    claim.settle()
    with pytest.raises(RuntimeError, match="after the send"):
        async with claim:
            raise RuntimeError("after the send")
    async with asyncio.timeout(PATIENCE):
        assert await claims(shared, "Beta").win(KEY, message) is None


async def test_a_settled_message_is_not_claimed_again(shared: AsyncGroupTranscriptStore) -> None:
    message = await ask(shared)
    async with won(await claims(shared, "Alpha").win(KEY, message)):
        pass
    async with asyncio.timeout(PATIENCE):
        assert await claims(shared, "Beta").win(KEY, message) is None


async def test_an_answer_in_the_record_ends_the_contest(shared: AsyncGroupTranscriptStore) -> None:
    message = await ask(shared)
    await reply(shared, "Alpha", reply_to="om_1")
    async with asyncio.timeout(PATIENCE):
        assert await claims(shared, "Beta").win(KEY, message) is None


async def test_a_successor_looks_for_later_words_of_the_one_before(shared: AsyncGroupTranscriptStore) -> None:
    message = await ask(shared)
    won(await claims(shared, "Alpha", ttl=0.05).win(KEY, message))
    await reply(shared, "Alpha")  # sent and recorded without a reply_to, then killed
    async with asyncio.timeout(PATIENCE):
        assert await claims(shared, "Beta").win(KEY, message) is None


async def test_words_of_somebody_else_are_no_answer(shared: AsyncGroupTranscriptStore) -> None:
    message = await ask(shared)
    won(await claims(shared, "Alpha", ttl=0.05).win(KEY, message))
    await reply(shared, "Gamma")
    async with asyncio.timeout(PATIENCE):
        assert won(await claims(shared, "Beta").win(KEY, message)).holds()


async def test_a_claim_is_renewed_while_the_answer_is_made(shared: AsyncGroupTranscriptStore) -> None:
    message = await ask(shared)
    time = FakeTime()
    async with won(await claims(shared, "Alpha", time.clock, ttl=0.2).win(KEY, message)) as claim:
        for _ in range(3):
            await asyncio.to_thread(renewed_after, shared, claim, time, 0.15)
            assert await claims(shared, "Beta", time.clock).win(KEY, message, stand_by=False) is None
        assert claim.holds()


async def test_an_event_loop_that_is_busy_does_not_lose_the_claim(shared: AsyncGroupTranscriptStore) -> None:
    message = await ask(shared)
    time = FakeTime()
    async with won(await claims(shared, "Alpha", time.clock, ttl=0.2).win(KEY, message)) as claim:
        for _ in range(3):
            renewed_after(shared, claim, time, 0.15)  # and nothing else happens on the loop
        assert claim.holds()


async def test_an_agent_that_hangs_does_not_keep_the_message_for_ever(shared: AsyncGroupTranscriptStore) -> None:
    message = await ask(shared)
    claim = won(await claims(shared, "Alpha", ttl=0.06, patience=0.1).win(KEY, message))
    async with asyncio.timeout(PATIENCE), claim:
        second = won(await claims(shared, "Beta").win(KEY, message))
        assert not claim.holds()
    assert second.holds()


async def test_who_was_succeeded_may_not_send(shared: AsyncGroupTranscriptStore) -> None:
    message = await ask(shared)
    first = won(await claims(shared, "Alpha", ttl=0.05).win(KEY, message))
    async with asyncio.timeout(PATIENCE):
        second = won(await claims(shared, "Beta").win(KEY, message))
    assert not first.holds()
    first.settle()
    assert second.holds()


async def test_a_busy_lock_does_not_cost_a_claim_that_was_just_renewed(shared: AsyncGroupTranscriptStore) -> None:
    message = await ask(shared)
    claim = won(await claims(shared, "Alpha", wait=0.05, ttl=3600.0).win(KEY, message))
    (lock,) = (shared.base_dir / ".state" / "locks" / "leases").glob("*.json")
    with lock.with_suffix(".lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert claim.holds()


async def test_a_claim_that_was_not_renewed_for_long_is_not_trusted_while_the_lock_is_busy(
    shared: AsyncGroupTranscriptStore,
) -> None:
    message = await ask(shared)
    claim = won(await claims(shared, "Alpha", wait=0.05, ttl=0.001).win(KEY, message))
    (lock,) = (shared.base_dir / ".state" / "locks" / "leases").glob("*.json")
    with lock.with_suffix(".lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert not claim.holds()


async def test_messages_without_an_id_are_told_apart(shared: AsyncGroupTranscriptStore) -> None:
    one: Entry = {"role": "user", "content": "a", "sender": "on_ada", "message_id": None, "ts": 1}
    other: Entry = {**one, "content": "b"}
    assert await claims(shared, "Alpha").win(KEY, one)
    assert await claims(shared, "Beta").win(KEY, one, stand_by=False) is None
    assert await claims(shared, "Beta").win(KEY, other, stand_by=False)


async def test_the_same_id_in_another_chat_is_another_message(shared: AsyncGroupTranscriptStore) -> None:
    message = await ask(shared)
    assert await claims(shared, "Alpha").win(KEY, message)
    assert await claims(shared, "Beta").win("feishu:oc_2", message, stand_by=False)


async def test_leases_that_cannot_be_used_are_an_error_and_no_answer(
    shared: AsyncGroupTranscriptStore, base_dir: Path
) -> None:
    message = await ask(shared)
    (base_dir / ".state" / "locks" / "leases").write_text("in the way")
    with pytest.raises(StoreError):
        await claims(shared, "Alpha").win(KEY, message)


class Engine(FileLease):
    """Leases over a network that is there, or not."""

    blocking = True  # type: ignore[assignment]
    away = False

    def __init__(self, base_dir: Path) -> None:
        super().__init__(base_dir, wait=PATIENCE)
        self.asked = threading.Semaphore(0)

    def _ask(self) -> None:
        self.asked.release()
        if self.away:
            raise StoreUnavailableError("The record cannot be asked.", hint="Start it.")

    def acquire(self, name: str, holder: str, ttl: float) -> Grant | None:
        self._ask()
        return super().acquire(name, holder, ttl)

    def renew(self, grant: Grant, ttl: float) -> Grant | None:
        self._ask()
        return super().renew(grant, ttl)

    def current(self, name: str) -> Grant | None:
        self._ask()
        return super().current(name)


async def test_without_the_engine_nobody_answers(shared: AsyncGroupTranscriptStore) -> None:
    message, engine = await ask(shared), Engine(shared.base_dir)
    engine.away = True
    with pytest.raises(StoreUnavailableError):
        await AnswerClaims(engine, shared, "Alpha", ClaimLimits(**LIMITS)).win(KEY, message)


async def test_what_was_answered_while_the_engine_went_away_is_settled_when_it_is_back(
    shared: AsyncGroupTranscriptStore,
) -> None:
    message, engine = await ask(shared), Engine(shared.base_dir)
    claim = won(await AnswerClaims(engine, shared, "Alpha", ClaimLimits(**LIMITS)).win(KEY, message))
    async with claim:
        engine.away = True
    for _ in range(3):
        assert await asyncio.to_thread(engine.asked.acquire, timeout=PATIENCE)
    engine.away = False
    settled = FileLease(shared.base_dir, wait=PATIENCE)
    await asyncio.to_thread(until, lambda: settled.current(f"settled answer {KEY} om_1"), "it is settled")
    assert await claims(shared, "Beta").win(KEY, message, stand_by=False) is None


def entry(role: str, sender: str, ts: float, **fields: Any) -> Entry:
    return {"role": role, "content": "x", "sender": sender, "message_id": f"om_{ts}", "ts": ts, **fields}  # type: ignore[typeddict-item]


def test_what_counts_as_an_answer() -> None:
    message = entry("user", "on_ada", 10)
    assert is_answered(message, [message, entry("assistant", "Alpha", 11, reply_to="om_10")])
    assert not is_answered(message, [message, entry("user", "on_bo", 11, reply_to="om_10")])
    assert not is_answered(message, [message, entry("assistant", "Alpha", 11)])
    assert is_answered(message, [message, entry("assistant", "Alpha", 11)], by=AgentProfile("Alpha"))
    assert not is_answered(message, [entry("assistant", "Alpha", 9), message], by=AgentProfile("Alpha"))
    assert not is_answered(
        message, [message, entry("assistant", "Alpha", 11, reply_to="om_5")], by=AgentProfile("Alpha")
    )
    assert not is_answered(
        message, [message, entry("assistant", "Alpha", 11, thread_id="omt_1")], by=AgentProfile("Alpha")
    )
