"""Bundles of forwarded messages: the event carries only a stub, so what is inside has to be asked for."""

import asyncio
import logging
from contextlib import suppress
from typing import Any, Final

from nanobot_transcript.coordination.async_fronts import AsyncLease
from nanobot_transcript.coordination.contract import Budget, Grant, Lease, new_holder
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import PlatformError, StoreError
from nanobot_transcript.session_key import split
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore
from transcript_channels.feishu.addresses import message_path
from transcript_channels.feishu.call_budget import HourlyCalls
from transcript_channels.feishu.client import FeishuClient
from transcript_channels.feishu.content import text_of
from transcript_channels.feishu.history_items import FORWARDED

__all__ = ["STUB", "Bundles", "unbundled"]

logger = logging.getLogger(__name__)

STUB: Final = text_of(FORWARDED, {})
"""The text of a bundle whose messages are not known."""

_QUERY: Final = {"card_msg_content_type": "user_card_content", "with_sender_name": True}
_TTL: Final = 180.0
"""Seconds; longer than a call may take with all its tries."""


async def unbundled(client: FeishuClient, message_id: str, chat_id: str) -> str | None:
    """The text of a bundle with the messages inside; None when they cannot be read, which is not worth an error."""
    try:
        answer = await client.call("GET", message_path(message_id), query=_QUERY, chat=chat_id)
    except PlatformError as error:
        logger.info("Forwarded messages could not be read: %s", error)
        return None
    listed = answer.get("items")
    parts = [part for part in listed if isinstance(part, dict)] if isinstance(listed, list) else []
    inside: list[dict[str, Any]] = [part for part in parts if part.get("upper_message_id") == message_id]
    # in a thread: long texts would block the event loop
    return await asyncio.to_thread(text_of, FORWARDED, {"items": inside}) if inside else None


class Bundles:
    """Adds to the record what is inside bundles, as edits of their entries. One process asks on behalf of all, within
    the hourly budget of the history. ``leases`` and ``budgets`` are shared by all processes.
    """

    def __init__(
        self, leases: Lease, budgets: Budget, store: AsyncGroupTranscriptStore, *, calls_per_hour: int
    ) -> None:
        self._leases: AsyncLease = AsyncLease(leases)
        self._calls: HourlyCalls = HourlyCalls(budgets, calls_per_hour)
        self._store: AsyncGroupTranscriptStore = store
        self._filling: dict[asyncio.Task[None], FeishuClient] = {}

    def heard(self, client: FeishuClient, session_key: str, entry: Entry) -> None:
        """A message was recorded: if it is a bundle, ask for what is inside, in the background."""
        message_id = entry.get("message_id")
        if message_id and _is_stub(entry):
            filling = asyncio.get_running_loop().create_task(self.fill(client, session_key, message_id))
            self._filling[filling] = client
            filling.add_done_callback(self._filling.pop)

    async def close(self, client: FeishuClient) -> None:
        """Stop asking with this client, so that it may be closed."""
        giving_up = [filling for filling, asked in self._filling.items() if asked is client]
        for filling in giving_up:
            filling.cancel()
        await asyncio.gather(*giving_up, return_exceptions=True)

    async def fill(self, client: FeishuClient, session_key: str, message_id: str) -> None:
        """Ask for what is inside, unless another process has or does. PlatformError and StoreError are logged, not
        raised: a bundle that cannot be read stays a stub.
        """
        try:
            await self._fill(client, session_key, message_id)
        except StoreError as error:
            logger.warning("Forwarded messages are not recorded: %s %s", error, error.hint)

    async def _fill(self, client: FeishuClient, session_key: str, message_id: str) -> None:
        if not await self._is_stub(session_key, message_id):
            return
        name, holder = f"feishu bundle {session_key} {message_id}", new_holder(client.app_id)
        grant = await self._leases.acquire(name, holder, _TTL)
        if grant is None:
            return
        try:
            await self._ask(client.budgeted(self._calls.pay), session_key, message_id)
        finally:
            await self._release(grant)

    async def _ask(self, client: FeishuClient, session_key: str, message_id: str) -> None:
        # Looked at while holding the lease, since another process may just have filled it; and again after the call,
        # since the message may have been recalled meanwhile.
        if not await self._is_stub(session_key, message_id):
            return
        text = await unbundled(client, message_id, split(session_key)[1])
        if text is not None and await self._is_stub(session_key, message_id):
            await self._store.edit(session_key, message_id, text)

    async def _is_stub(self, session_key: str, message_id: str) -> bool:
        entry = await self._store.get(session_key, message_id)
        return entry is not None and _is_stub(entry)

    async def _release(self, grant: Grant) -> None:
        with suppress(StoreError):  # it runs out by itself
            await self._leases.release(grant)


def _is_stub(entry: Entry) -> bool:
    return entry.get("msg_type") == FORWARDED and entry["content"] == STUB
