"""Names of people who never were mentioned, and of their groups: the platform is asked for both, seldom."""

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any, Final

from nanobot_transcript.store.members import MemberDirectory
from transcript_channels.feishu.platform import FEISHU
from transcript_channels.feishu.seldom import Seldom

__all__ = ["Roster"]

logger = logging.getLogger(__name__)

_AGAIN: Final = 600.0
_HOPELESS: Final = 6 * 3600.0
_SOONER: Final = 300.0
_STRANGERS: Final = 4096
_PATIENCE: Final = 2.0
_PAGE: Final = 100
_MOST_PAGES: Final = 20


class Roster:
    """Asks with the client nanobot already has, in a thread of its own, when somebody without a name speaks: at most
    every ten minutes for a group. Somebody who is not on the list, and a group whose list is refused, are asked for
    every six hours; after a failure of the network five minutes later. What a group is called each bot asks for when it
    hears from it, see ``Seldom``.
    """

    def __init__(
        self,
        members: MemberDirectory,
        client_of: Callable[[str], Any],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._members: MemberDirectory = members
        self._client_of: Callable[[str], Any] = client_of
        self._clock: Callable[[], float] = clock
        self._due: dict[str, float] = {}
        self._strangers: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._under_way: dict[str, Future[None]] = {}
        self._mutex: threading.Lock = threading.Lock()
        self._titles: Seldom = Seldom(clock)
        self._complained: bool = False
        self.patience: float = _PATIENCE
        """Seconds for which a turn waits for names."""

    def ask(self, chat_id: str, app_id: str, sender: str, ids: Mapping[str, Any]) -> None:
        """Begin to find out what ``sender`` and the other people of a group are called. Waits for nothing."""
        with self._mutex:
            now = self._clock()
            due = max(self._due.get(chat_id, now), self._strangers.get((chat_id, sender), now))
            if self._client_of(app_id) is None or now < due:
                return
            self._due[chat_id] = now + _AGAIN
            lookup = self._under_way[chat_id] = Future()
        # nanobot's client has no time limit, so nothing else may have to wait in this thread
        details = (lookup, chat_id, app_id, sender, ids)
        threading.Thread(target=self._look_up, args=details, name="group-transcript-names", daemon=True).start()

    def heard(self, chat_id: str, app_id: str) -> None:
        """Begin to find out what a group is called from which a bot has heard. Waits for nothing."""
        client = self._client_of(app_id)
        if client is not None and self._titles.begin((app_id, chat_id)):
            details = (client, chat_id, app_id)
            threading.Thread(target=self._ask_title, args=details, name="group-transcript-title", daemon=True).start()

    async def told(self, chat_id: str) -> None:
        """Wait until a question about this group that is under way is answered, for ``patience`` seconds at most.

        When that was not enough, later turns do not wait for the same answer again.
        """
        lookup = self._under_way.get(chat_id)
        if lookup is None:
            return
        _, unanswered = await asyncio.wait([asyncio.wrap_future(lookup)], timeout=self.patience)
        if unanswered:
            self._forget(lookup, chat_id)

    def _look_up(self, lookup: "Future[None]", chat_id: str, app_id: str, sender: str, ids: Mapping[str, Any]) -> None:
        due = self._clock() + _SOONER
        try:
            if self._members.name_of(sender):  # by a mention, or another process has asked
                due = self._clock()
            else:
                told = self._learn(chat_id, app_id, _kind(sender, ids))
                due = self._clock() + (_AGAIN if told else _HOPELESS)
                if told and not self._members.name_of(sender):
                    self._note_stranger(chat_id, sender)
        except Exception:
            logger.warning("The members of a group cannot be read; people are shown by id for now", exc_info=True)
        finally:
            self._end(lookup, chat_id, due)

    def _note_stranger(self, chat_id: str, sender: str) -> None:
        with self._mutex:
            self._strangers[chat_id, sender] = self._clock() + _HOPELESS
            while len(self._strangers) > _STRANGERS:
                self._strangers.popitem(last=False)

    def _learn(self, chat_id: str, app_id: str, kind: str) -> bool:
        """Read the list; False when that is refused."""
        for people in self._pages(self._client_of(app_id), chat_id, kind):
            if people is None:
                return False
            for member_id, name in people:
                self._members.remember_person(member_id, name, {kind: member_id}, app_id)
        return True

    def _ask_title(self, client: Any, chat_id: str, app_id: str) -> None:
        try:
            title = _title(client, chat_id)
            if title is not None:
                self._members.remember_chat(FEISHU.key(chat_id), title)
                self._titles.answered((app_id, chat_id))
        except Exception:
            logger.warning("What a group is called could not be found out; it is asked for again", exc_info=True)

    def _end(self, lookup: "Future[None]", chat_id: str, due: float) -> None:
        """The question is answered. ``due``: when it may be put again."""
        self._due[chat_id] = due
        self._forget(lookup, chat_id)
        lookup.set_result(None)

    def _forget(self, lookup: "Future[None]", chat_id: str) -> None:
        with self._mutex:
            if self._under_way.get(chat_id) is lookup:
                del self._under_way[chat_id]

    def _pages(self, client: Any, chat_id: str, kind: str) -> Iterator[list[tuple[str, str]] | None]:
        """Id and name of the people in a group, page by page; bots are not listed. None where it is refused."""
        lists = getattr(getattr(getattr(client, "im", None), "v1", None), "chat_members", None)
        if lists is None:
            yield None
            return
        # nanobot has imported the SDK long before it has a client
        from lark_oapi.api.im.v1 import GetChatMembersRequest

        token = ""
        for _ in range(_MOST_PAGES):
            builder = GetChatMembersRequest.builder().chat_id(chat_id).member_id_type(kind).page_size(_PAGE)
            response = lists.get((builder.page_token(token) if token else builder).build())
            if not response.success():
                self._complain(response)
                yield None
                return
            members = response.data.items or []
            yield [(member.member_id, member.name) for member in members if member.member_id and member.name]
            token = response.data.page_token or ""
            if not response.data.has_more or not token:
                return

    def _complain(self, response: Any) -> None:
        if self._complained:
            return
        self._complained = True
        logger.warning(
            "The names of a group's members cannot be read (code %s: %s); people are shown by id until they are "
            "mentioned. Grant the app im:chat.members:read.",
            response.code,
            response.msg,
        )


def _title(client: Any, chat_id: str) -> str | None:
    """What a group is called; None where the app may not know."""
    chats = getattr(getattr(getattr(client, "im", None), "v1", None), "chat", None)
    if chats is None:
        return None
    from lark_oapi.api.im.v1 import GetChatRequest

    response = chats.get(GetChatRequest.builder().chat_id(chat_id).build())
    return (response.data.name or "") if response.success() else None


def _kind(sender: str, ids: Mapping[str, Any]) -> str:
    """Which of the ids the stable sender is."""
    if sender == ids.get("union_id"):
        return "union_id"
    return "user_id" if sender == ids.get("user_id") else "open_id"
