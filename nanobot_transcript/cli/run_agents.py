"""From settings to agents that can run: the composition of our own host."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore

if TYPE_CHECKING:
    from nanobot_transcript.cli.run_sections import Sections
    from nanobot_transcript.outbox import Outbox
    from nanobot_transcript.relevance import RelevanceGate
    from nanobot_transcript.runner import Agent, LoopOptions, Responder, Runner
    from nanobot_transcript.settings import LoadedSettings
    from nanobot_transcript.settings.running import (
        JudgeSettings,
        ResponderSettings,
        RunnerAgentSettings,
        WebhookSettings,
    )
    from transcript_channels.feishu.channel import Connection, FeishuChannel
    from transcript_channels.feishu.client import FeishuClient

__all__ = ["Composed", "chosen", "compose"]

_HOUR: Final = 3600.0
_JUDGE: Final = "judge"
_ENDPOINT_SECONDS: Final = 60.0
_COMMAND_SECONDS: Final = 300.0


def chosen(agents: "dict[str, RunnerAgentSettings]", names: Iterable[str]) -> "dict[str, RunnerAgentSettings]":
    """The agents to run: all, or those that are named. Raises ConfigError when there is none."""
    if not agents:
        raise ConfigError(
            "There is no agent to run.", hint="Add one under runner.agents; examples/ has files to begin with."
        )
    wanted = list(names) or list(agents)
    unknown = [name for name in wanted if name not in agents]
    if unknown:
        raise ConfigError(
            f"There is no agent {unknown[0]} under runner.agents.", hint=f"There are: {', '.join(agents)}."
        )
    return {name: agents[name] for name in wanted}


@dataclass(frozen=True, slots=True)
class Composed:
    """A runner and what it stands on."""

    runner: "Runner"
    store: AsyncGroupTranscriptStore
    outbox: "Outbox"

    async def close(self) -> None:
        """Release the files, after the runner has ended."""
        await self.store.close()
        self.outbox.close()


def compose(settings: "LoadedSettings", sections: "Sections", names: Iterable[str] = ()) -> Composed:
    """The runner that the settings describe. Raises ConfigError."""
    from nanobot_transcript.runner import Runner

    agents = chosen(sections.runner.agents, names)
    if find_spec("lark_oapi") is None and any(agent.webhook.port is None for agent in agents.values()):
        raise ConfigError(
            "The long connection needs the package lark-oapi.", hint="Run `pip install 'nanobot-transcript[feishu]'`."
        )
    builder = _Builder(settings, sections, agents)
    store = builder.store if sections.runner.record else None
    runner = Runner([builder.agent(name) for name in agents], store, grace=sections.runner.grace)
    return Composed(runner, builder.store, builder.outbox)


class _Builder:
    """Makes agents that share a store, a gate and the leases."""

    def __init__(
        self, settings: "LoadedSettings", sections: "Sections", agents: "dict[str, RunnerAgentSettings]"
    ) -> None:
        from nanobot_transcript.outbox import Outbox
        from nanobot_transcript.turns import FileBudget, FileLease

        self._settings: LoadedSettings = settings
        self._sections: Sections = sections
        self._agents: dict[str, RunnerAgentSettings] = agents
        base_dir = settings.store.dir
        self._lease: FileLease = FileLease(base_dir)
        self._budget: FileBudget = FileBudget(base_dir)
        self._clients: dict[str, FeishuClient] = {name: self._client(agents[name]) for name in agents}
        self.outbox: Outbox = Outbox(base_dir)
        self.store: AsyncGroupTranscriptStore = self._opened()
        self._gate: RelevanceGate | None = self._made_gate(base_dir) if sections.gate.enabled else None

    def agent(self, name: str) -> "Agent":
        """One agent with everything it needs."""
        from nanobot_transcript.runner import Agent, Posting, members_of
        from nanobot_transcript.turns import (
            AnswerClaims,
            ClaimLimits,
            LoopGuard,
            LoopLimits,
            Relay,
            RelaySettings,
        )

        given, turns, record = self._agents[name], self._sections.turns, self._sections.runner.record
        profile = AgentProfile(
            name, tuple(given.aliases), given.description, frozenset({name, given.app_id, *given.aliases})
        )
        guard = LoopGuard(LoopLimits(hops=turns.hops))
        posting = Posting(self.outbox) if record else None
        claims = AnswerClaims(self._lease, self.store, name, ClaimLimits(ttl=turns.claim_ttl))
        relay = Relay(self.store, profile, RelaySettings(self._sections.relay.mode), guard=guard)
        return Agent(
            profile,
            self._channel(profile, name),
            _responder(given.responder),
            options=self._options(given),
            gate=self._gate,
            guard=guard,
            claims=claims if record and turns.claim else None,
            members=members_of(self.store.members, [profile]) if record else None,
            relay=relay if record else None,
            offer_reply=posting.offer_reply if posting else None,
            offer_action=posting.offer_action if posting else None,
            serve=posting.serve if posting else None,
        )

    def _options(self, given: "RunnerAgentSettings") -> "LoopOptions":
        from nanobot_transcript.runner import AnswerLimits, ContextLimits, LoopOptions

        runner, context = self._sections.runner, self._settings.context
        return LoopOptions(
            instructions=given.instructions,
            context=ContextLimits(context.max_entries, context.max_chars),
            answer=AnswerLimits(runner.answer_timeout, runner.max_answer_chars),
            parallel_chats=runner.parallel_chats,
            stream=given.responder.kind == "openai" if given.stream is None else given.stream,
            claim_open=self._sections.turns.claim_open,
        )

    def _client(self, given: "RunnerAgentSettings") -> "FeishuClient":
        from transcript_channels.feishu.client import FEISHU_URL, FeishuClient

        base_url = self._settings.feishu.base_url or FEISHU_URL
        return FeishuClient(given.app_id, given.app_secret.get_secret_value(), base_url)

    def _channel(self, profile: AgentProfile, name: str) -> "FeishuChannel":
        from transcript_channels.feishu.channel import Connection, FeishuChannel
        from transcript_channels.feishu.long_connection import LongConnection

        client, given = self._clients[name], self._agents[name]

        def listen(on_event: Any, on_state: Any) -> Connection:
            if given.webhook.port is not None:
                return _webhook(given.webhook, given.webhook.port, on_event, on_state)
            secret = given.app_secret.get_secret_value()
            return LongConnection(given.app_id, secret, on_event, client.base_url, on_state=on_state)

        record = self._sections.runner.record
        members = self.store.members if record else None
        return FeishuChannel(profile, client, members, listen=listen, on_gap=self.store.missed if record else None)

    def _opened(self) -> AsyncGroupTranscriptStore:
        """The store; what no process has heard is asked for at the platform."""
        from nanobot_transcript.turns import new_holder
        from transcript_channels.feishu.fallback import HistoryFallback
        from transcript_channels.feishu.history import FeishuHistory

        sync = self._settings.store.open()
        histories = [FeishuHistory(client, sync.members) for client in self._clients.values()]
        fallback = HistoryFallback(histories, self._lease, self._budget, new_holder("runner"))
        return AsyncGroupTranscriptStore.over(sync, fallback=fallback)

    def _made_gate(self, base_dir: Path) -> "RelevanceGate":
        from nanobot_transcript.relevance import DecisionLog, GateOptions, OpenAIJudge, RelevanceGate

        given = self._sections.gate
        options = GateOptions(
            threshold=given.threshold,
            judge_timeout=given.judge.timeout,
            on_judge_failure=given.judge.on_failure,
        )
        log = DecisionLog(base_dir) if self._sections.runner.record else None
        if given.judge.model is None:
            return RelevanceGate(options, None, log)
        key = given.judge.api_key.get_secret_value() if given.judge.api_key else None
        judge = OpenAIJudge(given.judge.model, base_url=given.judge.base_url, api_key=key, timeout=given.judge.timeout)
        return RelevanceGate(options, judge, log, allow=lambda: self._may_ask(given.judge))

    def _may_ask(self, judge: "JudgeSettings") -> bool:
        return judge.per_hour > 0 and self._budget.take(_JUDGE, limit=judge.per_hour, window=_HOUR)


def _webhook(given: "WebhookSettings", port: int, on_event: Any, on_state: Any) -> "Connection":
    from transcript_channels.feishu.webhook import FeishuWebhook
    from transcript_channels.feishu.webhook_server import WebhookServer

    key, token = (
        secret.get_secret_value() if secret else "" for secret in (given.encrypt_key, given.verification_token)
    )
    webhook = FeishuWebhook(on_event, encrypt_key=key, verification_token=token)
    return WebhookServer(webhook, on_state, host=given.host, port=port, path=given.path)


def _responder(given: "ResponderSettings") -> "Responder":
    from nanobot_transcript.runner import (
        CommandOptions,
        CommandResponder,
        Line,
        OpenAIOptions,
        OpenAIResponder,
        ScriptedResponder,
    )

    if given.kind == "openai":
        key = given.api_key.get_secret_value() if given.api_key else None
        silence = given.timeout or _ENDPOINT_SECONDS
        return OpenAIResponder(OpenAIOptions(given.model or "", given.base_url, key, silence, extra=given.extra))
    if given.kind == "scripted":
        return ScriptedResponder([Line(line.say, line.when) for line in given.lines])
    return CommandResponder(
        CommandOptions(
            given.command,
            given.input,
            max_output=int(given.max_output),
            cwd=given.cwd,
            env={name: value.get_secret_value() for name, value in given.env.items()},
            inherit=given.inherit_env,
            timeout=given.timeout or _COMMAND_SECONDS,
        )
    )
