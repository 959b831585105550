"""One agent with everything it needs, from the channel to the responder: started together, stopped in order."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from nanobot_transcript.conversation.decision import Decider
from nanobot_transcript.conversation.policy import Policy
from nanobot_transcript.conversation.ports import (
    Channel,
    InboundMessage,
    OutboundMessage,
    ReactingChannel,
    SentMessage,
)
from nanobot_transcript.conversation.posts import Posts
from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.runner.agent_loop import AgentLoop, LoopOptions
from nanobot_transcript.runner.answer import Working
from nanobot_transcript.runner.bus import MessageBus
from nanobot_transcript.runner.channel_manager import ChannelManager
from nanobot_transcript.runner.intake import Intake
from nanobot_transcript.runner.responders.contract import Responder
from nanobot_transcript.session_key import split
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore
from nanobot_transcript.turns.relay import Relay

__all__ = ["Agent", "HostedAgent"]

logger = logging.getLogger(__name__)

_SEND_LAST: Final = 10.0


@dataclass(frozen=True, slots=True)
class Agent:
    """What an agent is made of.

    Without a ``decider`` it answers messages that mention it or reply to it. ``relay`` brings messages of other bots
    from the record. ``posts`` sends posts of others into its chats. ``policy`` tells what it may do in which chats.
    ``key`` is the setting that describes the agent, for messages about it.
    """

    profile: AgentProfile
    channel: Channel
    responder: Responder
    options: LoopOptions = field(default_factory=LoopOptions)
    decider: Decider | None = None
    relay: Relay | None = None
    posts: Posts | None = None
    policy: Policy = field(default_factory=Policy)
    key: str = ""


class HostedAgent:
    """A running agent. ``failed`` returns when one of its parts ends; ``stop`` may be called at any time."""

    def __init__(self, agent: Agent, transcript_store: AsyncGroupTranscriptStore | None = None) -> None:
        self.agent: Agent = agent
        self._bus: MessageBus = MessageBus()
        self._loop: AgentLoop = AgentLoop(
            agent.profile,
            agent.responder,
            self._bus,
            transcript_store,
            decider=agent.decider,
            options=agent.options,
            working=_working(agent),
        )
        self._manager: ChannelManager = ChannelManager(self._bus, agent.channel, agent.profile, transcript_store)
        self._intake: Intake = Intake(
            self._bus,
            transcript_store,
            forget=self._loop.forget,
            posts=agent.posts,
            policy=agent.policy,
            relayed=agent.relay is not None and agent.relay.settings.mode != "off",
        )
        self._sending: asyncio.Task[None] | None = None
        self._parts: list[asyncio.Task[None]] = []

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.agent.profile.name

    @property
    def label(self) -> str:
        """The agent's name, and the setting it comes from."""
        return f"{self.name} ({self.agent.key})" if self.agent.key else self.name

    async def start(self) -> None:
        """Connect and start to answer. Raises TranscriptError kinds when the channel cannot start."""
        loop = asyncio.get_running_loop()
        self._sending = loop.create_task(self._manager.run())
        self._parts = [self._sending, loop.create_task(self._loop.run())]
        await self.agent.channel.start(self._intake.publish)
        if self.agent.relay is not None and self.agent.relay.settings.mode != "off":
            self.agent.relay.on_stop = self._stopped
            self._parts.append(loop.create_task(self.agent.relay.run(self._relayed)))
        if self.agent.posts is not None:
            self._parts.append(loop.create_task(self.agent.posts.serve(self.name, self, self._may_post)))

    async def settled(self) -> None:
        """Wait until every incoming message is dealt with."""
        await self._loop.settled()

    async def failed(self) -> None:
        """Wait until a part ends by itself, which none should; raises what it raised."""
        done, _ = await asyncio.wait(self._parts, return_when=asyncio.FIRST_COMPLETED)
        for part in done:
            part.result()

    async def send(self, message: OutboundMessage) -> SentMessage:
        """Say something unasked; it is sent and recorded like an answer. Raises as ``deliver`` does."""
        return await self._bus.deliver(message)

    async def revise(self, session_key: str, message_id: str, card: Mapping[str, Any]) -> None:
        """Replace one of the agent's own cards. Raises PlatformError kinds."""
        await self._manager.revise(session_key, message_id, card)

    async def stop(self, grace: float) -> None:
        """Stop listening, finish running answers within ``grace`` seconds, then disconnect."""
        self._bus.close_inbound()
        for part in self._parts[2:]:
            part.cancel()
        await self._loop.finish(grace)
        self._bus.close_outbound()
        if self._sending is not None:
            await asyncio.wait([self._sending], timeout=_SEND_LAST)
        for part in self._parts:
            part.cancel()
        for part, error in zip(self._parts, await asyncio.gather(*self._parts, return_exceptions=True), strict=True):
            if isinstance(error, Exception):
                logger.error("Part of %s failed: %s", self.name, part.get_name(), exc_info=error)
        with suppress(asyncio.CancelledError):
            await self.agent.channel.stop()
            await self.agent.responder.close()

    def _may_post(self, session_key: str) -> bool:
        """False in a chat that is off: nothing said there is recorded, so no reply would come back."""
        return self.agent.policy.records(split(session_key)[1]) and self.agent.channel.sits_in(session_key)

    async def _relayed(self, session_key: str, entry: Entry) -> None:
        if self.agent.channel.sits_in(session_key):
            await self._intake.publish(InboundMessage(session_key, entry, relayed=True))

    def _stopped(self, session_key: str, entry: Entry, reason: str) -> None:
        if self.agent.channel.sits_in(session_key):
            self._loop.stopped(session_key, entry, reason)


def _working(agent: Agent) -> Working | None:
    """What shows that the agent is answering, if that is wanted and its channel can."""
    channel, reaction = agent.channel, agent.options.reaction
    if not reaction or not isinstance(channel, ReactingChannel):
        return None
    return lambda message_id: channel.working(message_id, reaction)
