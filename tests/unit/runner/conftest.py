"""A runner in a chat in memory, for the length of a test."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.memory_chat import KEY, MemoryChannel, MemoryChat, profile
from support.waiting import PATIENCE

from nanobot_transcript import AsyncGroupTranscriptStore
from nanobot_transcript.conversation.decision import Decider
from nanobot_transcript.conversation.people import Members
from nanobot_transcript.conversation.prompt import Prompt
from nanobot_transcript.entry import Entry
from nanobot_transcript.relevance.choice import ClaimOpen
from nanobot_transcript.runner.hosted_agent import Agent
from nanobot_transcript.runner.responders.contract import Responder
from nanobot_transcript.runner.responders.scripted import ScriptedResponder, ScriptLine
from nanobot_transcript.runner.runner import Runner
from nanobot_transcript.turns import AnswerClaims, LoopGuard


@dataclass
class Stage:
    """A chat, a record, and agents that run; ``start`` after they are added."""

    folder: Path
    chat: MemoryChat = field(default_factory=MemoryChat)
    recorded: bool = True
    agents: list[Agent] = field(default_factory=list)
    runner: Runner | None = None
    running: "asyncio.Task[None] | None" = None
    _store: AsyncGroupTranscriptStore | None = None

    @property
    def store(self) -> AsyncGroupTranscriptStore:
        self._store = self._store or AsyncGroupTranscriptStore(self.folder)
        return self._store

    def add(
        self,
        name: str = "Alpha",
        script: Responder | str | Callable[[Prompt], str] = "I am here.",
        *,
        channel: type[MemoryChannel] = MemoryChannel,
        gate: Any = None,
        guard: LoopGuard | None = None,
        members: Members | None = None,
        claims: AnswerClaims | None = None,
        claim_open: ClaimOpen = "questions",
        **parts: Any,
    ) -> MemoryChannel:
        agent = profile(name)
        decider = Decider(agent, gate, guard, members, claims, claim_open)
        seat = channel(self.chat, agent)
        if isinstance(script, str):
            script = ScriptedResponder([ScriptLine(script)])
        elif not hasattr(script, "respond"):
            script = ScriptedResponder(script)  # pyright: ignore[reportArgumentType]
        self.agents.append(Agent(agent, seat, script, decider=decider, **parts))  # pyright: ignore[reportArgumentType]
        return seat

    async def start(self, **options: Any) -> Runner:
        self.runner = Runner(self.agents, self.store if self.recorded else None, **options)
        self.running = asyncio.get_running_loop().create_task(self.runner.run())
        async with asyncio.timeout(PATIENCE):
            ready = asyncio.ensure_future(self.runner.ready.wait())
            await asyncio.wait([ready, self.running], return_when=asyncio.FIRST_COMPLETED)
        if self.running.done():
            ready.cancel()
            self.running.result()
        return self.runner

    async def stop(self) -> None:
        if self.runner is not None and self.running is not None:
            self.runner.stop()
            async with asyncio.timeout(PATIENCE):
                await asyncio.wait([self.running])
            self.runner = None
            self.running.result()

    async def record(self) -> list[Entry]:
        return (await self.store.recent(KEY, 1000)).entries

    async def quiet(self) -> None:
        """Until every message is dealt with; then the runner is stopped."""
        if self.runner is not None:
            async with asyncio.timeout(PATIENCE):
                for agent in self.runner.agents:
                    await agent.settled()
        await self.stop()


@pytest.fixture
async def stage(base_dir: Path) -> AsyncIterator[Stage]:
    one = Stage(base_dir)
    try:
        yield one
    finally:
        await one.stop()
        if one._store is not None:
            await one._store.close()
