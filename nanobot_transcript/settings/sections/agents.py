"""Sections `agent`, `agents` and `runner`: the bots, and the minds that `run` gives them."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import SecretStr

from nanobot_transcript.settings.base import OFF, Name, Section, Traits, setting
from nanobot_transcript.settings.sections.model_endpoint import EndpointSettings

__all__ = ["AgentSettings", "BotSettings", "ResponderSettings", "RunnerSettings"]


class AgentSettings(Section):
    """This process's own bot, when there is only one in it."""

    name: Name | None = setting(
        None,
        "Name of this process's bot in the record; null takes it from `agents`, the instance or the platform.",
        "本进程机器人在记录中的名字；null 表示依次取自 `agents`、实例名或平台上的名字。",
    )


class ResponderSettings(EndpointSettings):
    """The mind of a bot that `nanobot-transcript run` runs."""

    kind: Literal["openai", "command", "scripted"] = setting(
        "openai",
        "`openai`: an OpenAI-compatible endpoint; `command`: any program; `scripted`: fixed answers.",
        "`openai`：兼容 OpenAI 的模型接口；`command`：任意程序；`scripted`：固定回答。",
    )
    extra: dict[str, Any] = setting(
        dict,
        "Further fields of a request to the endpoint, under the endpoint's own names.",
        "发给模型接口的其他请求参数，使用接口自己的参数名。",
        example={"temperature": 0.2},
    )
    command: Annotated[list[str], Traits(needed=True)] = setting(
        list,
        "The program and its arguments, without a shell; {prompt} in an argument is replaced by the prompt, "
        "which otherwise goes to stdin.",
        "程序及其参数，不经过 shell；参数中的 {prompt} 会替换为提示词，否则提示词写入标准输入。",
        example=["claude", "-p"],
    )
    input: Literal["prompt", "message", "json"] = setting(
        "prompt",
        "What the program gets: the whole `prompt`, the bare `message`, or both as `json`.",
        "程序得到的内容：完整提示词 `prompt`、仅消息 `message`，或两者的 `json`。",
    )
    cwd: Path | None = setting(None, "Folder in which the program runs.", "程序运行的目录。")
    env: dict[str, SecretStr] = setting(dict, "Environment variables added for the program.", "为程序添加的环境变量。")
    inherit: Literal["safe", "minimal", "all"] = setting(
        "safe",
        "Which of this process's environment variables the program gets: `safe`: all but those that look like a "
        "secret; `minimal`: what programs need to run; `all`.",
        "程序继承哪些环境变量：`safe`：去掉疑似密钥的变量；`minimal`：程序运行所必需的；`all`：全部。",
    )
    stream: bool | None = setting(
        None,
        "Show an answer in a card while it is being written; null: for `openai` only.",
        "在卡片中边生成边显示回答；null 表示仅 `openai` 如此。",
    )
    timeout: float = setting(300.0, "Time limit of an answer, in seconds.", "一次回答最多用时（秒）。", gt=0)
    max_output: int = setting(256 * 1024, "Largest output of a program, in bytes.", "读取程序输出的最大字节数。", gt=0)
    answers: Annotated[list[str], Traits(needed=True)] = setting(
        list, "What a scripted bot says, in turn.", "固定回答的内容，依次使用。"
    )


class RunnerSettings(Section):
    """The process behind `run`."""

    grace: float = setting(
        20.0,
        "Seconds that unfinished answers get when `run` is stopped.",
        "退出 `run` 时，为正在生成的回答再等待的秒数。",
        ge=0,
        le=3600,
    )
    parallel_chats: int = setting(
        8,
        "How many chats one bot answers in at the same time; the others wait.",
        "一个机器人最多同时在多少个群里回答，其余的群排队。",
        ge=1,
        le=100,
    )
    max_answer_chars: int = setting(
        50_000,
        "Longest answer, in characters; a longer one is an error and is not sent.",
        "一次回答的最大字符数；超出视为错误，不会发送。",
        ge=1,
    )
    reaction: Annotated[str, OFF] = setting(
        "THUMBSUP",
        "Emoji reaction that a bot puts on a message while it is answering: Feishu's name of the emoji, or `off` "
        "for none.",
        "机器人回答期间放在消息上的表情，使用飞书的表情名；`off` 表示不放。",
    )
    failure_text: str | None = setting(
        None,
        "What a bot says to a person who addressed it when its responder fails; null: nothing.",
        "应答程序或模型失败时，对指名找它的人说的话；null 表示不说。",
        example="I cannot answer just now.",
    )


class BotSettings(Section):
    """One bot of the group."""

    name: Name = setting(..., "What the bot is called in the record.", "机器人在记录中的名字。", example="Alpha")
    aliases: list[Name] = setting(list, "Other names people call it by.", "人们对它的其他称呼。", example=["小阿"])
    description: str = setting(
        "",
        "What it is good at, in a sentence; other bots see it.",
        "一句话说明它擅长什么，其他机器人能看到。",
        example="Plans and summarises.",
    )
    platform: Name = setting(
        "feishu",
        "The chat platform it is on, for `run`: `feishu`, or one that another package provides.",
        "它所在的聊天平台，供 `run` 使用：`feishu`，或其他软件包提供的平台。",
    )
    app_secret: Annotated[SecretStr | None, Traits(needed=True)] = setting(
        None,
        "Secret of the app (elsewhere the bot's token), for `run` and the history; write ${NAME} rather than the "
        "secret itself. nanobot's plugin takes it from nanobot.",
        "应用的 App Secret（其他平台为机器人的令牌），供 `run` 和补取历史使用；建议写成 ${NAME}，不要直接写明文。"
        "nanobot 插件使用 nanobot 自己的配置。",
        example="${ALPHA_SECRET}",
    )
    verification_token: SecretStr | None = setting(
        None,
        "Verification token of the app's event subscription, for the webhook.",
        "应用事件订阅的 Verification Token，webhook 使用。",
    )
    encrypt_key: SecretStr | None = setting(
        None,
        "Encrypt key of the app's event subscription, for the webhook.",
        "应用事件订阅的 Encrypt Key，webhook 使用。",
    )
    instructions: Annotated[str, Traits(waits=True)] = setting(
        "", "Instructions that this bot gets with every prompt of `run`.", "`run` 在每次提示词中给该机器人的说明。"
    )
    responder: Annotated[ResponderSettings, Traits(waits=True)] = setting(
        ResponderSettings, "What writes the answers of this bot under `run`.", "该机器人在 `run` 下的应答方式。"
    )

    def secrets(self) -> dict[str, str]:
        """The secrets of the app that are given, by the names of their settings."""
        given = {name: getattr(self, name) for name in ("app_secret", "verification_token", "encrypt_key")}
        return {name: secret.get_secret_value() for name, secret in given.items() if secret is not None}
