"""From settings to agents that can run: the composition of our own host."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from nanobot_transcript.cli.run_minds import judge_for, responder_for
from nanobot_transcript.errors import ConfigError
from nanobot_transcript.identity import AgentProfile, agent_names, name_clashes
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore
from transcript_channels.feishu.platform import FEISHU
from transcript_channels.feishu.settings import FeishuSettings

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import SecretStr

    from nanobot_transcript.record import Record
    from nanobot_transcript.relevance import RelevanceGate
    from nanobot_transcript.runner import Agent, LoopOptions, Runner
    from nanobot_transcript.settings import LoadedSettings, Settings
    from nanobot_transcript.settings.hosting import AgentProfile as AgentSettings
    from transcript_channels.feishu.channel import Connection, FeishuChannel
    from transcript_channels.feishu.client import FeishuClient
    from transcript_channels.feishu.webhook_server import WebhookServer

__all__ = ["Chosen", "Composed", "chosen", "compose"]

logger = logging.getLogger(__name__)

_MARGIN: Final = 30.0


@dataclass(frozen=True, slots=True)
class Chosen:
    """An agent to run: its settings, the key they stand under, and the name that it has to itself."""

    name: str
    app_id: str
    settings: "AgentSettings"

    @property
    def key(self) -> str:
        """The settings key."""
        return f"agents.{self.app_id}"


@dataclass(frozen=True, slots=True)
class Composed:
    """A runner and what it stands on."""

    runner: "Runner"
    store: AsyncGroupTranscriptStore
    record: "Record"
    gates: Sequence["RelevanceGate"]

    async def close(self) -> None:
        """Release connections and files, after the runner has ended."""
        for gate in self.gates:
            await gate.aclose()
        await self.store.close()
        await asyncio.to_thread(self.record.close)


def chosen(settings: "LoadedSettings", names: Iterable[str] = ()) -> list[Chosen]:
    """The agents to run: those that have a secret and a responder, or of these the ones that are named.

    Of several bots that want one name the log says how they are told apart. Raises ConfigError when there is none, when
    a name is unknown or given twice, or when a secret is missing.
    """
    called = agent_names({app_id: agent.name for app_id, agent in settings.agents.items()})
    agents = [
        Chosen(called[app_id], app_id, agent)
        for app_id, agent in settings.agents.items()
        if "responder" in agent.model_fields_set
    ]
    if not agents:
        raise _nothing_to_run(settings.file)
    _warn_of_clashes(settings, called)
    agents = _named(agents, list(names))
    settings.require(*(agent.key for agent in agents))
    if settings.gate.judge.kind == "openai":
        settings.require("gate.judge")
    for agent in agents:
        if agent.settings.app_secret is None:
            raise ConfigError(f"{agent.key}.app_secret is missing.", hint="Write ${NAME} and set that variable.")
    return agents


def _nothing_to_run(file: "Path | None") -> ConfigError:
    examples = "examples/ has files to begin with."
    if file is None:
        sentence = "There is no agent to run: no configuration file was read."
        return ConfigError(sentence, hint=f"Name one with -c FILE; {examples}")
    hint = f"Give a bot under `agents` an app_secret and a responder; {examples}"
    return ConfigError(f"There is no agent to run in {file}.", hint=hint)


def _named(agents: Sequence[Chosen], names: Sequence[str]) -> list[Chosen]:
    known = {agent.name: agent for agent in agents}
    for name in names:
        if name not in known:
            raise ConfigError(f"There is no agent {name} to run.", hint=f"There are: {', '.join(known)}.")
        if names.count(name) > 1:
            raise ConfigError(f"--agent {name} is given twice.", hint="Never run an agent twice at the same time.")
    return [agent for agent in agents if not names or agent.name in names]


def _warn_of_clashes(settings: "Settings", called: Mapping[str, str]) -> None:
    for name, app_ids in name_clashes({app_id: agent.name for app_id, agent in settings.agents.items()}).items():
        told = ", ".join(f"agents.{app_id} is {called[app_id]}" for app_id in app_ids)
        logger.warning(
            "Several bots are called %s; here %s. Give each a name of its own in agents.<app_id>.name.", name, told
        )


def compose(settings: "Settings", agents: Sequence[Chosen]) -> Composed:
    """The runner of these agents. Raises ConfigError."""
    from nanobot_transcript.runner import Runner

    if settings.section(FeishuSettings).webhook.listen is None and find_spec("lark_oapi") is None:
        raise ConfigError(
            "The long connection needs the package lark-oapi.", hint="Run `pip install 'nanobot-transcript[feishu]'`."
        )
    builder = _Builder(settings, agents)
    runner = Runner([builder.agent(agent) for agent in agents], builder.store, grace=settings.runner.grace)
    return Composed(runner, builder.store, builder.record, builder.gates)


class _Builder:
    """Makes agents that share a store, the leases and a webhook."""

    def __init__(self, settings: "Settings", agents: Sequence[Chosen]) -> None:
        from nanobot_transcript.conversation.arrivals import Reader
        from nanobot_transcript.conversation.background import Background
        from nanobot_transcript.conversation.lists import Lists
        from nanobot_transcript.conversation.people import People

        self._settings: Settings = settings
        self._platform: FeishuSettings = settings.section(FeishuSettings)
        self.record: Record = settings.open_record()
        self._clients: dict[str, FeishuClient] = {agent.app_id: self._client(agent) for agent in agents}
        self._webhooks: WebhookServer | None = _webhooks(self._platform.webhook.listen)
        self.store: AsyncGroupTranscriptStore = self._opened()
        self.gates: list[RelevanceGate] = []
        self.people: People = People(self.store.members, FEISHU, settings.agent_profiles())
        self.background: Background = Background(self._maintain)
        self.lists: Lists = Lists(self.people)
        self.reader: Reader = Reader(self.people, self.background.submit, self.record.store)
        self.background.start()

    def agent(self, agent: Chosen) -> "Agent":
        """One agent with everything it needs."""
        from nanobot_transcript.runner import Agent, Posting
        from nanobot_transcript.turns import AnswerClaims, LoopGuard, Relay, RelaySettings

        given, settings = agent.settings, self._settings
        ids = frozenset({agent.name, agent.app_id})
        profile = AgentProfile(agent.name, tuple(given.aliases), given.description, ids, account=agent.app_id)
        guard = LoopGuard(settings.turns.limits())
        relay = settings.relay

        def members(session_key: str) -> list[AgentProfile]:
            return self.people.look().members(session_key, agent.app_id)

        posting: Posting | None = Posting(self.record.outbox) if settings.outbox.serve else None
        return Agent(
            profile,
            self._channel(profile, agent),
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
            informed=self.lists.known,
        )

    def _maintain(self) -> None:
        """Once an hour."""
        self.record.store.maintain()
        self.people.still_here()

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
        )

    def _gate(self, given: "AgentSettings") -> "RelevanceGate":
        from nanobot_transcript.relevance import RelevanceGate

        gate = self._settings.gate
        log = self.record.decisions if gate.log else None
        judge, allow = judge_for(gate.judge, given.responder), gate.judge.allowance(self.record.budgets)
        made = RelevanceGate(gate.options(), judge, log, allow=allow)
        self.gates.append(made)
        return made

    def _client(self, agent: Chosen) -> "FeishuClient":
        from transcript_channels.feishu.client import FEISHU_URL, FeishuClient

        return FeishuClient(agent.app_id, _plain(agent.settings.app_secret), self._platform.base_url or FEISHU_URL)

    def _channel(self, profile: AgentProfile, agent: Chosen) -> "FeishuChannel":
        from transcript_channels.feishu.channel import FeishuChannel

        def listen(on_event: Any, on_state: Any) -> "Connection":
            return self._connection(agent, on_event, on_state)

        client, store = self._clients[agent.app_id], self.store
        return FeishuChannel(
            profile, client, self.people, read=self.reader.read, lists=self.lists, listen=listen, on_gap=store.missed
        )

    def _connection(self, agent: Chosen, on_event: Any, on_state: Any) -> "Connection":
        from transcript_channels.feishu.long_connection import LongConnection
        from transcript_channels.feishu.webhook import FeishuWebhook

        app_id, given = agent.app_id, agent.settings
        if self._webhooks is None:
            base_url = self._clients[app_id].base_url
            return LongConnection(app_id, _plain(given.app_secret), on_event, base_url, on_state=on_state)
        webhook = FeishuWebhook(
            on_event, encrypt_key=_plain(given.encrypt_key), verification_token=_plain(given.verification_token)
        )
        path = self._platform.webhook.path.strip("/")
        return self._webhooks.seat(f"/{path}/{app_id}" if path else f"/{app_id}", webhook, on_state)

    def _opened(self) -> AsyncGroupTranscriptStore:
        """The store; what no process has heard is asked for at the platform."""
        from nanobot_transcript.turns import new_holder
        from transcript_channels.feishu.fallback import FallbackOptions, HistoryFallback
        from transcript_channels.feishu.history import FeishuHistory

        sync, history = self.record.store, self._settings.history
        if not history.enabled or history.calls_per_hour == 0:
            return AsyncGroupTranscriptStore.over(sync)
        histories = [FeishuHistory(client, sync.members) for client in self._clients.values()]
        options = FallbackOptions(calls_per_hour=history.calls_per_hour)
        fallback = HistoryFallback(
            histories, self.record.leases, self.record.budgets, new_holder("runner"), options=options
        )
        return AsyncGroupTranscriptStore.over(sync, fallback=fallback)


def _plain(secret: "SecretStr | None") -> str:
    return secret.get_secret_value() if secret is not None else ""


def _webhooks(listen: str | None) -> "WebhookServer | None":
    """The server for ``host:port``. Raises ConfigError for anything else."""
    from transcript_channels.feishu.webhook_server import WebhookServer

    if listen is None:
        return None
    host, _, port = listen.rpartition(":")
    if not port.isascii() or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ConfigError(
            f"feishu.webhook.listen is {listen!r}, which is no address and port.", hint="Write 127.0.0.1:9000."
        )
    return WebhookServer(host.strip("[]") or "127.0.0.1", int(port))
