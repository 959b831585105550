"""Keeps agents running: one in a process, or several from one file."""

import asyncio
import logging
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Final

from nanobot_transcript.runner.hosting import Agent, HostedAgent
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore

__all__ = ["Runner"]

logger = logging.getLogger(__name__)

_GRACE: Final = 20.0
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Runner:
    """Runs ``agents`` until ``stop``. They share ``transcript_store``; without one each is a bot of its own.

    ``grace`` is how many seconds an answer under way may take when the runner stops.
    """

    def __init__(
        self,
        agents: Sequence[Agent],
        transcript_store: AsyncGroupTranscriptStore | None = None,
        *,
        grace: float = _GRACE,
    ) -> None:
        self.agents: list[HostedAgent] = [HostedAgent(agent, transcript_store) for agent in agents]
        self.ready: asyncio.Event = asyncio.Event()
        """Set once all agents are connected."""
        self.signal: int | None = None
        """The signal that ended ``run``, if it was one."""
        self._grace: float = grace
        self._stopping: asyncio.Event = asyncio.Event()
        self._hurry: asyncio.Event = asyncio.Event()

    def stop(self) -> None:
        """End ``run`` in an orderly way; the second time, without waiting for answers."""
        if self._stopping.is_set():
            self._hurry.set()
        else:
            logger.info("Stopping; answers under way get %g s", self._grace)
        self._stopping.set()

    async def run(self, *, signals: bool = False) -> None:
        """Connect all agents and work until ``stop``, or with ``signals`` until SIGINT or SIGTERM.

        Raises TranscriptError kinds when a channel cannot start, and what ended a part that should not end.
        """
        with _heard(self) if signals else nullcontext():
            try:
                await self._until_stopped(asyncio.ensure_future(self._start()))
                if not self._stopping.is_set():
                    self.ready.set()
                    logger.info("Running: %s", ", ".join(agent.name for agent in self.agents))
                    await self._until_stopped(*(asyncio.ensure_future(agent.failed()) for agent in self.agents))
            finally:
                await self._end()

    async def _start(self) -> None:
        """All agents, or none: the first that cannot start ends the others."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for agent in self.agents:
                    tasks.create_task(agent.start())
        except ExceptionGroup as group:
            raise group.exceptions[0] from None

    async def _until_stopped(self, *work: "asyncio.Future[Any]") -> None:
        """Until the first piece of work ends, or ``stop``; raises what it raised."""
        stop = asyncio.ensure_future(self._stopping.wait())
        try:
            done, _ = await asyncio.wait([stop, *work], return_when=asyncio.FIRST_COMPLETED)
            for ended in done:
                ended.result()
        finally:
            for waiting in (stop, *work):
                waiting.cancel()
            await asyncio.gather(stop, *work, return_exceptions=True)

    async def _end(self) -> None:
        """Stop all agents; a second ``stop`` breaks off what they still do."""
        ending = asyncio.gather(*(agent.stop(self._grace) for agent in self.agents))
        hurry = asyncio.ensure_future(self._hurry.wait())
        await asyncio.wait([ending, hurry], return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        if ending.done():
            ending.result()
            return
        ending.cancel()
        await asyncio.gather(ending, return_exceptions=True)
        await asyncio.gather(*(agent.stop(0) for agent in self.agents))


@contextmanager
def _heard(runner: Runner) -> Iterator[None]:
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        runner.signal = number
        runner.stop()

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop, number)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
