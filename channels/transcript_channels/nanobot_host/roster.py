"""Names of people who never were mentioned: the platform's list of a group's members, asked seldom."""

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from nanobot_transcript.entry import Ids
from nanobot_transcript.store.members import MemberDirectory

__all__ = ["Roster"]

logger = logging.getLogger(__name__)

_AGAIN: Final = 6 * 3600.0
_PAGE: Final = 100
_PAGES: Final = 20


class Roster:
    """Asks with the client nanobot already has, in the background, at most every six hours for a group."""

    def __init__(self, members: MemberDirectory, client_of: Callable[[str], Any]) -> None:
        self._members: MemberDirectory = members
        self._client_of: Callable[[str], Any] = client_of
        self._asked: dict[str, float] = {}
        self._complained: bool = False

    def learn(self, chat_id: str, app_id: str, sender: str, ids: Ids) -> None:
        """Find out what ``sender`` and the other people of a group are called, unless it is known by now."""
        client = self._client_of(app_id)
        if client is None or self._members.name_of(sender) or not self._is_due(chat_id):
            return
        kind = _kind(sender, ids)
        for member_id, name in self._listed(client, chat_id, kind):
            known: Ids = {"open_id": member_id}
            if kind != "open_id":
                known = {"union_id": member_id} if kind == "union_id" else {"user_id": member_id}
            self._members.remember_person(member_id, name, known, app_id)

    def _is_due(self, chat_id: str) -> bool:
        now = time.monotonic()
        if now - self._asked.get(chat_id, -_AGAIN) < _AGAIN:
            return False
        self._asked[chat_id] = now
        return True

    def _listed(self, client: Any, chat_id: str, kind: str) -> Iterator[tuple[str, str]]:
        """Id and name of the people in a group, bots are not listed."""
        lists = getattr(client.im.v1, "chat_members", None)
        if lists is None:
            return
        # nanobot has imported the SDK long before it has a client
        from lark_oapi.api.im.v1 import GetChatMembersRequest

        token = ""
        for _ in range(_PAGES):
            builder = GetChatMembersRequest.builder().chat_id(chat_id).member_id_type(kind).page_size(_PAGE)
            response = lists.get((builder.page_token(token) if token else builder).build())
            if not response.success():
                self._complain(response)
                return
            for member in response.data.items or []:
                if member.member_id and member.name:
                    yield member.member_id, member.name
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


def _kind(sender: str, ids: Ids) -> str:
    """Which of the ids the stable sender is."""
    if sender == ids.get("union_id"):
        return "union_id"
    return "user_id" if sender == ids.get("user_id") else "open_id"
