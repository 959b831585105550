"""All settings in one class: every knob with its default and its meaning in English and Chinese."""

import logging
from collections.abc import Collection
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from pydantic import create_model
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.platform import Platform, platforms
from nanobot_transcript.settings.base import Section, Traits, setting
from nanobot_transcript.settings.sections.agents import AgentSettings, BotSettings, RunnerSettings
from nanobot_transcript.settings.sections.assistant import AssistantSettings
from nanobot_transcript.settings.sections.filebox import FileboxSettings
from nanobot_transcript.settings.sections.gate import GateSettings
from nanobot_transcript.settings.sections.groups import (
    ContextSettings,
    GroupsSettings,
    HistorySettings,
    OutboxSettings,
)
from nanobot_transcript.settings.sections.hub import HubSettings
from nanobot_transcript.settings.sections.io import IoSettings
from nanobot_transcript.settings.sections.mail import MailSettings
from nanobot_transcript.settings.sections.store import RecordSettings, StoreSettings
from nanobot_transcript.settings.sections.turns import RelaySection, TurnsSettings
from nanobot_transcript.settings.unset_variables import Unset, unset_error

if TYPE_CHECKING:
    from nanobot_transcript.conversation.composition import Options
    from nanobot_transcript.identity import AgentProfile
    from nanobot_transcript.record import Record

__all__ = ["PREFIX", "Settings"]

logger = logging.getLogger(__name__)

S = TypeVar("S", bound=Section)

PREFIX: Final = "NANOBOT_TRANSCRIPT_"
"""What the names of environment variables for settings begin with."""

_TAKEN = frozenset({"file", "unknown", "values", "variables"})
"""Names that ``LoadedSettings`` uses itself, so that no platform's section can have them."""


