"""The order in which messages are shown: by the platform's time, then by arrival."""

import time
from math import isfinite
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.store.arguments import looks_like_seconds

__all__ = ["SLACK", "moment_of", "sort_key"]

SLACK: Final = 64
"""How many lines apart two messages may be in the file and still be shown in the other order."""

_AHEAD_MS: Final = 300_000


def moment_of(entry: Entry) -> float | None:
    """When a message was said (ms), for sorting; None when its line does not tell.

    A time in the future counts as five minutes after arrival at most, an unusable one as the time of arrival.
    """
    received = entry.get("rts")
    arrival = received if isinstance(received, int | float) and 0 <= received < 1e18 else None
    moment = entry["ts"]
    if not isfinite(moment) or moment <= 0 or looks_like_seconds(moment):
        return arrival
    return min(moment, (time.time() * 1000 if arrival is None else arrival) + _AHEAD_MS)


def sort_key(entry: Entry, moment: float, order: int) -> tuple[float, int, int]:
    """Its moment, then the platform's own order, then the order of arrival."""
    position = entry.get("pos")
    return moment, position if type(position) is int else 0, order
