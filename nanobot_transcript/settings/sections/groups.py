"""Sections `groups`, `context`, `history` and `outbox`: what a bot does in its groups."""

from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

from nanobot_transcript.conversation.policy import Mode, Policy
from nanobot_transcript.settings.base import OFF, Section, Traits, setting

if TYPE_CHECKING:
    from nanobot_transcript.conversation.prompt import ContextLimits
    from nanobot_transcript.outbox import OutboxLimits

__all__ = ["ContextSettings", "GroupsSettings", "HistorySettings", "OutboxSettings"]

_Mode: TypeAlias = Annotated[Mode, OFF]


class ChatSettings(Section):
    """What differs in one chat."""

    mode: _Mode | None = setting(
        None,
        "Mode in this chat; null means `groups.mode`.",
        "此群的模式；null 表示沿用 `groups.mode`。",
        example="observe",
    )


class GroupsSettings(Section):
    """What the plugin does in group chats."""

    mode: _Mode = setting(
        "listen",
        "`listen`: record, and show each turn what is new; `gate`: the same, and decide for every message "
        "whether this bot answers (nanobot's group policy does not apply there); `observe`: record only; `off`: "
        "nothing.",
        "`listen`：记录，并在每轮对话中提供新内容；`gate`：同上，并由相关性判断决定本机器人是否应答"
        "（这些群不再看 nanobot 的群策略）；`observe`：只记录；`off`：什么都不做。",
    )
    chats: Annotated[dict[str, ChatSettings], Traits(names="<chat_id>")] = setting(
        dict,
        "Exceptions for single chats, by chat id.",
        "按群 ID 为个别群单独设置。",
        example="oc_0123456789abcdef",
    )

    @property
    def policy(self) -> Policy:
        """These settings as hosts ask them."""
        return Policy(self.mode, {chat_id: chat.mode for chat_id, chat in self.chats.items() if chat.mode})


class ContextSettings(Section):
    """How much of the group an agent is given with a turn."""

    max_entries: int = setting(
        20, "How many entries one turn gets at most.", "每轮对话最多提供的条目数。", ge=1, le=1000
    )
    max_chars: int = setting(
        8000,
        "How many characters are put into one turn's prompt at most, everything included; the oldest entries are "
        "dropped first.",
        "每轮对话最多放进提示词的字符数，所有文字都计算在内，超出时先省略最早的内容。",
        ge=500,
        le=1_000_000,
    )

    def limits(self) -> "ContextLimits":
        """These settings as the prompt takes them."""
        from nanobot_transcript.conversation.prompt import ContextLimits

        return ContextLimits(max_entries=self.max_entries, max_chars=self.max_chars)


_DAY: Final = 86_400.0


class HistorySettings(Section):
    """Filling gaps from the platform's own history."""

    enabled: bool = setting(
        True,
        "Ask the platform for messages that no bot has received. Without the scope for it, nothing happens.",
        "从平台的历史消息中补取没有进程收到的消息；没有相应权限时不补取。",
    )
    calls_per_hour: int = setting(
        120,
        "How many requests for that all bots of the store together may make per hour.",
        "同一记录目录的所有机器人每小时共享的请求次数。",
        ge=0,
    )


class OutboxSettings(Section):
    """Posts for a group that other processes hand over."""

    serve: bool = setting(
        True,
        "Send them in the groups that this bot is in.",
        "在本机器人所在的群里发送代发消息。",
    )
    expires_in: float = setting(
        86_400.0,
        "Seconds after which a post that no bot could send expires.",
        "代发消息超过多少秒仍未发出就放弃。",
        gt=0,
    )
    keep_days: float = setting(
        7.0, "Days that a finished post and its answers are kept.", "代发消息结束后，连同回答保留的天数。", gt=0
    )

    def limits(self) -> "OutboxLimits":
        """These settings as the outbox takes them."""
        from nanobot_transcript.outbox import OutboxLimits

        return OutboxLimits(expires_in=self.expires_in, keep=self.keep_days * _DAY)
