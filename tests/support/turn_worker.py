"""What a test of turns lets another process do: ``python -m support.turn_worker ACTION '{"option": ...}'``."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from support.leases import FOR_EVER
from support.waiting import PATIENCE
from support.worker import fill_disk_at, ready, say

from nanobot_transcript import AsyncGroupTranscriptStore, TranscriptError
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.turns import (
    GUARD_HISTORY,
    AnswerClaims,
    ClaimLimits,
    FileBudget,
    FileLease,
    Grant,
    LoopGuard,
    LoopLimits,
    Relay,
    RelaySettings,
)

KEY = "feishu:oc_turns"


class StandingBy(FileLease):
    """Says when it was refused twice: whoever asks again stands by."""

    refused = 0

    def acquire(self, name: str, holder: str, ttl: float) -> Grant | None:
        grant = super().acquire(name, holder, ttl)
        self.refused += grant is None
        if grant is None and self.refused == 2:
            say({"won": None})
        return grant


def acquire_all(base_dir: str, names: list[str], holder: str) -> list[str]:
    """Try to acquire every name once; the names that were had."""
    lease = FileLease(base_dir, wait=PATIENCE)
    ready()
    return [name for name in names if lease.acquire(name, holder, 60) is not None]


def take_all(base_dir: str, count: int, limit: int) -> int:
    """Take from a budget as often as told; how often it was granted."""
    budget = FileBudget(base_dir, wait=PATIENCE)
    ready()
    return sum(budget.take("calls", limit=limit, window=3600) for _ in range(count))


def acquire_on_a_full_disk(base_dir: str, limit: int) -> dict[str, Any]:
    """Acquire until a file may not grow any more; ``limit`` bounds the size of any file this process may write."""
    lease = FileLease(base_dir, wait=PATIENCE)
    ready()
    fill_disk_at(limit)
    had: list[str] = []
    for number in range(10_000):
        try:
            grant = lease.acquire(f"name {number}", "full", 600)
        except TranscriptError as error:
            return {"had": had, "refused": f"name {number}", "error": error.code, "hint": error.hint}
        had += [grant.name] if grant is not None else []
    return {"had": had, "refused": None}


def churn(base_dir: str, holder: str, ack: str) -> None:
    """Acquire, note the token and release the same lease until killed."""
    lease = FileLease(base_dir, wait=PATIENCE)
    notes = os.open(ack, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    ready()
    while True:
        grant = lease.acquire("churned", holder, FOR_EVER)
        if grant is not None:
            os.write(notes, f"{grant.token} {holder}\n".encode())
            lease.release(grant)


def answer(
    base_dir: str,
    agent: str,
    message_id: str,
    score: float = 1.0,
    ttl: float = FOR_EVER,
    die: str = "",
    sent: str = "",
) -> str:
    """Contest a message and answer it; ``die`` before or after the send. Every send is noted in the file ``sent``."""

    async def contest() -> str:
        store = AsyncGroupTranscriptStore(base_dir)
        message = await store.get(KEY, message_id)
        assert message is not None
        limits = ClaimLimits(ttl=ttl, longest_wait=0.2, look_every=0.05, patience=FOR_EVER)
        claims = AnswerClaims(StandingBy(base_dir, wait=PATIENCE), store, agent, limits)
        claim = await claims.win(KEY, message, score=score)
        if claim is None:
            return "left"
        async with claim:
            say({"won": agent})
            _die_if(die == "before send")
            if not claim.holds():
                return "lost"
            _note(sent, agent)
            await store.append(KEY, "assistant", "Here.", agent, f"om_{agent}", reply_to=message_id, agent=agent)
            _die_if(die == "after record")
        return "answered"

    ready()
    return asyncio.run(contest())


def relay(base_dir: str, agent: str, ack: str, until: str = "") -> int:
    """Note every entry the relay hands out, until the one with the id ``until``."""

    async def listen() -> int:
        taken = 0
        async for entry in relayed.entries(KEY):
            _note(ack, str(entry["message_id"]))
            taken += 1
            if entry["message_id"] == until:
                break
        return taken

    store = AsyncGroupTranscriptStore(base_dir)
    relayed = Relay(store, AgentProfile(agent), RelaySettings("all"))
    ready()
    return asyncio.run(listen())


def discuss(base_dir: str, agent: str, limit: int) -> int:
    """Answer the person, then whatever the relay brings and the guard allows, until told to stop."""

    async def talk() -> int:
        guard, turns = LoopGuard(LoopLimits(hops=limit)), 0
        relayed = Relay(store, me, RelaySettings("all"), guard=guard)

        async def say_something(hop: int) -> None:
            nonlocal turns
            turns += 1
            text, message_id = f"{agent} says number {turns}.", f"om_{agent}_{turns}"
            await store.append(KEY, "assistant", text, agent, message_id, agent=agent, hop=hop)

        async def listen() -> None:
            async for entry in relayed.entries(KEY):
                history = (await store.recent(KEY, GUARD_HISTORY)).entries
                verdict = guard.allows(entry, history, me)
                if verdict.allowed:
                    await say_something(verdict.hops + 1)

        await say_something(1)
        listening = asyncio.create_task(listen())
        await asyncio.to_thread(sys.stdin.buffer.raw.readline)  # type: ignore[attr-defined]
        listening.cancel()
        await asyncio.wait({listening})
        return turns

    store, me = AsyncGroupTranscriptStore(base_dir), AgentProfile(agent)
    ready()
    return asyncio.run(talk())


def _note(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, f"{text}\n".encode())
    os.close(descriptor)


def _die_if(now: bool) -> None:
    if now:
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)


ACTIONS: dict[str, Callable[..., Any]] = {
    action.__name__: action for action in (acquire_all, acquire_on_a_full_disk, answer, churn, discuss, relay, take_all)
}

if __name__ == "__main__":
    say(ACTIONS[sys.argv[1]](**json.loads(sys.argv[2])))