class _Common(BaseSettings):
    """What can be set whichever platforms are installed."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        extra="ignore",
        frozen=True,
        validate_default=True,
    )

    store: StoreSettings = setting(StoreSettings, "The shared record.", "共享记录。")
    record: RecordSettings = setting(
        RecordSettings,
        "The record in a database, for bots on several machines.",
        "存放在数据库中的记录，供多台机器共用。",
    )
    agent: AgentSettings = setting(AgentSettings, "This process's bot.", "本进程的机器人。")
    agents: Annotated[dict[str, BotSettings], Traits(names="<app_id>")] = setting(
        dict,
        "The bots of the group, by account: in Feishu the app id.",
        "群里的机器人，按账号（飞书中即 App ID）。",
        example="cli_0123456789abcdef",
    )
    runner: RunnerSettings = setting(RunnerSettings, "The process behind `run`.", "`run` 启动的进程。")
    groups: GroupsSettings = setting(GroupsSettings, "What the plugin does in group chats.", "插件在群聊中做什么。")
    context: ContextSettings = setting(
        ContextSettings, "What an agent is told about the group.", "提供给智能体的群聊内容。"
    )
    gate: GateSettings = setting(
        GateSettings,
        "Whether a bot answers messages that may not be meant for it.",
        "相关性判断：机器人是否应答一条消息。",
    )
    turns: TurnsSettings = setting(TurnsSettings, "How bots take turns.", "机器人之间如何轮流发言。")
    relay: RelaySection = setting(
        RelaySection,
        "Whether a bot hears other bots through the record.",
        "转达：机器人是否通过记录听到其他机器人。",
    )
    history: HistorySettings = setting(
        HistorySettings, "Filling gaps from the platform's own history.", "用平台的历史消息补取缺失的消息。"
    )
    outbox: OutboxSettings = setting(
        OutboxSettings, "Posts for a group that other processes hand over.", "代发消息：其他程序交来、发往群里的消息。"
    )
    hub: HubSettings = setting(HubSettings, "The process behind `serve`.", "`serve` 运行的进程。")
    filebox: FileboxSettings = setting(FileboxSettings, "Mailboxes of Markdown files.", "Markdown 文件邮箱。")
    mail: MailSettings = setting(
        MailSettings,
        "Agent Mail: mail and file claims, with an audit in git.",
        "Agent Mail：邮件、文件占用和 git 存档。",
    )
    assistant: AssistantSettings = setting(
        AssistantSettings,
        "Agent Assistant: agents ask people and wait for the answer.",
        "Agent Assistant：智能体向人提问并等待回答。",
    )
    io: IoSettings = setting(
        IoSettings,
        "IO bridge: inputs for waiting agents, and their outputs.",
        "IO 桥：给等待中的智能体的输入，以及它们的输出。",
    )

    _unset: dict[str, Unset] = {}

    def section(self, kind: type[S]) -> S:
        """The section of this class, which a platform brings. Raises ConfigError when the platform is not installed."""
        for name in type(self).model_fields:
            if isinstance(value := getattr(self, name), kind):
                return value
        raise ConfigError(
            f"The settings have no section for {kind.__name__}: its platform is not installed.",
            hint="Reinstall the package that provides it, such as `pip install nanobot-transcript`.",
        )

    @property
    def hub_wants_tokens(self) -> bool:
        """True when the hub lets nobody in without a token, not even on this machine."""
        return bool(self.hub.tokens or self.filebox.tokens or self.hub.page_token)

    @property
    def run_accounts(self) -> tuple[str, ...]:
        """The accounts of the bots that ``run`` runs: those that have a responder."""
        return tuple(account for account, agent in self.agents.items() if "responder" in agent.model_fields_set)

    def open_record(self, *, spooled: bool = True) -> "Record":
        """The record these settings describe, with all its parts. Creates nothing until something is written.

        ``spooled``: writes wait on this machine while the database cannot be reached; else each write waits for the
        database. Raises ConfigError when the address refers to a variable that is not set.
        """
        self.require("record")  # without its address, the default would silently lead to another record
        return self.open_folder() if self.record.address is None else self.open_database(spooled=spooled)

    def open_folder(self) -> "Record":
        """The record in ``store.dir``, also where ``record.url`` leads to another one."""
        from nanobot_transcript.record import Record

        return Record.open(self.store.dir, posting=self.outbox.limits(), **self.store.options())

    def open_database(self, *, spooled: bool = True) -> "Record":
        """The record at ``record.url``; ``spooled`` as in ``open_record``. Raises ConfigError without an address."""
        from nanobot_transcript.record import Record

        self.require("record")
        address = self.record.address
        if address is None:
            raise ConfigError(
                "record.url does not say where the database is.",
                hint="Set record.url, or NANOBOT_TRANSCRIPT_RECORD__URL for this call alone.",
            )
        stored, options = self.store.options(), self.record.options()
        kept = {name: stored[name] for name in ("segment_bytes", "retention")}
        if not spooled:
            options = {name: value for name, value in options.items() if not name.startswith("spool_")}
        return Record.open(address, posting=self.outbox.limits(), **kept, **options)

    def agent_profiles(self) -> "dict[str, AgentProfile]":
        """The bots of the group, by account."""
        from nanobot_transcript.identity import AgentProfile

        return {
            account: AgentProfile(
                name=agent.name, aliases=tuple(agent.aliases), description=agent.description, account=account
            )
            for account, agent in self.agents.items()
        }

    def conversation(self, platform: Platform, *, only: str = "") -> "Options":
        """How the bots of this process take part on a platform; ``only`` is the name of its only bot, if it has one."""
        from nanobot_transcript.conversation.composition import Options

        return Options(
            agents={
                key: agent for key, agent in self.agent_profiles().items() if self.agents[key].platform == platform.name
            },
            only=only,
            policy=self.groups.policy,
            context=self.context.limits(),
            gate=self.gate.options(),
            log=self.gate.log,
            questions_per_hour=self.gate.judge.per_hour,
            guard=self.turns.limits(),
            claim=self.turns.claim.limits(),
            claim_open=self.turns.claim.answer,
            relay=self.relay.options(),
            courtesy_reaction="" if self.gate.courtesy_reaction == "off" else self.gate.courtesy_reaction,
        )

    def require(self, *keys: str, sections: Collection[str] = ()) -> None:
        """Raise one ConfigError for everything that is needed and refers to a variable that is not set: all at or below
        these keys, and in these sections what does not wait until it is used.
        """
        every = self._unset.values()
        needed = [one for one in every if one.is_below(*keys) or (not one.waits and one.is_below(*sections))]
        if needed:
            raise unset_error(needed)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """``load_settings`` merges the sources itself, because it must say where each value came from."""
        return (init_settings,)


def _sections() -> dict[str, Any]:
    """The sections that platforms bring, by name. One that cannot be loaded is logged and left out."""
    found: dict[str, Any] = {}
    for platform in platforms():
        try:
            found |= _section(platform)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - another package's code
            logger.warning("The settings of the platform %s cannot be loaded: %s", platform.name, error)
    return found


def _section(platform: Platform) -> dict[str, Any]:
    if not platform.settings:
        return {}
    module, _, name = platform.settings.partition(":")
    kind, field = getattr(import_module(module), name)
    if not issubclass(kind, Section):
        raise TypeError(f"{platform.settings} is not a section of the settings")
    if hasattr(_Common, platform.name) or platform.name in {*_Common.model_fields, *_TAKEN}:
        raise ValueError(f"{platform.name} is already used in the settings")
    section: dict[str, Any] = {platform.name: (kind, field)}
    create_model("Probe", __base__=Section, **section)()  # raises when it cannot be left out: then nothing would start
    return section


if TYPE_CHECKING:

    class Settings(_Common):
        """All settings of the product. ``load_settings`` reads them; built by hand it uses what it is given."""
else:
    Settings = create_model("Settings", __base__=_Common, __module__=__name__, **_sections())
    Settings.__doc__ = "All settings of the product."
