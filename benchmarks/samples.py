"""The messages that are measured with: about 300 bytes a line, Chinese and English mixed, each with an id."""

import time
from typing import NamedTuple

__all__ = ["KEY", "Message", "message"]

KEY = "feishu:oc_7d1a4b9c2e"
_START_MS = int(time.time() * 1000)
_WORDS = "方案已经确认，请在周五之前合并 — the parser still drops empty lines, see thread 会议记录"


class Message(NamedTuple):
    """The arguments of the seed's ``append`` behind the session key."""

    role: str
    content: str
    sender: str
    message_id: str
    timestamp_ms: int


def message(number: int, prefix: str = "om_") -> Message:
    """One of endlessly many different messages."""
    text = f"{number:08} {_WORDS}"
    return Message("user", text, f"on_{number % 7:032x}", f"{prefix}{number:030}", _START_MS + number)
