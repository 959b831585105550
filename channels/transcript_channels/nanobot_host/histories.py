"""What no process has heard, asked from Feishu's history with the credentials that nanobot has."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from nanobot_transcript.entry import Entry
from nanobot_transcript.store.members import MemberDirectory
from nanobot_transcript.turns import Budget, Lease, new_holder
from transcript_channels.nanobot_host.clients import Clients, load

if TYPE_CHECKING:
    from transcript_channels.feishu.fallback import HistoryFallback

__all__ = ["Histories"]


class Histories:
    """The store's fallback. ``seated`` names the bots of this process that sit in a chat, by session key."""

    def __init__(
        self,
        clients: Clients,
        members: MemberDirectory,
        lease: Lease,
        budget: Budget,
        seated: Callable[[str], Sequence[str]],
        *,
        calls_per_hour: int,
    ) -> None:
        self._clients: Clients = clients
        self._members: MemberDirectory = members
        self._lease: Lease = lease
        self._budget: Budget = budget
        self._seated: Callable[[str], Sequence[str]] = seated
        self._calls_per_hour: int = calls_per_hour
        self._fallbacks: dict[tuple[str, ...], HistoryFallback] = {}
        self._began: float = time.time()

    async def __call__(self, session_key: str, since_ms: float | None, limit: int) -> Sequence[Entry]:
        """See ``Fallback``. Nothing where no bot of this process sits."""
        await load()
        seated = tuple(sorted(app_id for app_id in self._seated(session_key) if self._clients.of(app_id) is not None))
        if not seated:
            return []
        fallback = self._fallbacks.get(seated)
        if fallback is None:
            fallback = self._fallbacks[seated] = self._fallback(seated)
        return await fallback(session_key, since_ms, limit)

    def _fallback(self, app_ids: Sequence[str]) -> "HistoryFallback":
        from transcript_channels.feishu.fallback import FallbackOptions, HistoryFallback
        from transcript_channels.feishu.history import FeishuHistory

        clients = [client for app_id in app_ids if (client := self._clients.of(app_id)) is not None]
        return HistoryFallback(
            [FeishuHistory(client, self._members) for client in clients],
            self._lease,
            self._budget,
            new_holder(app_ids[0]),
            options=FallbackOptions(calls_per_hour=self._calls_per_hour),
            began=self._began,
        )
