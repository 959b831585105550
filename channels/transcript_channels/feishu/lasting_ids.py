"""Looks up the lasting ids of people whom an app knows only by open id, which differs for each app."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from nanobot_transcript.errors import NotPermittedError, PlatformError, StoreError
from nanobot_transcript.store.members import MemberDirectory
from transcript_channels.feishu.client import FeishuClient
from transcript_channels.feishu.fields import ids_of, string
from transcript_channels.feishu.platform import FEISHU

__all__ = ["LastingIds"]

logger = logging.getLogger(__name__)

_AT_ONCE: Final = 50
_REMEMBERED: Final = 5000
_SCOPE: Final = "contact:user.base:readonly"


@dataclass(slots=True, eq=False)
class LastingIds:
    """Asks the platform's directory for the lasting ids of people, and remembers them among the members.

    The history names people by open id only; without this, one person would be several in a record that apps share.
    Without the scope it is off, after one line in the log.
    """

    client: FeishuClient
    members: MemberDirectory
    _asked: dict[str, None] = field(default_factory=dict, init=False)
    _off: bool = field(default=False, init=False)

    async def look_up(self, open_ids: Iterable[str]) -> None:
        """Learn who these are, 50 per call; nobody is asked for twice. PlatformError and StoreError are logged, not
        raised.
        """
        wanted = [open_id for open_id in dict.fromkeys(open_ids) if open_id not in self._asked]
        for start in range(0, len(wanted), _AT_ONCE):
            if self._off:
                return
            await self._ask(wanted[start : start + _AT_ONCE])

    async def _ask(self, open_ids: list[str]) -> None:
        query = {"user_id_type": "open_id", "user_ids": open_ids}
        try:
            answer = await self.client.call("GET", "/open-apis/contact/v3/users/batch", query=query, needs=[_SCOPE])
        except NotPermittedError as error:
            self._off = True
            logger.warning("People are known by open id only, which differs for each app: %s. %s", error, error.hint)
            return
        except PlatformError as error:
            logger.info("People could not be looked up: %s", error)
            return
        self._asked |= dict.fromkeys(open_ids)
        while len(self._asked) > _REMEMBERED:
            self._asked.pop(next(iter(self._asked)))
        items = answer.get("items")
        await asyncio.to_thread(self._learn_all, items if isinstance(items, list) else [])

    def _learn_all(self, users: Iterable[Any]) -> None:
        for user in users:
            if isinstance(user, Mapping):
                self._learn(user)

    def _learn(self, user: Mapping[str, Any]) -> None:
        ids = ids_of(user)
        ids.pop("app_id", None)
        sender = FEISHU.sender_of(ids)
        if not ids.get("open_id") or sender == ids.get("open_id"):
            return
        try:
            self.members.remember_person(sender, string(user, "name") or None, ids, self.client.app_id)
        except StoreError as error:
            logger.warning("A person's ids could not be saved: %s %s", error, error.hint)
