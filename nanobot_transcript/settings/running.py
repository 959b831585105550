"""The settings of our own host: which agents run, what stands for their minds, and when they answer."""

from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ByteSize, ConfigDict, Field, SecretStr, model_validator

__all__ = [
    "GateSettings",
    "JudgeSettings",
    "RelaySection",
    "ResponderSettings",
    "RunnerAgentSettings",
    "RunnerSettings",
    "ScriptLine",
    "TurnsSettings",
    "WebhookSettings",
]


def _setting(default: Any, en: str, zh: str, *, example: Any = None, **limits: Any) -> Any:
    """A described field. A callable default makes a fresh value each time."""
    extra: dict[str, Any] = {"zh": zh} if example is None else {"zh": zh, "example": example}
    if callable(default):
        return Field(default_factory=default, description=en, json_schema_extra=extra, **limits)
    return Field(default=default, description=en, json_schema_extra=extra, **limits)


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise ValueError("begins with ~ and a name that no user of this machine has") from error


_Name: TypeAlias = Annotated[str, Field(min_length=1)]
_Folder: TypeAlias = Annotated[Path, AfterValidator(_expanded)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, str_strip_whitespace=True, validate_default=True)


class ScriptLine(_Section):
    """One line of a script."""

    say: _Name = _setting(
        ...,
        "What to say; `{message}` and `{sender}` are replaced.",
        "回复内容；`{message}` 和 `{sender}` 会被替换。",
        example="Hello {sender}.",
    )
    when: str = _setting(
        "",
        "A word that must occur in the message; empty fits any message.",
        "消息中必须出现的词；留空表示任何消息。",
        example="hello",
    )


class ResponderSettings(_Section):
    """What stands for an agent's mind."""

    kind: Literal["openai", "command", "scripted"] = _setting(
        ...,
        "`openai`: a model behind an OpenAI-compatible endpoint; `command`: any program; `scripted`: fixed lines.",
        "`openai`：OpenAI 兼容接口的模型；`command`：任意程序；`scripted`：固定台词。",
        example="openai",
    )
    model: str | None = _setting(None, "openai: the model's name.", "openai：模型名称。", example="gpt-4o-mini")
    base_url: str | None = _setting(
        None,
        "openai: address of the endpoint, usually ending in /v1; null is OpenAI's own.",
        "openai：接口地址，通常以 /v1 结尾；null 表示 OpenAI 官方接口。",
    )
    api_key: SecretStr | None = _setting(
        None,
        "openai: the key; write `${OPENAI_API_KEY}`, not the key itself.",
        "openai：密钥；请写 `${OPENAI_API_KEY}`，不要直接写密钥。",
    )
    extra: dict[str, Any] = _setting(
        dict,
        "openai: further fields of the request, such as `temperature`.",
        "openai：请求中的其他字段，例如 `temperature`。",
    )
    command: list[str] = _setting(
        list,
        "command: the program and its arguments; no shell. `{prompt}` in an argument is replaced by the prompt, "
        "which otherwise comes on stdin.",
        "command：程序及其参数，不经过 shell。参数中的 `{prompt}` 会被替换为提示词；没有时提示词从标准输入传入。",
        example=["claude", "-p"],
    )
    input: Literal["prompt", "message", "json"] = _setting(
        "prompt",
        "command: what it is given. `prompt`: everything; `message`: the bare message; `json`: both as one document.",
        "command：传入的内容。`prompt`：完整提示词；`message`：仅消息原文；`json`：两者合成的一个 JSON 文档。",
    )
    cwd: _Folder | None = _setting(
        None,
        "command: the folder it runs in; null is the one of this process.",
        "command：运行目录；null 表示本进程的目录。",
    )
    env: dict[str, SecretStr] = _setting(
        dict,
        "command: variables it is given, such as the keys it needs.",
        "command：传给它的环境变量，例如它需要的密钥。",
        example={"ANTHROPIC_API_KEY": "${ANTHROPIC_API_KEY}"},
    )
    inherit_env: Literal["safe", "minimal", "all"] = _setting(
        "safe",
        "command: what it inherits of this process's variables. `safe`: all but what looks like a secret; "
        "`minimal`: what programs need to run; `all`: everything.",
        "command：继承本进程的哪些环境变量。`safe`：除疑似密钥外的全部；`minimal`：程序运行所必需的；`all`：全部。",
    )
    max_output: ByteSize = _setting(
        ByteSize(256 * 1024),
        "command: more output than this is an error and not an answer, in bytes or as `1 MiB`.",
        "command：输出超过此大小视为错误，不作为回答；可写字节数或 `1 MiB`。",
        gt=0,
    )
    lines: list[ScriptLine] = _setting(
        list, "scripted: the first line that fits is said.", "scripted：说出第一条匹配的台词。"
    )
    timeout: float | None = _setting(
        None,
        "Seconds. command: an answer may take this long (default 300); openai: silence of the endpoint (default 60).",
        "秒。command：一次回答的最长时间（默认 300）；openai：接口无响应的最长时间（默认 60）。",
        gt=0,
        le=86400,
    )

    @model_validator(mode="after")
    def _is_complete(self) -> "ResponderSettings":
        needed = {"openai": "model", "command": "command", "scripted": "lines"}[self.kind]
        if not getattr(self, needed):
            raise ValueError(f"of kind {self.kind} needs `{needed}`")
        return self


