"""What no event brings, asked from Feishu with the credentials that nanobot has: messages that nobody has heard, and
what is inside of forwarded bundles.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from nanobot_transcript.conversation.ports import InboundMessage
from nanobot_transcript.entry import Entry
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore
from nanobot_transcript.store.front import GroupTranscriptStore
from nanobot_transcript.turns import Budget, Lease, new_holder
from transcript_channels.nanobot_host.clients import Clients, load

if TYPE_CHECKING:
    from transcript_channels.feishu.bundles import Bundles
    from transcript_channels.feishu.fallback import HistoryFallback

__all__ = ["Histories"]


class Histories:
    """The store's fallback. ``seated`` names the bots of this process that sit in a chat, by session key."""

    def __init__(
        self,
        clients: Clients,
        store: GroupTranscriptStore,
        lease: Lease,
        budget: Budget,
        seated: Callable[[str], Sequence[str]],
        *,
        calls_per_hour: int,
    ) -> None:
        self._clients: Clients = clients
        self._store: GroupTranscriptStore = store
        self._lease: Lease = lease
        self._budget: Budget = budget
        self._seated: Callable[[str], Sequence[str]] = seated
        self._calls_per_hour: int = calls_per_hour
        self._fallbacks: dict[tuple[str, ...], HistoryFallback] = {}
        self._bundles: Bundles | None = None
        self._loading: set[asyncio.Task[None]] = set()
        self._began: float = time.time()

    @asynccontextmanager
    async def __call__(self, session_key: str, since_ms: float | None, limit: int) -> AsyncIterator[Sequence[Entry]]:
        """See ``Fallback``. Nothing where no bot of this process sits."""
        await load()
        seated = tuple(sorted(app_id for app_id in self._seated(session_key) if self._clients.of(app_id) is not None))
        if not seated:
            yield []
            return
        fallback = self._fallbacks.get(seated)
        if fallback is None:
            fallback = self._fallbacks[seated] = self._fallback(seated)
        async with fallback(session_key, since_ms, limit) as entries:
            yield entries

    def unbundle(self, app_id: str, inbound: InboundMessage) -> None:
        """A bot has heard a bundle, which is recorded: ask for what is inside."""
        task = asyncio.get_running_loop().create_task(self._unbundle(app_id, inbound))
        self._loading.add(task)
        task.add_done_callback(self._loading.discard)

    async def _unbundle(self, app_id: str, inbound: InboundMessage) -> None:
        await load()
        client = self._clients.of(app_id)
        if client is not None:
            self._opened().heard(client, inbound.session_key, inbound.entry)

    def _opened(self) -> "Bundles":
        from transcript_channels.feishu.bundles import Bundles

        if self._bundles is None:
            store = AsyncGroupTranscriptStore.over(self._store)
            self._bundles = Bundles(self._lease, self._budget, store, calls_per_hour=self._calls_per_hour)
        return self._bundles

    def _fallback(self, app_ids: Sequence[str]) -> "HistoryFallback":
        from transcript_channels.feishu.fallback import FallbackOptions, HistoryFallback
        from transcript_channels.feishu.history import FeishuHistory

        clients = [client for app_id in app_ids if (client := self._clients.of(app_id)) is not None]
        return HistoryFallback(
            [FeishuHistory(client, self._store.members, store=self._store) for client in clients],
            self._lease,
            self._budget,
            new_holder(app_ids[0]),
            options=FallbackOptions(calls_per_hour=self._calls_per_hour),
            began=self._began,
        )
