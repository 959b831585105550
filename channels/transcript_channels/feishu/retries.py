"""Which calls of the open API are retried, how often, and after which pause."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from nanobot_transcript.errors import (
    NoAnswerError,
    PlatformError,
    RateLimitedError,
)

__all__ = ["Patience", "Pauses", "Tries", "UnsentError"]


_JITTER: Final = 0.2


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds and numbers that bound a call.

    ``timeout``: one request with its answer. ``attempts``: how often it is made at most. ``waiting``: seconds that all
    waits of a call together may take; a limit that lasts longer is reported at once. ``backoff``: the first wait when
    the platform does not say how long; each further one doubles. ``quota_rest``: how long nothing is asked after the
    month's quota is used up.
    """

    timeout: float = 15.0
    attempts: int = 4
    waiting: float = 60.0
    backoff: float = 0.5
    quota_rest: float = 3600.0


class UnsentError(NoAnswerError):
    """There was no connection, so the request cannot have had an effect."""


class Tries:
    """The attempts of one call."""

    def __init__(self, patience: Patience, *, repeatable: bool) -> None:
        self._patience: Patience = patience
        self._repeatable: bool = repeatable
        self._made: int = 0
        self._left: float = patience.waiting

    def may_wait(self, seconds: float) -> bool:
        """Take a wait from what is left; False when it is too long."""
        if seconds > self._left:
            return False
        self._left -= seconds
        return True

    def next_after(self, error: PlatformError) -> float | None:
        """Seconds to wait before the call is made again, None when it is not."""
        self._made += 1
        if self._made >= self._patience.attempts:
            return None
        backoff = self._patience.backoff * 2 ** (self._made - 1)
        if isinstance(error, RateLimitedError):
            wait = max(error.retry_after, backoff)
        elif isinstance(error, UnsentError) or (isinstance(error, NoAnswerError) and self._repeatable):
            wait = backoff
        else:
            return None
        # jitter: bots that ran into a limit at the same moment should not all come back at the same moment
        return wait * (1 + random.random() * _JITTER)


class Pauses:
    """Until when something (an API, a chat) is left alone, by the clock of ``clock``."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock: Callable[[], float] = clock
        self._until: dict[str, float] = {}

    def hold(self, key: str, seconds: float) -> None:
        """Leave ``key`` alone for this many seconds; a longer pause stays."""
        now = self._clock()
        self._until = {held: until for held, until in self._until.items() if until > now}
        self._until[key] = max(now + seconds, self._until.get(key, 0.0))

    def left(self, *keys: str) -> float:
        """Seconds until none of the keys is held."""
        now = self._clock()
        return max([0.0, *(self._until.get(key, 0.0) - now for key in keys)])
