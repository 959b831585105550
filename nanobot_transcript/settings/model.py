"""The settings themselves: every knob with its default and its meaning in English and Chinese."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ByteSize, ConfigDict, Field
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

if TYPE_CHECKING:
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = [
    "AgentProfile",
    "AgentSettings",
    "ChatSettings",
    "ContextSettings",
    "FeishuSettings",
    "GroupsSettings",
    "RetentionSettings",
    "Settings",
    "StoreSettings",
]


def _setting(default: Any, en: str, zh: str, *, example: Any = None, **limits: Any) -> Any:
    """A described field. A callable default makes a fresh value each time."""
    extra: dict[str, Any] = {"zh": zh} if example is None else {"zh": zh, "example": example}
    if callable(default):
        return Field(default_factory=default, description=en, json_schema_extra=extra, **limits)
    return Field(default=default, description=en, json_schema_extra=extra, **limits)


def _absolute(path: Path) -> Path:
    try:
        path = path.expanduser()
    except RuntimeError as error:
        raise ValueError("begins with ~ and a name that no user of this machine has") from error
    if not path.is_absolute():
        raise ValueError("must be an absolute path or begin with ~, so that every process means the same directory")
    return path


def _yaml_off(value: Any) -> Any:
    return "off" if value is False else value  # YAML reads a bare `off` as false


def _web_address(value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ValueError("must begin with http:// or https://")
    return value.rstrip("/")


def _at_least_64_kib(value: ByteSize) -> ByteSize:
    if value < 64 * 1024:
        raise ValueError("must be at least 64 KiB")
    return value


def _positive(value: ByteSize) -> ByteSize:
    if value <= 0:
        raise ValueError("must be greater than 0")
    return value


_Directory: TypeAlias = Annotated[Path, AfterValidator(_absolute)]
_Name: TypeAlias = Annotated[str, Field(min_length=1)]
Mode: TypeAlias = Annotated[Literal["observe", "listen", "off"], BeforeValidator(_yaml_off)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, str_strip_whitespace=True, validate_default=True)


class RetentionSettings(_Section):
    """How much of each transcript is kept; whole closed segments are dropped."""

    max_age_days: float | None = _setting(
        None,
        "Drop what is older than this many days; null keeps all.",
        "删除早于此天数的内容；null 表示全部保留。",
        gt=0,
    )
    max_bytes: Annotated[ByteSize, AfterValidator(_positive)] | None = _setting(
        None,
        "Keep about this much per chat, as a number of bytes or as `500 MiB`; null keeps all.",
        "每个群大约保留的大小，可写字节数或 `500 MiB`；null 表示全部保留。",
    )
    max_entries: int | None = _setting(
        None,
        "Keep about this many entries per chat; null keeps all.",
        "每个群大约保留的条目数；null 表示全部保留。",
        gt=0,
    )


class StoreSettings(_Section):
    """Where the shared record lies and how safely it is written."""

    dir: _Directory = _setting(
        Path("~/.nanobot/transcripts"),
        "Directory of the transcripts. All bots of a group must name the same one.",
        "群聊记录所在目录。同一个群里的所有机器人必须使用同一个目录。",
    )
    fsync: Literal["never", "always", "interval"] = _setting(
        "never",
        "When entries are forced to the disk. `never`: a power cut may cost the last seconds; "
        "`interval`: at most `store.fsync_interval` seconds; `always`: none, but appends wait for the disk.",
        "何时强制写入磁盘。`never`：断电可能丢失最后几秒；`interval`：最多丢失 `store.fsync_interval` 秒；"
        "`always`：不丢失，但每次追加都要等待磁盘。",
    )
    fsync_interval: float = _setting(
        1.0,
        "Seconds between two forced writes when `store.fsync` is `interval`.",
        "`store.fsync` 为 `interval` 时两次强制写盘之间的秒数。",
        gt=0,
        le=3600,
    )
    segment_bytes: Annotated[ByteSize, AfterValidator(_at_least_64_kib)] = _setting(
        64 * 1024 * 1024,
        "Size at which a transcript goes on in a new file, as a number of bytes or as `64 MiB`.",
        "单个记录文件达到此大小后换新文件，可写字节数或 `64 MiB`。",
    )
    retention: RetentionSettings = _setting(
        RetentionSettings, "How much of each transcript is kept.", "每个群的记录保留多少。"
    )

    def open(self) -> "GroupTranscriptStore":
        """The store these settings describe. Creates nothing until the first entry is written."""
        from nanobot_transcript.store.contract import Retention
        from nanobot_transcript.store.front import GroupTranscriptStore

        return GroupTranscriptStore(
            self.dir,
            fsync=self.fsync,
            fsync_interval=self.fsync_interval,
            segment_bytes=int(self.segment_bytes),
            retention=Retention(**self.retention.model_dump()),
        )


class AgentSettings(_Section):
    """This process's own bot, when there is only one in it."""

    name: _Name | None = _setting(
        None,
        "Name of this process's bot in the record; null takes it from `agents`, the instance or the platform.",
        "本进程机器人在记录中的名字；null 表示依次取自 `agents`、实例名或平台上的名字。",
    )


