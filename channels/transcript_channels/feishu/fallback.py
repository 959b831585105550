"""The platform's history as the store's fallback: one process asks on behalf of all, under one budget of calls."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from nanobot_transcript.coordination.async_fronts import AsyncLease
from nanobot_transcript.coordination.contract import HOUR, Budget, Grant, Lease
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import CredentialsRefusedError, NotPermittedError, PlatformError, StoreError
from nanobot_transcript.session_key import split
from nanobot_transcript.sql.outage import level_of
from nanobot_transcript.store.gaps import HISTORY
from transcript_channels.feishu.call_budget import HourlyCalls
from transcript_channels.feishu.history import FeishuHistory, Fetched, Span
from transcript_channels.feishu.platform import FEISHU

__all__ = ["FallbackOptions", "HistoryFallback"]

logger = logging.getLogger(__name__)

_STEP: Final = 0.01
"""Seconds by which the clock of a file system may be behind: it goes in steps."""
_OUTSIDE: Final = (230002, 232011)  # the bot is not in the chat


@dataclass(frozen=True, slots=True)
class FallbackOptions:
    """``calls_per_hour``: of all bots together. ``first``: messages fetched for a chat nothing is known of.

    Seconds: ``rest`` after a fetch before anybody asks for the same chat again; ``ttl`` of the lease while fetching;
    ``wait`` for another process's fetch, and ``look`` between two looks whether it is done; ``off`` after a scope was
    missing or the app's secret was refused.
    """

    calls_per_hour: int = 120
    first: int = 100
    rest: float = 5.0
    ttl: float = 20.0
    wait: float = 60.0
    off: float = HOUR
    look: float = 0.1


class HistoryFallback:
    """``AsyncGroupTranscriptStore(..., fallback=HistoryFallback(...))``.

    ``histories``: one per app of this process; the first whose bot sits in the chat is asked. ``lease`` and ``budget``
    are shared by all processes, ``holder`` names this one. ``threads``: topics known in a chat, by session key, to be
    looked into as well. ``began``: since when this process hears messages by itself, in seconds since 1970; now by
    default.

    Answers with nothing for other channels and private ids, when another process has just asked, and, after one line in
    the log, while no app has the scope and a secret that is accepted. Raises PlatformError and StoreError kinds for
    everything else.
    """

    def __init__(
        self,
        histories: Iterable[FeishuHistory],
        lease: Lease,
        budget: Budget,
        holder: str,
        *,
        options: FallbackOptions | None = None,
        threads: Callable[[str], Collection[str]] | None = None,
        began: float | None = None,
    ) -> None:
        self._options: FallbackOptions = options or FallbackOptions()
        self._lease: AsyncLease = AsyncLease(lease)
        self._holder: str = holder
        self._threads: Callable[[str], Collection[str]] = threads or (lambda key: ())
        pay = HourlyCalls(budget, self._options.calls_per_hour).pay
        self._histories: list[FeishuHistory] = [history.budgeted(pay) for history in histories]
        self._off: dict[str, float] = {}
        self._fetched: dict[str, float] = {}
        self._began: float = time.time() if began is None else began
        self._complained: set[str] = set()

    @asynccontextmanager
    async def __call__(self, session_key: str, since_ms: float | None, limit: int) -> AsyncIterator[Sequence[Entry]]:
        """What the platform knows of a chat since a time (None: the newest), newest first, at most ``limit``."""
        channel, chat_id = split(session_key)
        ours = channel == FEISHU.name and FEISHU.is_group(chat_id) and bool(self._usable())
        grant = await self._turn(session_key, since_ms) if ours else None
        if grant is None:
            yield []
            return
        beating = asyncio.create_task(self._keep(grant))
        try:
            fetched = await self._ask(session_key, chat_id, since_ms, limit)
            yield fetched.entries if fetched is not None else []
            if fetched is not None and fetched.complete:
                await self._rest(session_key)
        finally:
            beating.cancel()
            await self._release(grant)

    # --- whose turn it is

    async def _turn(self, session_key: str, since_ms: float | None) -> Grant | None:
        """The lease of the chat; None when what another process fetched meanwhile is enough."""
        name, resting = _names(session_key)
        asked = time.time()
        deadline = time.monotonic() + self._options.wait
        while time.monotonic() < deadline:
            now = time.time()
            grant = await self._lease.acquire(name, self._holder, self._options.ttl)
            # Looked at only after asking for the lease: whoever has fetched sets this mark before releasing the lease.
            rested = await self._lease.current(resting)
            if grant is not None:
                if rested is None:
                    return grant
                await self._release(grant)
                # Both times are by the leases' clock, which may differ from this machine's. After a failover they may
                # be by two clocks; then their difference says nothing and fails the test below.
                ago = (grant.expires_at - self._options.ttl) - (rested.expires_at - self._options.rest) + _STEP
                if 0 <= ago <= self._options.rest + _STEP and self._is_covered(session_key, since_ms, asked, now - ago):
                    return None
            await asyncio.sleep(self._options.look)
        return None

    def _is_covered(self, session_key: str, since_ms: float | None, asked: float, fetched: float) -> bool:
        """True when the fetch at ``fetched`` (seconds since 1970) has brought what is missing here.

        Not when this process made it: then something was missed since. Not when what is missing is newer than the fetch
        either, and not when this process was started after it: what came in between, nobody may have heard.
        """
        if asked - self._fetched.get(session_key, 0.0) <= self._options.rest:
            return False
        return self._began <= fetched and (since_ms is None or since_ms <= fetched * 1000)

    async def _keep(self, grant: Grant) -> None:
        """Renew the lease while the platform answers."""
        while True:
            await asyncio.sleep(self._options.ttl / 3)
            with suppress(StoreError):
                await self._lease.renew(grant, self._options.ttl)

    async def _rest(self, session_key: str) -> None:
        """Keep everybody from asking for this chat again for a while, with a lease that is left to expire."""
        self._fetched[session_key] = time.time()
        try:
            await self._lease.acquire(_names(session_key)[1], self._holder, self._options.rest)
        except StoreError as error:
            logger.log(level_of(error, logging.INFO), "Another process may ask for the same history: %s", error)

    async def _release(self, grant: Grant) -> None:
        try:
            await self._lease.release(grant)
        except StoreError as error:
            logger.log(level_of(error, logging.INFO), "A lease could not be released and will expire: %s", error)

    # --- asking

    def _usable(self) -> list[FeishuHistory]:
        now = time.monotonic()
        return [one for one in self._histories if self._off.get(one.client.app_id, 0.0) <= now]

    async def _ask(self, session_key: str, chat_id: str, since_ms: float | None, limit: int) -> Fetched | None:
        """Ask as the first app that is allowed to; None when none is. Raises PlatformError kinds."""
        wanted = min(limit, self._options.first) if since_ms is None else limit
        threads = self._threads(session_key)
        for history in self._usable():
            try:
                return await history.fetch(chat_id, wanted, Span(since_ms), threads)
            except (NotPermittedError, CredentialsRefusedError) as error:
                self._refused(history.client.app_id, chat_id, error)
        return None

    def _refused(self, app_id: str, chat_id: str, error: PlatformError) -> None:
        if error.platform_code in _OUTSIDE:
            logger.debug("The app %s is not in %s", app_id, chat_id)
            return
        self._off[app_id] = time.monotonic() + self._options.off
        if app_id not in self._complained:
            self._complained.add(app_id)
            logger.warning("Gaps in the record are not filled from Feishu's history: %s. %s", error, error.hint)


def _names(session_key: str) -> tuple[str, str]:
    """The names of a chat's two leases: held while asking, and kept from asking again too soon."""
    return f"{HISTORY} {session_key}", f"{HISTORY} rest {session_key}"
