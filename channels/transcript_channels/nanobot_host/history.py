"""Asks Feishu, with nanobot's credentials, for what no event brings: missed messages, and what is inside bundles."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

from nanobot_transcript.conversation.ports import InboundMessage
from nanobot_transcript.entry import Entry
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore
from nanobot_transcript.store.front import GroupTranscriptStore
from nanobot_transcript.turns import Budget, Lease, new_holder
from transcript_channels.nanobot_host.feishu_clients import Clients, load

if TYPE_CHECKING:
    from transcript_channels.feishu.fallback import HistoryFallback
    from transcript_channels.feishu.forwarded_messages import Bundles

__all__ = ["Histories"]


@dataclass(slots=True, eq=False)
class Histories:
    """The store's fallback. ``seated`` gives the app ids of this process's bots that sit in a chat, by session key."""

    clients: Clients
    store: GroupTranscriptStore
    lease: Lease
    budget: Budget
    seated: Callable[[str], Sequence[str]]
    _: KW_ONLY
    calls_per_hour: int
    _fallbacks: "dict[tuple[str, ...], HistoryFallback]" = field(default_factory=dict, init=False)
    _bundles: "Bundles | None" = field(default=None, init=False)
    _loading: set[asyncio.Task[None]] = field(default_factory=set, init=False)
    _began: float = field(default_factory=time.time, init=False)

    @asynccontextmanager
    async def __call__(self, session_key: str, since_ms: float | None, limit: int) -> AsyncIterator[Sequence[Entry]]:
        """See ``Fallback``. Nothing for a chat where no bot of this process sits."""
        await load()
        seated = tuple(sorted(app_id for app_id in self.seated(session_key) if self.clients.of(app_id) is not None))
        if not seated:
            yield []
            return
        fallback = self._fallbacks.get(seated)
        if fallback is None:
            fallback = self._fallbacks[seated] = self._fallback(seated)
        async with fallback(session_key, since_ms, limit) as entries:
            yield entries

    def unbundle(self, app_id: str, inbound: InboundMessage) -> None:
        """A bot heard a bundle, and it is recorded: ask for what is inside, in the background."""
        task = asyncio.get_running_loop().create_task(self._unbundle(app_id, inbound))
        self._loading.add(task)
        task.add_done_callback(self._loading.discard)

    async def _unbundle(self, app_id: str, inbound: InboundMessage) -> None:
        await load()
        client = self.clients.of(app_id)
        if client is not None:
            self._opened().heard(client, inbound.session_key, inbound.entry)

    def _opened(self) -> "Bundles":
        from transcript_channels.feishu.forwarded_messages import Bundles

        if self._bundles is None:
            store = AsyncGroupTranscriptStore.over(self.store)
            self._bundles = Bundles(self.lease, self.budget, store, calls_per_hour=self.calls_per_hour)
        return self._bundles

    def _fallback(self, app_ids: Sequence[str]) -> "HistoryFallback":
        from transcript_channels.feishu.fallback import FallbackOptions, HistoryFallback
        from transcript_channels.feishu.history import FeishuHistory

        clients = [client for app_id in app_ids if (client := self.clients.of(app_id)) is not None]
        return HistoryFallback(
            [FeishuHistory(client, self.store.members, store=self.store) for client in clients],
            self.lease,
            self.budget,
            new_holder(app_ids[0]),
            options=FallbackOptions(calls_per_hour=self.calls_per_hour),
            began=self._began,
        )