class WebhookSettings(_Section):
    """Where Feishu's events come in when there is no long connection."""

    port: int | None = _setting(
        None,
        "Port to receive events at; null: the long connection brings them, and nothing has to reach this machine.",
        "接收事件的端口；null 表示使用长连接，无需让外网访问本机。",
        ge=1,
        le=65535,
    )
    host: _Name = _setting("127.0.0.1", "Address to listen at; put HTTPS in front.", "监听地址；请在前面配置 HTTPS。")
    path: _Name = _setting("/feishu/events", "Path of the address.", "地址中的路径。", pattern="^/")
    encrypt_key: SecretStr | None = _setting(
        None, "The app's encrypt key; then everything must be signed.", "应用的 Encrypt Key；设置后要求全部签名。"
    )
    verification_token: SecretStr | None = _setting(
        None, "The app's verification token.", "应用的 Verification Token。"
    )


class RunnerAgentSettings(_Section):
    """One agent that `run` runs; its key is its name in the record."""

    app_id: _Name = _setting(..., "The bot's app id.", "机器人的应用 ID。", example="cli_0123456789abcdef")
    app_secret: SecretStr = _setting(
        ...,
        "The app's secret; write `${ALPHA_SECRET}`, not the secret itself.",
        "应用密钥；请写 `${ALPHA_SECRET}`，不要直接写密钥。",
        example="${ALPHA_SECRET}",
    )
    responder: ResponderSettings = _setting(..., "What stands for its mind.", "由什么来回答。")
    webhook: WebhookSettings = _setting(
        WebhookSettings, "A webhook in place of the long connection.", "用 Webhook 代替长连接。"
    )
    aliases: list[_Name] = _setting(list, "Other names people call it by.", "人们对它的其他称呼。", example=["小阿"])
    description: str = _setting(
        "",
        "What it is good at, in a sentence; other bots see it.",
        "一句话说明它擅长什么，其他机器人能看到。",
        example="Plans and summarises.",
    )
    instructions: str = _setting("", "Goes into every prompt.", "加入每次提示词的指令。", example="Be brief.")
    stream: bool | None = _setting(
        None,
        "Show an answer in a card while it is being written; null: for openai only.",
        "在卡片中边写边显示回答；null 表示仅 openai 如此。",
    )


