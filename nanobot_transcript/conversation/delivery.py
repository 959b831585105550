"""Recording what was sent: once it is out, with the platform's ids; later, if the store cannot take it now."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final, Literal

from nanobot_transcript.conversation.arrivals import fields_of
from nanobot_transcript.conversation.ports import OutboundMessage, SentMessage
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import InvalidEntryError, StoreError, TranscriptError
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.sql.outage import level_of
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore
from nanobot_transcript.store.lines.fold import is_part_of

__all__ = ["HopOf", "Recorder", "Source", "answer_entry"]

logger = logging.getLogger(__name__)

_DELAYS: Final = (1.0, 5.0, 25.0, 125.0)  # seconds
_MOMENT: Final = 2.0
"""Seconds per attempt to wait until others can read what was recorded."""

Source = Literal["send", "stream"]
HopOf = Callable[[], Awaitable[int | None]]
"""Returns the hop of a message; None for one that answers nothing. Raises StoreError."""


def answer_entry(message: OutboundMessage, sent: SentMessage, agent: AgentProfile, source: Source = "send") -> Entry:
    """The entry of a message that ``agent`` sent, with the platform's id and time; unknown fields are left out."""
    entry: dict[str, Any] = {
        "role": "assistant",
        "content": message.content if sent.text is None else sent.text,
        "sender": agent.name,
        "message_id": sent.message_id,
        "ts": sent.ts,
        "sender_name": agent.name,
        "sender_kind": "bot",
        "ids": sent.ids or None,
        "msg_type": sent.msg_type,
        "reply_to": message.reply_to,
        "root_id": sent.root_id,
        "thread_id": sent.thread_id or message.thread_id,
        "message_ids": list(sent.message_ids) if len(sent.message_ids) > 1 else None,
        "agent": agent.name,
        "hop": message.hop,
        "source": source,
    }
    return _known(entry)  # pyright: ignore[reportReturnType] -- built key by key


def _known(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if value is not None or name in ("message_id", "ts")}


class Recorder:
    """Records what agents of this process said. Never raises: the message is out, and nobody will bring it again."""

    def __init__(self, store: AsyncGroupTranscriptStore) -> None:
        self._store: AsyncGroupTranscriptStore = store
        self.delays: Sequence[float] = _DELAYS
        """Seconds to wait before each further attempt."""
        self._later: set[asyncio.Task[None]] = set()

    async def said(
        self,
        agent: AgentProfile,
        message: OutboundMessage,
        sent: SentMessage,
        source: Source,
        *,
        hop_of: HopOf | None = None,
        recorded: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Append a delivered message, now, or in the background when the store fails.

        ``hop_of`` returns its hop, where that has to be looked up in the record. ``recorded`` is awaited once everybody
        can read the entry; until then a claim for the answer must not be given back.
        """
        entry = answer_entry(message, sent, agent, source)
        write = partial(self._write, message.session_key, entry, recorded)
        try:
            await write(hop_of)
        except InvalidEntryError:
            logger.exception("A message was delivered but cannot be recorded")
        except StoreError as error:
            logger.log(
                level_of(error, logging.WARNING),
                "A message was delivered but not recorded yet: %s %s",
                error,
                error.hint,
            )
            self._do_later(self._write_later(write, hop_of))

    async def said_in_part(self, agent: AgentProfile, message: OutboundMessage, error: TranscriptError) -> None:
        """Append the part of a message that arrived before sending failed: the group has seen it."""
        arrived = getattr(error, "arrived", None)
        if isinstance(arrived, SentMessage) and not message.private:
            await self.said(agent, message, arrived, "send")

    async def changed(self, agent: AgentProfile, session_key: str, message_id: str, text: str) -> None:
        """Record that a message of an agent shows another text now."""
        try:
            await self._store.edit(session_key, message_id, text, agent.name)
        except StoreError as error:
            logger.log(
                level_of(error, logging.WARNING),
                "A card was replaced, but the record still has the old text: %s %s",
                error,
                error.hint,
            )

    async def _write(
        self,
        session_key: str,
        entry: Entry,
        recorded: Callable[[], Awaitable[None]] | None,
        hop_of: HopOf | None,
    ) -> None:
        if hop_of is not None and (hop := await hop_of()) is not None:
            entry["hop"] = hop
        await self._put(session_key, entry)
        is_seen = await self._store.flush(session_key, _MOMENT)
        if recorded is None:
            return
        if is_seen:
            await recorded()
        else:
            self._do_later(self._tell_later(session_key, recorded))

    async def _tell_later(self, session_key: str, recorded: Callable[[], Awaitable[None]]) -> None:
        """Call ``recorded`` when others can read the entry, or when this process ends: the entry is saved and will be
        recorded.
        """
        while not await self._store.flush(session_key, 0):
            if await _cancelled(asyncio.sleep(_MOMENT)):
                break
        await recorded()

    async def _put(self, session_key: str, entry: Entry) -> bool:
        """Write the entry; if a part of the message is on record already, complete it."""
        store, target = self._store, entry["message_id"]
        if await self._append(session_key, entry) or not target:
            return True
        known = await store.get(session_key, target)
        if known is None or not is_part_of(known, entry):
            return False
        return await store.edit(session_key, target, entry["content"], entry["sender"], entry["ts"])

    async def _append(self, session_key: str, entry: Entry) -> bool:
        return await self._store.append(
            session_key,
            entry["role"],
            entry["content"],
            entry["sender"],
            entry["message_id"],
            entry["ts"],
            **fields_of(entry),
        )

    async def close(self) -> None:
        """Stop waiting; everything still to be recorded is tried once more, now."""
        for later in self._later:
            later.cancel()
        await asyncio.gather(*self._later, return_exceptions=True)

    def _do_later(self, work: Coroutine[Any, Any, None]) -> None:
        later = asyncio.get_running_loop().create_task(work)
        self._later.add(later)
        later.add_done_callback(self._later.discard)

    async def _write_later(self, write: Callable[[HopOf | None], Awaitable[None]], hop_of: HopOf | None) -> None:
        failure = ""
        for attempt, delay in enumerate(self.delays, 1):
            stopping = await _cancelled(asyncio.sleep(delay))
            last = stopping or attempt == len(self.delays)
            try:
                await _last_attempt(write, hop_of) if last else await write(hop_of)
            except StoreError as error:
                failure = f"{error} {error.hint}"
                if last:
                    break
                continue
            return
        logger.error("A message was delivered but could not be recorded: %s", failure)


async def _last_attempt(write: Callable[[HopOf | None], Awaitable[None]], hop_of: HopOf | None) -> None:
    """The last attempt: when the record cannot be read, write without what would be looked up there."""
    try:
        await write(hop_of)
    except StoreError:
        if hop_of is None:
            raise
        await write(None)


async def _cancelled(pause: Awaitable[None]) -> bool:
    """Wait; True when the wait was cut short because the runner stops."""
    try:
        await pause
    except asyncio.CancelledError:
        return True
    return False