class AgentProfile(_Section):
    """One bot of the group."""

    name: _Name = _setting(..., "What the bot is called in the record.", "机器人在记录中的名字。", example="Alpha")
    aliases: list[_Name] = _setting(list, "Other names people call it by.", "人们对它的其他称呼。", example=["小阿"])
    description: str = _setting(
        "",
        "What it is good at, in a sentence; other bots see it.",
        "一句话说明它擅长什么，其他机器人能看到。",
        example="Plans and summarises.",
    )


class FeishuSettings(_Section):
    """The platform."""

    base_url: Annotated[str, AfterValidator(_web_address)] | None = _setting(
        None,
        "Address of a private Feishu deployment, for requests and the long connection; "
        "null leaves what the host is set to.",
        "私有化部署的飞书地址，同时用于接口请求和长连接；null 表示沿用宿主的设置。",
    )


class ChatSettings(_Section):
    """What differs in one chat."""

    mode: Mode | None = _setting(
        None,
        "Mode in this chat; null means `groups.mode`.",
        "此群的模式；null 表示沿用 `groups.mode`。",
        example="observe",
    )


class GroupsSettings(_Section):
    """What the plugin does in group chats."""

    mode: Mode = _setting(
        "listen",
        "`listen`: record, and show each turn what is new; `observe`: record only; `off`: neither.",
        "`listen`：记录，并在每轮对话中提供新内容；`observe`：只记录；`off`：两者都不做。",
    )
    chats: dict[str, ChatSettings] = _setting(
        dict,
        "Exceptions for single chats, by chat id.",
        "按群 ID 为个别群单独设置。",
        example="oc_0123456789abcdef",
    )

    def mode_of(self, chat_id: str) -> Literal["observe", "listen", "off"]:
        """The mode that holds in a chat."""
        chat = self.chats.get(chat_id)
        return (chat.mode if chat else None) or self.mode


class ContextSettings(_Section):
    """How much of the group an agent is given with a turn."""

    max_entries: int = _setting(
        20, "At most this many entries are given with one turn.", "每轮对话最多提供的条目数。", ge=1, le=1000
    )
    max_chars: int = _setting(
        8000,
        "At most this many characters of text are given with one turn; the oldest are left out first.",
        "每轮对话最多提供的文字字符数，超出时先省略最早的内容。",
        ge=200,
        le=1_000_000,
    )


class Settings(BaseSettings):
    """All settings of the product. ``load_settings`` reads them; built by hand it uses what it is given."""

    model_config = SettingsConfigDict(
        env_prefix="NANOBOT_TRANSCRIPT_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        validate_default=True,
    )

    store: StoreSettings = _setting(StoreSettings, "The shared record.", "共享记录。")
    agent: AgentSettings = _setting(AgentSettings, "This process's bot.", "本进程的机器人。")
    agents: dict[str, AgentProfile] = _setting(
        dict, "The bots of the group, by app id.", "群里的机器人，按应用 ID。", example="cli_0123456789abcdef"
    )
    feishu: FeishuSettings = _setting(FeishuSettings, "The platform.", "平台。")
    groups: GroupsSettings = _setting(GroupsSettings, "What the plugin does in group chats.", "插件在群聊中做什么。")
    context: ContextSettings = _setting(
        ContextSettings, "What an agent is given of the group.", "提供给智能体的群聊内容。"
    )

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
