"""Whom a text mentions with ``@Name``, as ids that the sending app may use."""

import re
from collections import OrderedDict
from collections.abc import Collection
from typing import Final

from nanobot_transcript.conversation.ports import Arrival
from nanobot_transcript.scripts import DENSE
from nanobot_transcript.store.members import MemberDirectory
from transcript_channels.feishu.bodies import At

__all__ = ["Mentionable"]

_REMEMBERED: Final = 2000
_DENSE_END: Final = re.compile(f"[{DENSE}]$")
_GOES_ON: Final = re.compile(rf"[-.'’]?[^\W{DENSE}]")


class Mentionable:
    """The members whose open id this app knows: bots from the members file, people from what they wrote."""

    def __init__(self, app_id: str, members: MemberDirectory | None) -> None:
        self._app_id: str = app_id
        self._members: MemberDirectory | None = members
        self._people: OrderedDict[str, str] = OrderedDict()

    def saw(self, arrival: Arrival, name: str | None) -> None:
        """Remember the open ids in a message: of its sender, who is called ``name``, and of whoever it mentions."""
        if not arrival.from_bot:
            self._remember(arrival.sender_ids.get("open_id"), name)
        for mention in arrival.mentions:
            if mention.kind != "bot":
                self._remember(mention.ids.get("open_id"), mention.name)

    def named_in(self, text: str) -> list[At]:
        """Everybody whose ``@Name`` stands in the text, each once.

        At each ``@`` the longest name counts. A name that several have means the bot, or whoever was last.
        """
        if "@" not in text:
            return []
        known = dict(self._people)
        for bot in self._members.bots() if self._members is not None else ():
            open_id = bot.open_ids.get(self._app_id)
            if open_id and bot.account != self._app_id:
                known.update({name: open_id for name in (*bot.aliases, bot.name) if name.strip()})
        return [At(known[name], name) for name in _named(text, known)]

    def _remember(self, open_id: str | None, name: str | None) -> None:
        if not open_id or not name or not name.strip():
            return
        self._people[name.strip()] = open_id
        self._people.move_to_end(name.strip())
        while len(self._people) > _REMEMBERED:
            self._people.popitem(last=False)


def _named(text: str, names: Collection[str]) -> list[str]:
    """Which names stand behind an ``@``, in the order of the text."""
    lengths = sorted({len(name) for name in names}, reverse=True)
    found: dict[str, None] = {}
    at = text.find("@")
    while at >= 0:
        begin = at + 1
        candidates = (text[begin : begin + length] for length in lengths)
        name = next((one for one in candidates if one in names and _ends(one, text, begin + len(one))), "")
        if name:
            found[name] = None
        at = text.find("@", begin + len(name))
    return list(found)


def _ends(name: str, text: str, end: int) -> bool:
    """True when no longer word begins with the name; scripts without spaces go on right behind it."""
    return bool(_DENSE_END.search(name)) or _GOES_ON.match(text, end) is None