class RunnerSettings(_Section):
    """Our own host, the command `run`."""

    agents: dict[str, RunnerAgentSettings] = _setting(
        dict, "The agents to run, by name.", "要运行的智能体，按名字。", example="Alpha"
    )
    record: bool = _setting(
        True,
        "Share the record; false makes each agent an ordinary bot that knows its own talk only.",
        "共享群聊记录；false 时每个智能体只知道自己参与的对话。",
    )
    grace: float = _setting(
        20.0,
        "Seconds that an answer under way may take when the runner stops.",
        "停止时，正在生成的回答最多再等多少秒。",
        ge=0,
        le=3600,
    )
    parallel_chats: int = _setting(
        8,
        "Chats in which one agent answers at the same time.",
        "一个智能体同时回答的群聊数。",
        ge=1,
        le=1000,
    )
    answer_timeout: float = _setting(
        600.0,
        "Seconds after which an answer is given up, whatever produces it.",
        "无论由什么生成，回答超过多少秒即放弃。",
        gt=0,
        le=86400,
    )
    max_answer_chars: int = _setting(
        50_000,
        "A longer answer is an error and not an answer.",
        "更长的回答视为错误，不作为回答。",
        ge=1,
        le=10_000_000,
    )


class JudgeSettings(_Section):
    """The model that is asked where the gate is undecided; without `model` none is."""

    model: str | None = _setting(None, "The model's name; null: no judge.", "模型名称；null 表示不使用裁判模型。")
    base_url: str | None = _setting(
        None, "Address of the endpoint; null is OpenAI's own.", "接口地址；null 表示 OpenAI 官方接口。"
    )
    api_key: SecretStr | None = _setting(None, "The key.", "密钥。")
    per_hour: int = _setting(
        120, "Questions per hour, of all bots together.", "所有机器人合计每小时最多询问次数。", ge=0, le=1_000_000
    )
    timeout: float = _setting(5.0, "Seconds to wait for its answer.", "等待其回答的秒数。", gt=0, le=60)
    on_failure: Literal["score", "open", "closed"] = _setting(
        "score",
        "When it is late, fails or has no budget left: `score`: the score decides; `open`: answer; `closed`: do not.",
        "裁判超时、失败或额度用完时：`score` 按分数决定，`open` 回答，`closed` 不回答。",
    )


class GateSettings(_Section):
    """Which messages an agent answers."""

    enabled: bool = _setting(
        True,
        "false: an agent answers only what mentions it or replies to it.",
        "false：只回答提及它或回复它的消息。",
    )
    threshold: float | None = _setting(
        None,
        "Score from which a message counts as meant; null is the one the weights were made for.",
        "分数达到多少视为在对它说话；null 表示权重自带的阈值。",
        ge=0,
        le=1,
    )
    judge: JudgeSettings = _setting(JudgeSettings, "The judge.", "裁判模型。")


class TurnsSettings(_Section):
    """How bots take turns."""

    hops: int = _setting(
        4, "Bot turns in a row until a person speaks again.", "真人再次发言之前，机器人最多连续发言几轮。", ge=0, le=100
    )
    claim: bool = _setting(
        True,
        "Of several bots that could answer what is addressed to nobody, let one.",
        "对没有指明对象的消息，只让其中一个机器人回答。",
    )
    claim_open: Literal["questions", "all", "off"] = _setting(
        "questions",
        "What one of the bots answers although nobody is addressed and none feels meant.",
        "没有指明对象、也没有机器人认为在对自己说时，由其中一个回答哪些消息。",
    )
    claim_ttl: float = _setting(
        20.0,
        "Seconds after which another bot takes over from one that died while answering.",
        "回答中的机器人意外退出后，多少秒由另一个接手。",
        ge=1,
        le=3600,
    )


class RelaySection(_Section):
    """Other bots' words as input, where the platform does not push them."""

    mode: Literal["off", "mentions", "all"] = _setting(
        "off",
        "`mentions`: what mentions the agent or replies to it; `all`: everything the loop guard allows.",
        "`mentions`：提及或回复该智能体的内容；`all`：循环保护允许的全部内容。",
    )
