"""Times as Agent Mail keeps them: float seconds since 1970, to the millisecond."""

from datetime import UTC, datetime

__all__ = ["iso", "to_the_millisecond"]


def to_the_millisecond(seconds: float) -> float:
    """The time as it is kept, so that it is the same after a way through a file."""
    return round(seconds, 3)


def iso(seconds: float) -> str:
    """The time for people, in whole seconds of UTC.

    >>> iso(1761232934.5)
    '2025-10-23T15:22:14Z'
    """
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
