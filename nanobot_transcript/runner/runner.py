"""Runs agents: one in a process, or several from one settings file."""

import asyncio
import logging
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Final

from nanobot_transcript.errors import PlatformError
from nanobot_transcript.runner.hosted_agent import Agent, HostedAgent
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore

__all__ = ["Runner"]

logger = logging.getLogger(__name__)

_GRACE: Final = 20.0
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Runner:
    """Runs ``agents`` until ``stop``. They share ``transcript_store``; without one each is an ordinary bot.

    ``grace`` is how many seconds running answers may take when the runner stops.
    """

    def __init__(
        self,
        agents: Sequence[Agent],
        transcript_store: AsyncGroupTranscriptStore | None = None,
        *,
        grace: float = _GRACE,
    ) -> None:
        self.agents: list[HostedAgent] = [HostedAgent(agent, transcript_store) for agent in agents]
        self.connected: list[HostedAgent] = []
        """The agents that are working."""
        self.refused: dict[str, PlatformError] = {}
        """The agents that the platform refused, by name, and why."""
        self.ready: asyncio.Event = asyncio.Event()
        """Set once each agent is connected or refused."""
        self.signal: int | None = None
        """The signal that ended ``run``, if one did."""
        self._grace: float = grace
        self._stopping: asyncio.Event = asyncio.Event()
        self._hurry: asyncio.Event = asyncio.Event()

    def stop(self) -> None:
        """End ``run`` in an orderly way; the second call does not wait for answers."""
        if self._stopping.is_set():
            self._hurry.set()
        else:
            logger.info("Stopping; unfinished answers get %g s", self._grace)
        self._stopping.set()

    async def run(self, *, signals: bool = False) -> None:
        """Connect all agents and work until ``stop``, or with ``signals`` until SIGINT or SIGTERM.

        An agent that the platform refuses is logged and left out. Raises PlatformError when all are refused, other
        TranscriptError kinds when a channel cannot start, and what a part raised that ended by itself.
        """
        with _heard(self) if signals else nullcontext():
            try:
                await self._until_stopped(asyncio.ensure_future(self._start()))
                if not self._stopping.is_set():
                    self.ready.set()
                    await self._until_stopped(*(asyncio.ensure_future(agent.failed()) for agent in self.connected))
            finally:
                await self._end()

    async def _start(self) -> None:
        """Connect all agents at once; a failure that concerns more than one of them ends the others, too."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for agent in self.agents:
                    tasks.create_task(self._connect(agent))
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        if self.agents and not self.connected:
            raise self._none_connected()

    async def _connect(self, agent: HostedAgent) -> None:
        began = time.monotonic()
        try:
            await agent.start()
        except PlatformError as error:
            told = self.refused[agent.name] = error.about(agent.label)
            if len(self.agents) > 1:  # for a single one the caller reports it
                logger.error("%s %s", told, told.hint)
        else:
            self.connected.append(agent)
            logger.info("%s is connected after %.1f s", agent.name, time.monotonic() - began)

    def _none_connected(self) -> PlatformError:
        if len(self.agents) == 1:
            return next(iter(self.refused.values()))
        names = ", ".join(agent.name for agent in self.agents)
        return PlatformError(f"The platform refused all agents: {names}.", hint="The log says why, for each of them.")

    async def _until_stopped(self, *work: "asyncio.Future[Any]") -> None:
        """Wait for the first piece of work to end, or for ``stop``; raises what the work raised."""
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
        """Stop all agents; a second ``stop`` cancels what they are still doing."""
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
