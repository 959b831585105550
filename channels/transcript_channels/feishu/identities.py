"""Who wrote a message and who is named in it: what one app sees, turned into senders that are the same for all apps."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from nanobot_transcript.entry import Ids, Mention
from nanobot_transcript.errors import NotPermittedError, PlatformError, StoreError
from nanobot_transcript.store.members import MemberDirectory
from transcript_channels.feishu.client import FeishuClient
from transcript_channels.feishu.events import Message
from transcript_channels.feishu.fields import MentionedMember, ids_of, string
from transcript_channels.feishu.platform import FEISHU

__all__ = ["Identities", "People", "Sender"]

logger = logging.getLogger(__name__)

_AT_ONCE: Final = 50
_REMEMBERED: Final = 5000
_SCOPE: Final = "contact:user.base:readonly"


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sent a message: ``sender`` is stable, ``name`` what to show, None while unknown."""

    sender: str
    name: str | None
    ids: Ids


class Identities:
    """Looks members up in the store's members file as the app ``app_id`` sees them; never waits for a network."""

    def __init__(self, members: MemberDirectory | None, app_id: str) -> None:
        self.members: MemberDirectory | None = members
        self.app_id: str = app_id

    def sender_of(self, message: Message) -> Sender:
        """The sender of a message."""
        if message.from_bot:
            return self._bot(message.sender_ids)
        sender = self._person(message.sender_ids) or "unknown"
        return Sender(sender, self._name(sender), message.sender_ids)

    def mentions_of(self, message: Message) -> list[Mention]:
        """The members named in a message, each with the stable sender where it is known."""
        return [self._mention(mention) for mention in message.mentions]

    def is_known(self, ids: Ids) -> bool:
        """True when these ids of a person lead to a sender that other apps would find too."""
        return self._person(ids) != ids.get("open_id")

    def _bot(self, ids: Ids) -> Sender:
        app_id = self._app_of(ids)
        if app_id is None:
            return Sender(FEISHU.sender_of(ids) or "bot", None, ids)
        name = self._name(app_id)
        return Sender(name or app_id, name, {**ids, "app_id": app_id})

    def _app_of(self, ids: Ids) -> str | None:
        app_id, open_id = ids.get("app_id"), ids.get("open_id")
        if app_id or not open_id or self.members is None:
            return app_id
        seen = (bot.account for bot in self.members.bots() if bot.open_ids.get(self.app_id) == open_id)
        return next(seen, None)

    def _person(self, ids: Ids) -> str:
        sender, open_id = FEISHU.sender_of(ids), ids.get("open_id")
        if open_id and sender == open_id and self.members is not None:
            return self.members.sender_for(self.app_id, open_id) or sender
        return sender

    def _name(self, sender: str) -> str | None:
        return self.members.name_of(sender) if self.members is not None and sender else None

    def _mention(self, mention: MentionedMember) -> Mention:
        app_id = None if mention.kind == "human" else self._app_of(mention.ids) or self._called(mention.name)
        stable = (self._name(app_id) or app_id) if app_id else self._person(mention.ids)
        return {"name": mention.name, "id": stable} if stable else {"name": mention.name}

    def _called(self, name: str) -> str | None:
        """The one bot that goes by a name."""
        bots = self.members.bots() if self.members is not None else []
        wanted = name.casefold()
        called = [bot for bot in bots if wanted in (known.casefold() for known in (bot.name, *bot.aliases))]
        return called[0].account if len(called) == 1 else None


class People:
    """Asks the platform's directory for the lasting ids of people this app knows by open id only.

    The history names people by open id, which differs for each app; without this one person would be several in a
    record that apps share. Off, with one line in the log, when the scope is missing.
    """

    def __init__(self, client: FeishuClient, members: MemberDirectory) -> None:
        self._client: FeishuClient = client
        self._members: MemberDirectory = members
        self._asked: dict[str, None] = {}
        self._off: bool = False

    async def look_up(self, open_ids: Iterable[str]) -> None:
        """Learn who these are, 50 per call; each is asked for once. Raises nothing but what is no PlatformError."""
        wanted = [open_id for open_id in dict.fromkeys(open_ids) if open_id not in self._asked]
        for start in range(0, len(wanted), _AT_ONCE):
            if self._off:
                return
            await self._ask(wanted[start : start + _AT_ONCE])

    async def _ask(self, open_ids: list[str]) -> None:
        query = {"user_id_type": "open_id", "user_ids": open_ids}
        try:
            answer = await self._client.call("GET", "/open-apis/contact/v3/users/batch", query=query, needs=[_SCOPE])
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
            self._members.remember_person(sender, string(user, "name") or None, ids, self._client.app_id)
        except StoreError as error:
            logger.warning("Who a person is could not be written down: %s %s", error, error.hint)
