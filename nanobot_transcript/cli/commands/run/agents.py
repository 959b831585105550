"""Makes agents that can run out of settings: the composition of our own host."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from nanobot_transcript.cli.commands.run.minds import judge_for, responder_for
from nanobot_transcript.cli.commands.run.platforms import connect_of, fallback_of, platform_named
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.output import listed
from nanobot_transcript.errors import ConfigError
from nanobot_transcript.identity import AgentProfile, agent_names, name_clashes
from nanobot_transcript.platform import Platform
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore

if TYPE_CHECKING:
    from pathlib import Path

    from nanobot_transcript.conversation.composition import Conversation
    from nanobot_transcript.conversation.connectors import Connector, Seat
    from nanobot_transcript.conversation.prompt import ContextLimits
    from nanobot_transcript.record import Record
    from nanobot_transcript.runner import Agent, LoopOptions, Runner
    from nanobot_transcript.settings import LoadedSettings, Settings
    from nanobot_transcript.settings.sections.agents import BotSettings

__all__ = ["Chosen", "Composed", "chosen", "compose"]

logger = logging.getLogger(__name__)

_MARGIN: Final = 30.0
_NOT_FOR_BOTS: Final = frozenset({"hub", "filebox", "mail", "assistant", "io"})
"""Sections of the settings that do not concern bots."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """An agent to run: its account, its settings, its platform, and its unique name."""

    name: str
    account: str
    settings: "BotSettings"
    platform: Platform

    @property
    def key(self) -> str:
        """The key its settings stand under."""
        return f"agents.{self.account}"

    @property
    def profile(self) -> AgentProfile:
        """The agent as other members know it."""
        given, ids = self.settings, frozenset({self.name, self.account})
        return AgentProfile(self.name, tuple(given.aliases), given.description, ids, account=self.account)


@dataclass(frozen=True, slots=True)
class Composed:
    """A runner and what it uses, which is closed after it."""

    runner: "Runner"
    store: AsyncGroupTranscriptStore
    record: "Record"
    conversations: Sequence["Conversation"]
    connectors: Sequence["Connector"]

    @property
    def ways(self) -> str:
        """How the platforms connect, in a few words; may be empty."""
        return "; ".join(connector.way for connector in self.connectors if connector.way)

    async def close(self) -> None:
        """Release connections and files, after the runner has ended."""
        async with AsyncExitStack() as ends:  # closes each, even if closing another one fails
            ends.push_async_callback(asyncio.to_thread, self.record.close)
            ends.push_async_callback(self.store.close)
            for connector in self.connectors:
                ends.push_async_callback(connector.close)
            for conversation in self.conversations:
                ends.push_async_callback(conversation.aclose)


def chosen(settings: "LoadedSettings", names: Iterable[str] = ()) -> list[Chosen]:
    """The agents to run: those that have a responder, or of these the ones that are named.

    Of several bots that want one name the log says how they are told apart. Raises ConfigError when there is none, when
    a name is unknown or given twice, when variables that these agents need are not set, or when no package connects a
    platform.
    """
    called = agent_names({account: agent.name for account, agent in settings.agents.items()})
    wanted = {called[account]: account for account in settings.run_accounts}
    if not wanted:
        raise _nothing_to_run(settings.file)
    _warn_of_clashes(settings, called)
    agents = [_chosen(settings, name, wanted[name]) for name in _named(list(wanted), list(names))]
    judge = ["gate.judge"] if settings.gate.judge.kind == "openai" else []
    sections = type(settings).model_fields.keys() - _NOT_FOR_BOTS
    settings.require(*(agent.key for agent in agents), *judge, sections=sections)
    return agents


def _chosen(settings: "Settings", name: str, account: str) -> Chosen:
    given = settings.agents[account]
    return Chosen(name, account, given, platform_named(given.platform, f"agents.{account}.platform"))


def _nothing_to_run(file: "Path | None") -> ConfigError:
    if file is None:
        sentence = said("There is no agent to run: no configuration file was read.")
        return ConfigError(sentence, hint=said("Name one with -c FILE; examples/ has files to start from."))
    hint = said("Set app_secret and responder for a bot under `agents`; examples/ has files to start from.")
    return ConfigError(said("There is no agent to run in {file}.", file=file), hint=hint)


def _named(known: Sequence[str], names: Sequence[str]) -> list[str]:
    for name in names:
        if name not in known:
            hint = said("There are: {names}.", names=listed(known))
            raise ConfigError(said("There is no agent {name} to run.", name=name), hint=hint)
        if names.count(name) > 1:
            hint = said("Never run an agent twice at the same time.")
            raise ConfigError(said("--agent {name} is given twice.", name=name), hint=hint)
    return [name for name in known if not names or name in names]


def _warn_of_clashes(settings: "Settings", called: Mapping[str, str]) -> None:
    for name, accounts in name_clashes({account: agent.name for account, agent in settings.agents.items()}).items():
        told = ", ".join(f"agents.{account} is {called[account]}" for account in accounts)
        logger.warning(
            "Several bots are called %s; here %s. Give each its own name in agents.<app_id>.name.", name, told
        )


def compose(settings: "Settings", agents: Sequence[Chosen]) -> Composed:
    """The runner of these agents. Raises ConfigError."""
    from nanobot_transcript.runner import Runner

    builder = _Builder(settings, agents)
    runner = Runner([builder.agent(agent) for agent in agents], builder.store, grace=settings.runner.grace)
    conversations, connectors = builder.conversations.values(), builder.connectors.values()
    return Composed(runner, builder.store, builder.record, list(conversations), list(connectors))


class _Builder:
    """Makes agents that share a record, and a conversation and what connects it with each platform."""

    def __init__(self, settings: "Settings", agents: Sequence[Chosen]) -> None:
        self._settings: Settings = settings
        self.record: Record = settings.open_record()
        self._seats: dict[str, Seat] = {}
        self.conversations: dict[str, Conversation] = {}
        self.connectors: dict[str, Connector] = {}
        self.store: AsyncGroupTranscriptStore = AsyncGroupTranscriptStore.over(
            self.record.store, fallback=fallback_of(self.connectors)
        )
        for platform in {agent.platform.name: agent.platform for agent in agents}.values():
            self._connect(platform, [agent for agent in agents if agent.platform is platform])

    def _connect(self, platform: Platform, agents: Sequence[Chosen]) -> None:
        """What connects the bots of one platform."""
        from nanobot_transcript.conversation.composition import Conversation
        from nanobot_transcript.conversation.connectors import Seat

        hourly = () if self.conversations else (self.record.store.maintain,)
        options = self._settings.conversation(platform)
        conversation = Conversation(self.record, platform, options, self.store, hourly=hourly)
        self.conversations[platform.name] = conversation
        shared = conversation.people, conversation.lists, conversation.reader.read, self.store.missed
        seats = [Seat(agent.key, agent.profile, agent.settings.secrets(), *shared) for agent in agents]
        self._seats |= {seat.key: seat for seat in seats}
        self.connectors[platform.name] = connect_of(platform)(self._settings, self.record, seats)
        conversation.background.start()

    def agent(self, agent: Chosen) -> "Agent":
        """One agent with everything it needs."""
        from nanobot_transcript.conversation.ports import MarkingChannel
        from nanobot_transcript.runner import Agent, Posts

        given, settings, conversation = agent.settings, self._settings, self.conversations[agent.platform.name]
        gate = conversation.gate(judge_for(settings.gate.judge, given.responder))
        channel = self.connectors[agent.platform.name].channel(self._seats[agent.key])
        if isinstance(channel, MarkingChannel):
            conversation.thanks.attend(agent.account, channel.react)
        return Agent(
            agent.profile,
            channel,
            responder_for(given.responder, f"{agent.key}.responder"),
            options=self._options(given, conversation.options.context),
            decider=conversation.decider(agent.profile, gate),
            relay=conversation.relay(agent.profile),
            policy=conversation.policy,
            posts=Posts(self.record.outbox) if settings.outbox.serve else None,
            key=agent.key,
        )

    def _options(self, given: "BotSettings", context: "ContextLimits") -> "LoopOptions":
        from nanobot_transcript.runner import AnswerLimits, LoopOptions

        settings = self._settings
        return LoopOptions(
            instructions=given.instructions,
            context=context,
            # The responder's own limit comes first and says more.
            answer=AnswerLimits(given.responder.timeout + _MARGIN, settings.runner.max_answer_chars),
            stale_after=settings.gate.stale_after,
            parallel_chats=settings.runner.parallel_chats,
            stream=given.responder.kind == "openai" if given.responder.stream is None else given.responder.stream,
            reaction="" if settings.runner.reaction == "off" else settings.runner.reaction,
            failure_text=settings.runner.failure_text or "",
        )
