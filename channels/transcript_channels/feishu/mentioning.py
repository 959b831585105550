"""Whom a text mentions with ``@Name``, as ids that the sending app may use."""

import re
from collections import OrderedDict
from typing import Final

from nanobot_transcript.store.members import MemberDirectory
from transcript_channels.feishu.bodies import At
from transcript_channels.feishu.events import Message
from transcript_channels.feishu.identities import Identities

__all__ = ["Mentionable"]

_REMEMBERED: Final = 2000


class Mentionable:
    """The members whose open id this app knows: bots from the members file, people from what they wrote."""

    def __init__(self, app_id: str, members: MemberDirectory | None) -> None:
        self._app_id: str = app_id
        self._members: MemberDirectory | None = members
        self._people: OrderedDict[str, str] = OrderedDict()

    def saw(self, message: Message, identities: Identities) -> None:
        """Remember the open ids in a message: the sender's and those of whoever it mentions."""
        if not message.from_bot:
            self._remember(message.sender_ids.get("open_id"), identities.sender_of(message).name)
        for mention in message.mentions:
            if mention.kind != "bot":
                self._remember(mention.ids.get("open_id"), mention.name)

    def named_in(self, text: str) -> list[At]:
        """Everybody whose ``@Name`` stands in the text; a name that several have means the bot, or whoever was last."""
        if "@" not in text:
            return []
        known = dict(self._people)
        for bot in self._members.bots() if self._members is not None else ():
            open_id = bot.open_ids.get(self._app_id)
            if open_id and bot.app_id != self._app_id:
                known.update({name: open_id for name in (*bot.aliases, bot.name) if name.strip()})
        return [At(open_id, name) for name, open_id in known.items() if _stands_in(name, text)]

    def _remember(self, open_id: str | None, name: str | None) -> None:
        if not open_id or not name or not name.strip():
            return
        self._people[name.strip()] = open_id
        self._people.move_to_end(name.strip())
        while len(self._people) > _REMEMBERED:
            self._people.popitem(last=False)


def _stands_in(name: str, text: str) -> bool:
    at = f"@{name}"
    if at not in text:
        return False
    end = r"(?![A-Za-z0-9_])" if name[-1].isascii() else ""
    return re.search(re.escape(at) + end, text) is not None
