"""Plain functions beside the event loop."""

import asyncio
import subprocess
import sys
import threading
from contextvars import ContextVar

import pytest
from support.waiting import PATIENCE

from transcript_mcp.sdk.threads import in_thread

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


def test_a_function_that_hangs_does_not_keep_the_process() -> None:
    code = """
import asyncio, threading
from transcript_mcp.sdk.threads import in_thread
async def main():
    task = asyncio.ensure_future(in_thread(threading.Event().wait))
    await asyncio.sleep(0)
    task.cancel()
asyncio.run(main())
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=PATIENCE, check=False).returncode == 0
