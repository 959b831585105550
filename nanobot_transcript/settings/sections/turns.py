"""Sections `turns` and `relay`: what bots say to each other."""

from typing import TYPE_CHECKING, Annotated, Literal

from nanobot_transcript.settings.base import OFF, Section, setting

if TYPE_CHECKING:
    from nanobot_transcript.turns import ClaimLimits, LoopLimits, RelaySettings

__all__ = ["RelaySection", "TurnsSettings"]


class ClaimSettings(Section):
    """Which of several bots answers a message addressed to nobody."""

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

        return LoopLimits(
            hops=self.max_hops,
            exchanges=self.pair_limit,
            exchange_seconds=self.pair_seconds,
            cool_down=self.cool_down,
            idle=self.idle_reset,
        )


class RelaySection(Section):
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

    def options(self) -> "RelaySettings":
        """These settings as the relay takes them."""
        from nanobot_transcript.turns import RelaySettings

        return RelaySettings(mode=self.mode, max_age=self.max_age)
