"""Section `io`: the IO bridge."""

from pydantic import ByteSize

from nanobot_transcript.settings.base import Section, setting

__all__ = ["IoSettings"]


class IoSettings(Section):
    """Inputs for agents, and their outputs, by session."""

    lease: float = setting(
        60.0,
        "Seconds that an agent has to confirm an input with its next call for that session; then the input is "
        "delivered again.",
        "智能体须在多少秒内通过对该会话的下一次调用确认输入；超时未确认，输入会再次交出。",
        ge=1,
        le=86_400,
    )
    max_items: int = setting(
        1000,
        "How many inputs may wait in one session; the same limit applies to outputs.",
        "一个会话中最多等待的输入条数，输出同样。",
        ge=1,
        le=1_000_000,
    )
    max_bytes: ByteSize = setting(
        16 * 1024 * 1024,
        "Total size of the inputs that may wait in one session, as a number of bytes or as `16 MiB`; the same "
        "limit applies to outputs.",
        "一个会话中等待的输入最多占用的字节数，输出同样，也可写成 `16 MiB`。",
        ge=1024,
    )
    max_sessions: int = setting(
        10_000,
        "How many sessions may hold something, or have somebody waiting, at the same time.",
        "同时有内容或有人等待的会话数上限。",
        ge=1,
        le=1_000_000,
    )
    keep_days: float = setting(
        30.0,
        "Days without activity after which a session is removed with all it holds; only days on which the hub "
        "runs count.",
        "会话多少天没有动静后连同内容一起删除；只计算 hub 运行的时间。",
        gt=0,
    )
