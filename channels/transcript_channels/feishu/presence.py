"""Which groups a bot sits in, and what these and their people are called: asked seldom, because calls are counted."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final
from urllib.parse import quote

from nanobot_transcript.errors import PlatformError, StoreError
from nanobot_transcript.store.members import MemberDirectory
from transcript_channels.feishu.client import FeishuClient
from transcript_channels.feishu.fields import string
from transcript_channels.feishu.platform import FEISHU
from transcript_channels.feishu.seldom import Seldom

__all__ = ["Presence"]

logger = logging.getLogger(__name__)

_CHATS: Final = "/open-apis/im/v1/chats"
_NEEDS: Final = ("im:chat:readonly", "im:chat")
_PAGES: Final = 20
_CHATS_AGAIN: Final = 600.0
_NAMES_AGAIN: Final = 6 * 3600.0


class Presence:
    """The chats of one bot. ``members`` keeps the names; None: they are not kept.

    Looking up never raises; what the platform refuses is logged once and leaves what is known.
    """

    def __init__(
        self,
        client: FeishuClient,
        members: MemberDirectory | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client: FeishuClient = client
        self._members: MemberDirectory | None = members
        self._clock: Callable[[], float] = clock
        self._chats: set[str] = set()
        self._chats_due: float = clock()
        self._names_due: dict[str, float] = {}
        self._titles: Seldom = Seldom(clock)
        self._asking: set[asyncio.Task[None]] = set()

    def sits_in(self, chat_id: str) -> bool:
        """True when the bot is known to sit in the chat; about an unknown one the platform is asked now and then."""
        if chat_id in self._chats:
            return True
        if self._clock() >= self._chats_due:
            self._begin(self.refresh())
        return False

    def chats(self) -> list[str]:
        """The groups that are known."""
        return sorted(self._chats)

    def joined(self, chat_id: str) -> None:
        """The bot was heard of in this chat."""
        self._chats.add(chat_id)

    def left(self, chat_id: str) -> None:
        """The bot was put out of this chat."""
        self._chats.discard(chat_id)

    async def refresh(self) -> None:
        """Ask for the groups the bot sits in."""
        self._chats_due = self._clock() + _CHATS_AGAIN
        titles: dict[str, str] = {}
        try:
            async for chat in self._listed(_CHATS, {}):
                if chat_id := string(chat, "chat_id"):
                    titles[chat_id] = string(chat, "name")
        except PlatformError as error:
            logger.warning("Which groups the bot sits in is known from their messages only: %s %s", error, error.hint)
        self._chats.update(titles)
        await self._remember(titles)

    async def take_seats(self, name: str) -> None:
        """Let other bots know in which chats the bot ``name`` sits, before it has said anything there."""
        if self._members is None:
            return
        for chat_id in self.chats():
            try:
                await asyncio.to_thread(self._members.saw, FEISHU.key(chat_id), name)
            except StoreError as error:
                logger.warning("Where %s sits could not be written down: %s %s", name, error, error.hint)
                return

    def want_names(self, chat_id: str) -> None:
        """Find out in the background what the people of a chat are called."""
        if self._members is not None and self._clock() >= self._names_due.get(chat_id, 0.0):
            self._names_due[chat_id] = self._clock() + _NAMES_AGAIN
            self._begin(self._ask_names(chat_id, self._members))

    def want_title(self, chat_id: str) -> None:
        """Find out in the background what a chat is called, if that has not been asked for lately."""
        if self._members is not None and self._titles.begin(chat_id):
            self._begin(self._ask_title(chat_id))

    async def close(self) -> None:
        """End what is being asked."""
        for asking in self._asking:
            asking.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)

    async def _ask_names(self, chat_id: str, members: MemberDirectory) -> None:
        path = f"{_CHATS}/{quote(chat_id, safe='')}/members"
        try:
            async for person in self._listed(path, {"member_id_type": "union_id"}):
                sender, name = string(person, "member_id"), string(person, "name")
                if sender and name:
                    await asyncio.to_thread(members.remember_person, sender, name, {"union_id": sender})
        except PlatformError as error:
            logger.warning("The names of people in a group are not known: %s %s", error, error.hint)
        except StoreError as error:
            logger.warning("Names could not be written down: %s %s", error, error.hint)

    async def _ask_title(self, chat_id: str) -> None:
        try:
            chat = await self._client.call("GET", f"{_CHATS}/{quote(chat_id, safe='')}", needs=_NEEDS)
        except PlatformError as error:
            logger.info("What a group is called is not known: %s %s", error, error.hint)
        else:
            await self._remember({chat_id: string(chat, "name")})

    async def _remember(self, titles: Mapping[str, str]) -> None:
        if self._members is None:
            return
        try:
            for chat_id, title in titles.items():
                await asyncio.to_thread(self._members.remember_chat, FEISHU.key(chat_id), title)
                self._titles.answered(chat_id)
        except StoreError as error:
            logger.warning("What the groups are called could not be written down: %s %s", error, error.hint)

    async def _listed(self, path: str, query: Mapping[str, Any]) -> AsyncIterator[Mapping[str, Any]]:
        """The items of a listing, page by page."""
        token = ""
        for _ in range(_PAGES):
            page = {**query, "page_size": 100, **({"page_token": token} if token else {})}
            answer = await self._client.call("GET", path, query=page, needs=_NEEDS)
            items = answer.get("items")
            for item in items if isinstance(items, list) else ():
                if isinstance(item, Mapping):
                    yield item
            token = string(answer, "page_token")
            if answer.get("has_more") is not True or not token:
                return

    def _begin(self, work: Any) -> None:
        asking = asyncio.get_running_loop().create_task(work)
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)
