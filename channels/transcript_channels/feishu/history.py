"""A chat's history, read from the platform: newest first, with recalled and edited messages marked as such."""

import asyncio
import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, Final, cast

from nanobot_transcript.conversation.arrivals import entry_of
from nanobot_transcript.conversation.people import MembersNow, People
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import (
    MessageGoneError,
    NotPermittedError,
    PlatformError,
    RequestRefusedError,
    UnexpectedAnswerError,
)
from nanobot_transcript.store.front import GroupTranscriptStore
from nanobot_transcript.store.members import MemberDirectory
from transcript_channels.feishu.addresses import MESSAGES
from transcript_channels.feishu.client import FeishuClient, Spend
from transcript_channels.feishu.forwarded_messages import unbundled
from transcript_channels.feishu.history_items import FORWARDED, HistoryItem, item_from_api
from transcript_channels.feishu.lasting_ids import LastingIds
from transcript_channels.feishu.platform import FEISHU

__all__ = ["FeishuHistory", "Fetched", "Span"]

logger = logging.getLogger(__name__)

_NEEDS: Final = ("im:message.group_msg",)
_NEWEST_FIRST: Final = "ByCreateTimeDesc"
_PAGE: Final = 50
_PAGES: Final = 40
_THREADS: Final = 10
_FORWARDS: Final = 5
_MOST: Final = 500  # of a page; the platform lists 50


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of time in milliseconds since 1970, both ends included; None = open."""

    since_ms: float | None = None
    until_ms: float | None = None

    def holds(self, ts_ms: float) -> bool:
        """True for a time inside."""
        return (self.since_ms is None or ts_ms >= self.since_ms) and (self.until_ms is None or ts_ms <= self.until_ms)


@dataclass(frozen=True, slots=True)
class Fetched:
    """What was fetched: ``entries``, newest first, among them ``op: recall`` lines for recalled messages.

    ``complete``: nothing is missing between the oldest entry (or the start of the span) and the newest.
    ``failure``: why the rest could not be fetched.
    """

    entries: list[Entry]
    complete: bool = True
    failure: PlatformError | None = None


class FeishuHistory:
    """Reads histories as one app. ``members`` says who is who and learns more; without it people go by open id.

    ``store``: bundles that it holds already are not opened here; the process that heard them does that.
    """

    def __init__(
        self,
        client: FeishuClient,
        members: MemberDirectory | None = None,
        *,
        store: GroupTranscriptStore | None = None,
        look_up_people: bool = True,
    ) -> None:
        self.client: FeishuClient = client
        self._store: GroupTranscriptStore | None = store
        self._members: MemberDirectory | None = members
        self._people: People = People(members, FEISHU)
        self._lasting: LastingIds | None = None
        if members is not None and look_up_people:
            self._lasting = LastingIds(client, members)

    def budgeted(self, spend: Spend | None) -> "FeishuHistory":
        """This history with another budget of calls."""
        client, looks_up = self.client.budgeted(spend), self._lasting is not None
        return FeishuHistory(client, self._members, store=self._store, look_up_people=looks_up)

    async def list_recent_messages(
        self,
        chat_id: str,
        limit: int = 50,
        *,
        since_ms: float | None = None,
        until_ms: float | None = None,
        threads: Collection[str] = (),
    ) -> list[Entry]:
        """The newest messages of a chat and of the topics found among them, newest first, at most ``limit``.

        ``threads``: further topics to read; a topic that began before the listed messages is not found otherwise.
        Recalled messages come as ``op: recall`` lines and do not count. Raises PlatformError kinds when nothing could
        be read.
        """
        fetched = await self.fetch(chat_id, limit, Span(since_ms, until_ms), threads)
        if fetched.failure is not None and not fetched.entries:
            raise fetched.failure
        return fetched.entries

    async def fetch(self, chat_id: str, limit: int, span: Span | None = None, threads: Collection[str] = ()) -> Fetched:
        """Like ``list_recent_messages``, with what is missing. Raises PlatformError when the first page fails."""
        if limit <= 0:
            return Fetched([])
        reading = _Reading(self.client, chat_id, limit, span or Span())
        await reading.chat()
        await reading.topics(threads)
        items = reading.newest()
        items = [await self._unbundled(item, reading) for item in items]
        if self._lasting is not None:
            await self._lasting.look_up(self._strangers(items))
        look = self._people.look()
        return Fetched(
            [_entry(item, look, self.client.app_id) for item in items],
            not reading.cut and reading.failure is None,
            reading.failure,
        )

    # --- bundles of forwarded messages

    async def _unbundled(self, item: HistoryItem, reading: "_Reading") -> HistoryItem:
        if item.message.msg_type != FORWARDED or item.deleted or reading.forwards >= _FORWARDS:
            return item
        if await self._is_recorded(item):
            return item
        reading.forwards += 1
        text = await unbundled(self.client, item.message.message_id, item.message.chat_id)
        return item if text is None else replace(item, message=replace(item.message, text=text))

    async def _is_recorded(self, item: HistoryItem) -> bool:
        key, message_id = FEISHU.key(item.message.chat_id), item.message.message_id
        return self._store is not None and await asyncio.to_thread(self._store.get, key, message_id) is not None

    # --- people

    def _strangers(self, items: Iterable[HistoryItem]) -> list[str]:
        people = [item.message.sender_ids for item in items if item.is_said and not item.message.from_bot]
        look, observer = self._people.look(), self.client.app_id
        return [open_id for ids in people if (open_id := ids.get("open_id")) and not look.is_lasting(ids, observer)]


def _entry(item: HistoryItem, look: MembersNow, observer: str) -> Entry:
    arrival = item.message.arrival(observer)
    entry = entry_of(
        replace(arrival, source="history", sender_name=item.sender_name, edited=item.edited, complete=True), look
    )
    if not item.deleted:
        return entry
    gone = {"message_id": None, "ts": item.changed_ms or entry["ts"], "op": "recall", "source": "history"}
    kept = {name: value for name, value in entry.items() if name in ("role", "content", "sender")}
    return cast("Entry", kept | gone | {"target": item.message.message_id})


@dataclass(slots=True, eq=False)
class _Reading:
    """The pages of one chat and its topics, collected by message id."""

    client: FeishuClient
    chat_id: str
    limit: int
    span: Span
    _found: dict[str, HistoryItem] = field(default_factory=dict, init=False)
    forwards: int = field(default=0, init=False)
    cut: bool = field(default=False, init=False)
    failure: PlatformError | None = field(default=None, init=False)

    async def chat(self) -> None:
        """Read the chat itself. Raises PlatformError when not even the first page can be read."""
        query: dict[str, Any] = {"container_id_type": "chat", "container_id": self.chat_id}
        if self.span.since_ms is not None:
            query["start_time"] = max(0, int(self.span.since_ms // 1000))
        if self.span.until_ms is not None:
            query["end_time"] = ceil(self.span.until_ms / 1000)
        try:
            await self._pages(query)
        except PlatformError as error:
            if not self._found:
                raise
            self._miss(error)

    async def topics(self, threads: Collection[str]) -> None:
        """Read the topics found so far and those in ``threads``: the chat's history does not list their answers."""
        met = [item.message.thread_id for item in self.newest()]
        wanted = [thread for thread in dict.fromkeys([*threads, *met]) if thread]
        for thread in wanted[:_THREADS]:
            try:
                await self._pages({"container_id_type": "thread", "container_id": thread})
            except (NotPermittedError, MessageGoneError, RequestRefusedError) as error:
                logger.info("A topic cannot be read: %s", error)
            except PlatformError as error:
                self._miss(error)
                return

    def newest(self) -> list[HistoryItem]:
        """What was found, newest first, up to the limit."""
        ordered = sorted(self._found.values(), key=lambda item: item.order, reverse=True)
        kept: list[HistoryItem] = []
        messages = 0
        for item in ordered:
            messages += not item.deleted
            if messages > self.limit:
                break
            kept.append(item)
        return kept

    def _miss(self, error: PlatformError) -> None:
        self.failure = error
        logger.warning("Only part of a chat's history was read: %s %s", error, error.hint)

    async def _pages(self, query: dict[str, Any]) -> None:
        """Read pages, newest first, until there are enough. The sort order must stay while paging."""
        query |= {
            "sort_type": _NEWEST_FIRST,
            "page_size": _PAGE,
            "card_msg_content_type": "user_card_content",
            "with_sender_name": True,
        }
        messages, seen = 0, {""}
        for _ in range(_PAGES):
            page = await self.client.call("GET", MESSAGES, query=query, chat=self.chat_id, needs=_NEEDS)
            items = await self._read(page)
            messages += sum(not item.deleted for item in items)
            token = page.get("page_token")
            if page.get("has_more") is not True or messages >= self.limit or self._is_past(items):
                return
            if not isinstance(token, str) or token in seen:
                raise UnexpectedAnswerError(
                    "The history says it goes on, but names no next page.", hint="Try again later."
                )
            seen.add(token)
            query = {**query, "page_token": token}
        self.cut = True
        logger.warning("Only part of a chat's history was read: it has more than %d pages", _PAGES)

    def _is_past(self, items: list[HistoryItem]) -> bool:
        """True once the pages have gone back beyond the span: for a topic the API does not take one."""
        since = self.span.since_ms
        return since is not None and bool(items) and (items[-1].message.ts_ms or 0.0) < since

    async def _read(self, page: dict[str, Any]) -> list[HistoryItem]:
        listed = page.get("items", [])
        if not isinstance(listed, list):
            raise UnexpectedAnswerError("The history is not a list.", hint="Check the address of the API.")
        items = await asyncio.to_thread(self._items, listed)  # long texts would block the event loop
        for item in items:
            if self.span.holds(item.message.ts_ms or 0):
                self._found.setdefault(item.message.message_id, item)
        return items

    def _items(self, listed: list[Any]) -> list[HistoryItem]:
        items = [item_from_api(value, self.client.app_id, self.chat_id) for value in listed[:_MOST]]
        return [item for item in items if item is not None and item.is_said]
