"""How old a message is, where the platform's clock and that of this machine differ by minutes."""

from collections.abc import Iterable
from typing import Final

from nanobot_transcript.entry import Entry

__all__ = ["age_ms"]

_LATEST: Final = 20
_APART: Final = 900_000.0
"""Two clocks differ by no more than this (ms); what is more is a message that came late."""


def age_ms(message: Entry, near: Iterable[Entry], now_ms: float) -> float:
    """Milliseconds since the message was sent.

    ``near`` are entries of the same time, oldest first. The quickest of the last arrivals among them shows how far the
    clocks are apart: a message is received no earlier than it is sent. What the history brought came late anyway. A
    clock that is behind makes no message older.
    """
    live = [entry for entry in near if entry.get("source") != "history" and "rts" in entry][-_LATEST:]
    delays = [entry["rts"] - entry["ts"] for entry in live if "rts" in entry]
    apart = min(delays) if delays else 0.0
    return now_ms - message["ts"] - min(max(apart, 0.0), _APART)
