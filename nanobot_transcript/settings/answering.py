"""Settings of who answers, and of what bots say to each other."""

from typing import TYPE_CHECKING, Annotated, Literal

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.settings.base import OFF, Section, setting
from nanobot_transcript.settings.endpoints import EndpointSettings

if TYPE_CHECKING:
    from nanobot_transcript.relevance.openai_judge import OpenAIJudge
    from nanobot_transcript.relevance.options import GateOptions
    from nanobot_transcript.turns import ClaimLimits, LoopLimits

__all__ = ["ClaimSettings", "GateSettings", "JudgeSettings", "RelaySettings", "TurnsSettings"]


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


class ClaimSettings(Section):
    "Which of several bots answers a message addressed to nobody."

    answer: Annotated[Literal["questions", "all", "off"], OFF] = setting(
        "questions",
        "Which messages addressed to nobody one of the bots answers: `questions`: those for anyone who knows; "
        "`all`; `off`: only what is its job.",
        "没有指明对象的消息，由其中一个机器人认领哪些：`questions`：问“谁知道”的；`all`：全部；`off`：只认领分内的事。",
    )
    ttl: float = setting(
        20.0,
        "Seconds after which another bot takes over from one that died while answering.",
        "认领的机器人失联多少秒后，由另一个接手。",
        ge=1,
        le=600,
    )
    longest_wait: float = setting(
        1.0,
        "Longest time in seconds that the least likely bot waits for the others.",
        "分数最低的机器人认领前等待的秒数，分数越高等得越短。",
        ge=0,
        le=30,
    )

    def limits(self) -> "ClaimLimits":
        """These settings as the claims take them."""
        from nanobot_transcript.turns import ClaimLimits

        return ClaimLimits(ttl=self.ttl, longest_wait=self.longest_wait)


class TurnsSettings(Section):
    """How long bots may talk to each other."""

    max_hops: int = setting(
        4,
        "How many bot messages may follow each other without a person speaking; then all bots stay silent.",
        "上次有人发言之后，机器人最多连续发言的轮数，之后不再互相回答。",
        ge=0,
        le=100,
    )
    pair_limit: int = setting(
        20,
        "How many messages two bots may exchange within `turns.pair_seconds`; then they pause.",
        "两个机器人在 `turns.pair_seconds` 内最多来回多少次，达到后暂停。",
        ge=1,
    )
    pair_seconds: float = setting(60.0, "See `turns.pair_limit`.", "见 `turns.pair_limit`。", gt=0)
    cool_down: float = setting(
        60.0, "Seconds that two bots pause after reaching the limit.", "两个机器人达到上限后暂停的秒数。", ge=0
    )
    idle_reset: float = setting(
        600.0, "After this many seconds of silence, the count starts again.", "这么多秒没有新消息后，重新计数。", gt=0
    )
    claim: ClaimSettings = setting(
        ClaimSettings,
        "Which of several bots answers a message addressed to nobody.",
        "消息没有指明对象时，由哪个机器人应答。",
    )

    def limits(self) -> "LoopLimits":
        """These settings as the loop guard takes them."""
        from nanobot_transcript.turns import LoopLimits

        return LoopLimits(self.max_hops, self.pair_limit, self.pair_seconds, self.cool_down, self.idle_reset)


class RelaySettings(Section):
    """Whether a bot hears other bots by way of the record, where the platform does not tell it of them."""

    mode: Annotated[Literal["off", "mentions", "all"], OFF] = setting(
        "off",
        "`off`: not at all; `mentions`: when another bot mentions it or replies to it; `all`: everything. "
        "`turns.max_hops` applies in any case.",
        "听取其他机器人的哪些话：`off`：不听；`mentions`：@ 本机器人或回复它的；`all`：全部。"
        "`turns.max_hops` 始终有效。",
    )
    max_age: float = setting(
        300.0, "Messages older than this many seconds are ignored.", "早于此秒数的内容不再转达。", gt=0
    )
