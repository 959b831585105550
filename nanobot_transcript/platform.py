"""What the core has to know about a chat platform: how its ids look, and which of them last.

A platform is a value; packages offer theirs in the entry-point group ``nanobot_transcript.platforms``.
"""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from nanobot_transcript.session_key import session_key, split

__all__ = ["GROUP", "Platform", "chat_key", "group_key", "lasting", "platforms"]

logger = logging.getLogger(__name__)

GROUP: Final = "nanobot_transcript.platforms"
"""The group of entry points in which packages offer a ``Platform``."""


@dataclass(frozen=True, slots=True)
class Platform:
    """A chat platform.

    ``name`` begins the session keys of its chats. ``person_ids`` are the kinds of ids of a person, the most lasting
    first. ``group_form`` matches the ids of its groups, and of nothing else. ``settings`` names, as
    ``package.module:NAME``, its section of the settings with what that is for; without one it has nothing to set.
    """

    name: str
    person_ids: tuple[str, ...]
    group_form: re.Pattern[str]
    settings: str = ""

    def sender_of(self, ids: Mapping[str, Any]) -> str:
        """The stable sender of a person: the most lasting id that is known, the empty string without one."""
        return next((str(ids[kind]) for kind in self.person_ids if ids.get(kind)), "")

    def is_group(self, chat_id: str) -> bool:
        """True where a chat id is that of a group."""
        return self.group_form.fullmatch(chat_id) is not None

    def key(self, chat_id: str) -> str:
        """The session key of a chat."""
        return session_key(self.name, chat_id)


@cache
def platforms() -> tuple[Platform, ...]:
    """Every platform that is installed, by name. What cannot be loaded is named in the log and left out."""
    from importlib.metadata import entry_points

    found: dict[str, Platform] = {}
    for entry_point in sorted(entry_points(group=GROUP), key=lambda one: (one.name, one.value)):
        try:
            offered = entry_point.load()
        except Exception as error:  # noqa: BLE001 - another package's code
            logger.warning("The platform %s cannot be loaded from %s: %s", entry_point.name, entry_point.value, error)
            continue
        if not isinstance(offered, Platform):
            logger.warning("What %s offers as the platform %s is none.", entry_point.value, entry_point.name)
        elif found.setdefault(offered.name, offered) is not offered:
            logger.warning("There is a platform %s already; that of %s is left out.", offered.name, entry_point.value)
    return tuple(found[name] for name in sorted(found))


def lasting(kind: str) -> int:
    """How lasting a kind of ids is, from 0; that of no platform is no more lasting than the last of one.

    >>> lasting("union_id") > lasting("open_id")
    True
    """
    ranks = (platform.person_ids[::-1].index(kind) for platform in platforms() if kind in platform.person_ids)
    return max(ranks, default=0)


def group_key(name: str) -> str | None:
    """The session key of the group with this id; None for what is no group's id on any platform.

    >>> group_key("oc_1")
    'feishu:oc_1'
    """
    return next((platform.key(name) for platform in platforms() if platform.is_group(name)), None)


def chat_key(name: str) -> str | None:
    """The session key of a chat that is named by it, or by its id where that tells the platform.

    Where only one platform is installed, every id is one of its chats'. None where nothing tells.
    """
    channel, chat_id = split(name)
    if channel:
        return session_key(channel, chat_id)
    known = platforms()
    return group_key(chat_id) or (known[0].key(chat_id) if len(known) == 1 else None)
