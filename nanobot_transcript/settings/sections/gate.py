"""Section `gate`: who answers."""

from typing import TYPE_CHECKING, Annotated, Literal

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.settings.base import OFF, Section, setting
from nanobot_transcript.settings.sections.model_endpoint import EndpointSettings

if TYPE_CHECKING:
    from nanobot_transcript.relevance.openai_judge import OpenAIJudge
    from nanobot_transcript.relevance.options import GateOptions

__all__ = ["GateSettings", "JudgeSettings"]


class JudgeSettings(EndpointSettings):
    """A model that is asked when the gate is not sure."""

    kind: Annotated[Literal["off", "host", "openai"], OFF] = setting(
        "off",
        "Whom to ask: `off`: nobody, the score decides; `host`: the model that nanobot uses; "
        "`openai`: an OpenAI-compatible endpoint.",
        "询问谁：`off`：不询问，由分数决定；`host`：nanobot 正在使用的模型；`openai`：兼容 OpenAI 的模型接口。",
    )
    timeout: float = setting(5.0, "Seconds to wait for the judge.", "等待裁判模型的秒数。", gt=0, le=60)
    per_hour: int = setting(
        60,
        "How many times an hour all bots of the store together may ask it.",
        "每小时最多询问次数，由同一记录目录的所有机器人共享。",
        ge=0,
    )
    on_failure: Literal["score", "open", "closed"] = setting(
        "score",
        "What to do when it fails, is late or may not be asked: `score`: the score decides; `open`: answer; "
        "`closed`: stay silent.",
        "询问失败、超时或额度用尽时：`score`：由分数决定；`open`：应答；`closed`：保持沉默。",
    )

    def asking(self, endpoint: EndpointSettings, *, patience: float | None = None) -> "OpenAIJudge":
        """The judge that asks an endpoint: this one, or an agent's own. ``patience`` (seconds) takes the place of
        ``timeout``. Raises ConfigError when no model is named.
        """
        from nanobot_transcript.relevance.openai_judge import OpenAIJudge

        if endpoint.model is None:
            raise ConfigError("gate.judge.model is missing.", hint="Name a model, or set gate.judge.kind to off.")
        timeout = self.timeout if patience is None else patience
        return OpenAIJudge(endpoint.model, base_url=endpoint.base_url, api_key=endpoint.secret, timeout=timeout)


class GateSettings(Section):
    """Whether a bot answers a message that may not be meant for it."""

    style: Literal["quiet", "balanced", "eager"] = setting(
        "balanced",
        "How readily bots answer when nobody addresses them: `quiet`, `balanced` or `eager`.",
        "没有人点名时机器人的积极程度：`quiet`（少说）、`balanced`（适中）、`eager`（积极）。",
    )
    stale_after: float = setting(
        1800.0, "Messages older than this many seconds are not answered.", "早于此秒数的消息不再应答。", gt=0
    )
    courtesy_reaction: Annotated[str, OFF] = setting(
        "off",
        "Emoji reaction to thanks and consent for the bot, which get no answer: Feishu's name of the emoji "
        "(`THUMBSUP`, `OK`), or `off` for none.",
        "对机器人道谢、应答的消息不会得到回答，改由它在消息上放这个表情，使用飞书的表情名（`THUMBSUP`、`OK`）；"
        "`off` 表示不放。",
    )
    log: bool = setting(
        True,
        "Keep each decision with its reason, for `gate explain`.",
        "保存每次判断及其原因，供 `gate explain` 查看。",
    )
    judge: JudgeSettings = setting(
        JudgeSettings, "A model that is asked when the gate is not sure.", "裁判模型：分数处于模糊区间时询问。"
    )

    def options(self) -> "GateOptions":
        """These settings as the gate takes them."""
        from nanobot_transcript.relevance.options import GateOptions

        return GateOptions(
            stale_after=self.stale_after,
            style=self.style,
            judge_timeout=self.judge.timeout,
            on_judge_failure=self.judge.on_failure,
        )
