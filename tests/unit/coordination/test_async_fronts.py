"""Leases on event loops: in place where that is quick, in a thread where it is not, and none is lost."""

import asyncio
import threading
from pathlib import Path

import pytest
from support.procs import until as stand_still_until
from support.waiting import PATIENCE, until

from nanobot_transcript.coordination.async_fronts import AsyncBudget, AsyncLease
from nanobot_transcript.coordination.contract import Grant
from nanobot_transcript.coordination.files.call_budget import FileBudget
from nanobot_transcript.coordination.files.lease import FileLease
from nanobot_transcript.errors import StoreBusyError


class Far(FileLease):
    """A lease that is asked over a network."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.asked = threading.Event()
        self.answered = threading.Event()
        self.threads: set[int] = set()
        self.given_back: list[str] = []
        self.error: StoreBusyError | None = None

    @property
    def blocking(self) -> bool:
        return True

    def acquire(self, name: str, holder: str, ttl: float) -> Grant | None:
        self.threads.add(threading.get_ident())
        self.asked.set()
        assert self.answered.wait(PATIENCE)
        if self.error is not None:
            raise self.error
        return super().acquire(name, holder, ttl)

    def release(self, grant: Grant) -> None:
        super().release(grant)
        self.given_back.append(grant.name)


async def test_a_lease_of_this_machine_is_asked_in_place(tmp_path: Path) -> None:
    lease = AsyncLease(FileLease(tmp_path))
    grant = await lease.acquire("a", "Alpha#1", 60)
    assert grant is not None
    assert await lease.current("a") == grant
    assert await lease.renew(grant, 60) is not None
    await lease.release(grant)
    assert await lease.current("a") is None


async def test_one_that_is_far_away_is_asked_in_a_thread(tmp_path: Path) -> None:
    far = Far(tmp_path)
    far.answered.set()
    assert await AsyncLease(far).acquire("a", "Alpha#1", 60) is not None
    assert threading.get_ident() not in far.threads


async def test_a_lease_that_comes_after_the_caller_has_gone_is_given_back(tmp_path: Path) -> None:
    far = Far(tmp_path)
    asking = asyncio.create_task(AsyncLease(far).acquire("a", "Alpha#1", 60))
    await until(far.asked.is_set)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking  # at once: the other side has not answered yet
    far.answered.set()
    await until(lambda: far.given_back == ["a"])
    assert FileLease(tmp_path).current("a") is None


async def test_a_lease_that_came_while_the_caller_left_is_given_back(tmp_path: Path) -> None:
    far = Far(tmp_path)
    asking = asyncio.create_task(AsyncLease(far).acquire("a", "Alpha#1", 60))
    await until(far.asked.is_set)
    far.answered.set()
    stand_still_until(lambda: FileLease(tmp_path).current("a") is not None, "an answer that the loop does not hear of")
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await until(lambda: far.given_back == ["a"])


async def test_a_failing_lease_does_not_keep_its_caller_from_being_cancelled(tmp_path: Path) -> None:
    far = Far(tmp_path)
    far.error = StoreBusyError("Somebody else has it.")
    asking = asyncio.create_task(AsyncLease(far).acquire("a", "Alpha#1", 60))
    await until(far.asked.is_set)
    asking.cancel()
    far.answered.set()
    with pytest.raises(asyncio.CancelledError):
        await asking
    with pytest.raises(StoreBusyError):
        await AsyncLease(far).acquire("a", "Alpha#1", 60)


async def test_a_budget_is_shared(tmp_path: Path) -> None:
    budget = AsyncBudget(FileBudget(tmp_path))
    assert [await budget.take("calls", limit=2, window=60) for _ in range(3)] == [True, True, False]
