"""From settings to agents that can run: the composition of our own host."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from nanobot_transcript.cli.run_minds import judge_for, responder_for
from nanobot_transcript.cli.run_platforms import connect_of, fallback_of, platform_named
from nanobot_transcript.errors import ConfigError
from nanobot_transcript.identity import AgentProfile, agent_names, name_clashes
from nanobot_transcript.platform import Platform
from nanobot_transcript.session_key import split
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore

if TYPE_CHECKING:
    from pathlib import Path

    from nanobot_transcript.conversation.connectors import Connector, Seat
    from nanobot_transcript.record import Record
    from nanobot_transcript.relevance import RelevanceGate
    from nanobot_transcript.runner import Agent, LoopOptions, Runner
    from nanobot_transcript.settings import LoadedSettings, Settings
    from nanobot_transcript.settings.hosting import AgentProfile as AgentSettings

__all__ = ["Chosen", "Composed", "chosen", "compose"]

logger = logging.getLogger(__name__)

_MARGIN: Final = 30.0


@dataclass(frozen=True, slots=True)
class Chosen:
    """An agent to run: its account, its settings, its platform, and the name that it has to itself."""

    name: str
    account: str
    settings: "AgentSettings"
    platform: Platform

    @property
    def key(self) -> str:
        """The key its settings stand under."""
        return f"agents.{self.account}"

    @property
    def profile(self) -> AgentProfile:
        """The agent as the others know it."""
        given, ids = self.settings, frozenset({self.name, self.account})
        return AgentProfile(self.name, tuple(given.aliases), given.description, ids, account=self.account)


@dataclass(frozen=True, slots=True)
class Composed:
    """A runner and what it stands on."""

    runner: "Runner"
    store: AsyncGroupTranscriptStore
    record: "Record"
    gates: Sequence["RelevanceGate"]
    connectors: Sequence["Connector"]

    @property
    def ways(self) -> str:
        """How the platforms connect, in a few words; empty where nothing is to be told."""
        return "; ".join(connector.way for connector in self.connectors if connector.way)

    async def close(self) -> None:
        """Release connections and files, after the runner has ended."""
        for gate in self.gates:
            await gate.aclose()
        for connector in self.connectors:
            await connector.close()
        await self.store.close()
        await asyncio.to_thread(self.record.close)


def chosen(settings: "LoadedSettings", names: Iterable[str] = ()) -> list[Chosen]:
    """The agents to run: those that have a responder, or of these the ones that are named.

    Of several bots that want one name the log says how they are told apart. Raises ConfigError when there is none, when
    a name is unknown or given twice, when a variable for a secret is not set, or when no package connects a platform.
    """
    called = agent_names({account: agent.name for account, agent in settings.agents.items()})
    wanted = {
        called[account]: account for account, agent in settings.agents.items() if "responder" in agent.model_fields_set
    }
    if not wanted:
        raise _nothing_to_run(settings.file)
    _warn_of_clashes(settings, called)
    agents = [_chosen(settings, name, wanted[name]) for name in _named(list(wanted), list(names))]
    settings.require(*(agent.key for agent in agents))
    if settings.gate.judge.kind == "openai":
        settings.require("gate.judge")
    return agents


def _chosen(settings: "Settings", name: str, account: str) -> Chosen:
    given = settings.agents[account]
    return Chosen(name, account, given, platform_named(given.platform, f"agents.{account}.platform"))


def _nothing_to_run(file: "Path | None") -> ConfigError:
    examples = "examples/ has files to begin with."
    if file is None:
        sentence = "There is no agent to run: no configuration file was read."
        return ConfigError(sentence, hint=f"Name one with -c FILE; {examples}")
    hint = f"Give a bot under `agents` an app_secret and a responder; {examples}"
    return ConfigError(f"There is no agent to run in {file}.", hint=hint)


def _named(known: Sequence[str], names: Sequence[str]) -> list[str]:
    for name in names:
        if name not in known:
            raise ConfigError(f"There is no agent {name} to run.", hint=f"There are: {', '.join(known)}.")
        if names.count(name) > 1:
            raise ConfigError(f"--agent {name} is given twice.", hint="Never run an agent twice at the same time.")
    return [name for name in known if not names or name in names]


def _warn_of_clashes(settings: "Settings", called: Mapping[str, str]) -> None:
    for name, accounts in name_clashes({account: agent.name for account, agent in settings.agents.items()}).items():
        told = ", ".join(f"agents.{account} is {called[account]}" for account in accounts)
        logger.warning(
            "Several bots are called %s; here %s. Give each a name of its own in agents.<app_id>.name.", name, told
        )


def compose(settings: "Settings", agents: Sequence[Chosen]) -> Composed:
    """The runner of these agents. Raises ConfigError."""
    from nanobot_transcript.runner import Runner

    builder = _Builder(settings, agents)
    runner = Runner([builder.agent(agent) for agent in agents], builder.store, grace=settings.runner.grace)
    return Composed(runner, builder.store, builder.record, builder.gates, list(builder.connectors.values()))


class _Builder:
    """Makes agents that share a store, the leases, and what connects their platforms."""

    def __init__(self, settings: "Settings", agents: Sequence[Chosen]) -> None:
        from nanobot_transcript.conversation.background import Background

        self._settings: Settings = settings
        self.record: Record = settings.open_record()
        self.gates: list[RelevanceGate] = []
        self.background: Background = Background(self._maintain)
        self._seats: dict[str, Seat] = {}
        self.connectors: dict[str, Connector] = {}
        for platform in {agent.platform.name: agent.platform for agent in agents}.values():
            self._connect(platform, [agent for agent in agents if agent.platform is platform])
        fallback = fallback_of(self.connectors)
        self.store: AsyncGroupTranscriptStore = AsyncGroupTranscriptStore.over(self.record.store, fallback=fallback)
        self.background.start()

    def _connect(self, platform: Platform, agents: Sequence[Chosen]) -> None:
        """What connects the bots of one platform."""
        from nanobot_transcript.conversation.arrivals import Reader
        from nanobot_transcript.conversation.connectors import Seat
        from nanobot_transcript.conversation.lists import Lists
        from nanobot_transcript.conversation.people import People

        people = People(self.record.store.members, platform, self._settings.agent_profiles())
        lists = Lists(people, self._records)
        read = Reader(people, self.background.submit, self.record.store).read
        seats = [
            Seat(agent.key, agent.profile, agent.settings.secrets(), people, lists, read, self._missed)
            for agent in agents
        ]
        self._seats |= {seat.key: seat for seat in seats}
        self.connectors[platform.name] = connect_of(platform)(self._settings, self.record, seats)

    def _records(self, session_key: str) -> bool:
        return self._settings.groups.mode_of(split(session_key)[1]) != "off"

    def _missed(self, session_key: str) -> None:
        self.store.missed(session_key)

    def agent(self, agent: Chosen) -> "Agent":
        """One agent with everything it needs."""
        from nanobot_transcript.runner import Agent, Posting
        from nanobot_transcript.turns import AnswerClaims, LoopGuard, Relay, RelaySettings

        given, settings, profile = agent.settings, self._settings, agent.profile
        guard = LoopGuard(settings.turns.limits())
        relay = settings.relay
        seat = self._seats[agent.key]

        def members(session_key: str) -> list[AgentProfile]:
            return seat.people.look().members(session_key, agent.account)

        posting: Posting | None = Posting(self.record.outbox) if settings.outbox.serve else None
        return Agent(
            profile,
            self.connectors[agent.platform.name].channel(seat),
            responder_for(given.responder, f"{agent.key}.responder"),
            options=self._options(given),
            gate=self._gate(given),
            guard=guard,
            claims=AnswerClaims(self.record.leases, self.store, profile.name, settings.turns.claim.limits()),
            members=members,
            relay=Relay(
                self.store,
                profile,
                RelaySettings(relay.mode, relay.max_age),
                guard=guard,
                members=members,
                marks=self.record.marks,
            ),
            mode_of=settings.groups.mode_of,
            offer_reply=posting.offer_reply if posting else None,
            offer_action=posting.offer_action if posting else None,
            serve=posting.serve if posting else None,
            key=agent.key,
            informed=seat.lists.known,
        )

    def _maintain(self) -> None:
        """Once an hour."""
        self.record.store.maintain()
        for people in {seat.people for seat in self._seats.values()}:
            people.still_here()

    def _options(self, given: "AgentSettings") -> "LoopOptions":
        from nanobot_transcript.runner import AnswerLimits, ContextLimits, LoopOptions

        settings = self._settings
        return LoopOptions(
            instructions=given.instructions,
            context=ContextLimits(settings.context.max_entries, settings.context.max_chars),
            # The responder's own limit comes first and says more.
            answer=AnswerLimits(given.responder.timeout + _MARGIN, settings.runner.max_answer_chars),
            stale_after=settings.gate.stale_after,
            parallel_chats=settings.runner.parallel_chats,
            stream=given.responder.kind == "openai" if given.responder.stream is None else given.responder.stream,
            claim_open=settings.turns.claim.answer,
            reaction="" if settings.runner.reaction == "off" else settings.runner.reaction,
            failure_text=settings.runner.failure_text or "",
        )

    def _gate(self, given: "AgentSettings") -> "RelevanceGate":
        from nanobot_transcript.relevance import RelevanceGate

        gate = self._settings.gate
        log = self.record.decisions if gate.log else None
        judge, allow = judge_for(gate.judge, given.responder), gate.judge.allowance(self.record.budgets)
        made = RelevanceGate(gate.options(), judge, log, allow=allow)
        self.gates.append(made)
        return made
