"""The tenant access token of one app: fetched once for everybody who waits, and again before it ends."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from nanobot_transcript.errors import PlatformError

__all__ = ["TenantToken", "Token"]

logger = logging.getLogger(__name__)

_AHEAD: Final = 600.0


class Token(NamedTuple):
    """A token and how many seconds it lasts."""

    value: str
    seconds: float


class TenantToken:
    """Keeps one token. ``fetch`` asks the platform; ``clock`` counts seconds.

    A token is renewed ten minutes (of a short one: half its life) before it ends. While that fails, the old one is used
    until its end.
    """

    def __init__(self, fetch: Callable[[], Awaitable[Token]], clock: Callable[[], float]) -> None:
        self._fetch: Callable[[], Awaitable[Token]] = fetch
        self._clock: Callable[[], float] = clock
        self._value: str = ""
        self._renew: float = 0.0
        self._ends: float = 0.0
        self._under_way: asyncio.Task[str] | None = None

    async def get(self) -> str:
        """A token. All who wait at the same time share one request. Raises PlatformError."""
        if self._value and self._clock() < self._renew:
            return self._value
        try:
            return await self._renewed()
        except PlatformError as error:
            if self._value and self._clock() < self._ends:
                logger.warning("The access token could not be renewed, the old one still holds: %s", error)
                return self._value
            raise

    def refuse(self, value: str) -> None:
        """The platform does not accept this token any more; one that came after it stays."""
        if value == self._value:
            self._value = ""

    def hide(self, text: str) -> str:
        """A text without the token."""
        return text.replace(self._value, "…") if self._value else text

    async def _renewed(self) -> str:
        task = self._under_way
        if task is None:
            task = self._under_way = asyncio.create_task(self._ask())
            task.add_done_callback(self._over)
        return await asyncio.shield(task)  # who gives up waiting does not take it from the others

    async def _ask(self) -> str:
        token = await self._fetch()
        now = self._clock()
        self._value, self._ends = token.value, now + token.seconds
        self._renew = self._ends - min(_AHEAD, token.seconds / 2)
        return token.value

    def _over(self, task: "asyncio.Task[str]") -> None:
        self._under_way = None
        if not task.cancelled():
            task.exception()  # seen, also when nobody waits any more
