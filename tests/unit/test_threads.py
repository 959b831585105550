"""Plain functions beside the event loop."""

import asyncio
import gc
import subprocess
import sys
import threading
import weakref
from contextvars import ContextVar

import pytest
from support.waiting import PATIENCE, until

from nanobot_transcript.threads import in_thread

WORD: ContextVar[str] = ContextVar("WORD")


async def test_results_and_errors_come_back() -> None:
    assert await in_thread(divmod, 7, 2) == (3, 1)
    assert await in_thread(dict, a=1) == {"a": 1}
    with pytest.raises(ZeroDivisionError):
        await in_thread(divmod, 7, 0)
    with pytest.raises(RuntimeError, match="StopIteration"):
        await in_thread(next, iter(()))


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
async def test_a_function_cannot_end_the_process(kind: type[BaseException]) -> None:
    def leave() -> None:
        raise kind(3)

    with pytest.raises(RuntimeError, match=kind.__name__):
        await in_thread(leave)


async def test_context_variables_are_seen() -> None:
    WORD.set("here")
    assert await in_thread(WORD.get) == "here"


async def test_many_functions_wait_for_each_other() -> None:
    together = threading.Barrier(8, timeout=PATIENCE)
    await asyncio.gather(*(in_thread(together.wait) for _ in range(8)))


async def test_more_functions_than_threads_have_their_turn() -> None:
    assert await asyncio.gather(*(in_thread(int, number) for number in range(200))) == list(range(200))


async def test_a_function_that_hangs_holds_up_nobody() -> None:
    on = threading.Event()
    before = asyncio.create_task(in_thread(int, 1))
    hanging = [asyncio.create_task(in_thread(on.wait)) for _ in range(5)]
    async with asyncio.timeout(PATIENCE):
        assert await before == 1  # though what is asked for next hangs
        assert await in_thread(int, 2) == 2
    assert not any(each.done() for each in hanging)
    on.set()
    assert all(await asyncio.gather(*hanging))


async def test_loops_of_several_threads_have_their_results() -> None:
    on = threading.Event()
    mine = asyncio.create_task(in_thread(on.wait))
    theirs = [asyncio.to_thread(asyncio.run, _doubled(number)) for number in range(4)]
    async with asyncio.timeout(PATIENCE):
        assert await asyncio.gather(*theirs) == [0, 2, 4, 6]
    on.set()
    assert await mine


async def _doubled(number: int) -> int:
    return sum(await asyncio.gather(*(in_thread(int, number) for _ in range(2))))


def test_neither_a_closed_loop_nor_a_result_that_comes_too_late_is_kept() -> None:
    begun, on, kept = threading.Event(), threading.Event(), list[weakref.ref[object]]()

    def work() -> set[int]:
        begun.set()
        on.wait()
        kept.append(weakref.ref(result := set[int]()))
        return result

    async def leave() -> None:
        kept.append(weakref.ref(asyncio.get_running_loop()))
        left = asyncio.ensure_future(in_thread(work))
        await until(begun.is_set)
        left.cancel()

    asyncio.run(leave())
    on.set()
    assert asyncio.run(_doubled(3)) == 6

    def gone() -> bool:
        gc.collect()
        return len(kept) == 2 and not any(each() is not None for each in kept)

    asyncio.run(until(gone))


async def test_calls_go_on_after_the_system_gave_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: threading.Thread) -> None:
        refusals.append("can't start new thread")
        raise RuntimeError(refusals[-1])

    refusals, on = list[str](), threading.Event()
    assert await in_thread(int, 1) == 1
    there = sum(thread.name == "tool" for thread in threading.enumerate())
    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", refused)
        hanging = [asyncio.create_task(in_thread(on.wait)) for _ in range(there)]
        behind = asyncio.create_task(in_thread(int, 2))
        await until(lambda: refusals)
    async with asyncio.timeout(PATIENCE):
        assert await behind == 2
        on.set()
        assert all(await asyncio.gather(*hanging))
        assert await _doubled(4) == 8


def test_a_function_that_hangs_does_not_keep_the_process() -> None:
    code = """
import asyncio, threading
from nanobot_transcript.threads import in_thread
async def main():
    task = asyncio.ensure_future(in_thread(threading.Event().wait))
    await asyncio.sleep(0)
    task.cancel()
asyncio.run(main())
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=PATIENCE, check=False).returncode == 0
