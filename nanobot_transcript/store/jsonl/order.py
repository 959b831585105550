"""The order in which messages are shown: by the platform's time, ties as they came."""

import time
from math import isfinite
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.store.shape import looks_like_seconds

__all__ = ["SLACK", "sort_key"]

SLACK: Final = 64
"""How far apart in the file two messages may stand and still change places."""

_AHEAD_MS: Final = 300_000


def sort_key(entry: Entry, order: int) -> tuple[float, int, int]:
    """Time (ms), the platform's own order among equals, then the order of arrival.

    A time in the future counts as five minutes after arrival at most, a useless one as the time of arrival.
    """
    received = entry.get("rts")
    arrival = received if isinstance(received, int | float) and 0 <= received < 1e18 else time.time() * 1000
    moment = entry["ts"]
    if not isfinite(moment) or moment < 0 or looks_like_seconds(moment):
        moment = arrival
    position = entry.get("pos")
    return min(moment, arrival + _AHEAD_MS), position if type(position) is int else 0, order
