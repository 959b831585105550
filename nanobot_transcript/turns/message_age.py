"""How old a message is, when the clocks of the platform and this machine differ by minutes."""

from collections.abc import Iterable
from typing import Any, Final

from nanobot_transcript.entry import Entry

__all__ = ["age_ms"]

_LATEST: Final = 20
_AHEAD: Final = 900_000.0
"""Milliseconds by which a clock may be ahead; a larger difference means that the message came late."""
_FARTHEST: Final = 1e18
_LATE: Final = ("history", "import", "send", "stream")
"""Sources of messages that were not pushed: they are recorded any time after they were sent, which says nothing about
the clocks. Not a set, because a foreign line may have an unhashable source.
"""


def age_ms(message: Entry, near: Iterable[Entry], now_ms: float | None) -> float:
    """Milliseconds since the message was sent; 0 when that cannot be told.

    ``now_ms`` None: use the time of receipt, which only pushed messages have; all others count as on time.

    ``near`` are entries of the same time, oldest first. The fastest of the last arrivals among them shows how far the
    clocks are apart, because a message is received no earlier than it is sent. If several seem to be received before
    they were sent, this machine's clock is behind; a single one may have a wrong time.
    """
    if now_ms is None and not _is_pushed(message):
        return 0.0
    sent, received = _time(message.get("ts")), _time(message.get("rts"))
    now = now_ms if now_ms is not None else received
    if sent is None or now is None:
        return 0.0
    return now - sent - min(_apart(near), _AHEAD)


def _apart(near: Iterable[Entry]) -> float:
    pushed = [entry for entry in near if "rts" in entry and _is_pushed(entry)][-_LATEST:]
    times = [(_time(entry.get("ts")), _time(entry.get("rts"))) for entry in pushed]
    delays = sorted(received - sent for sent, received in times if sent is not None and received is not None)
    if not delays or delays[0] > 0:
        return delays[0] if delays else 0.0
    return min(delays[1], 0.0) if len(delays) > 1 else 0.0


def _is_pushed(message: Entry) -> bool:
    return message.get("source") not in _LATE


def _time(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) and -_FARTHEST < value < _FARTHEST else None
