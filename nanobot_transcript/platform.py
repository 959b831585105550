"""What the core has to know about a chat platform: what its ids look like, and which of them are lasting.

A platform is a value; packages offer theirs in the entry-point group ``nanobot_transcript.platforms``.
"""

import logging
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from nanobot_transcript.session_key import session_key, split

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["GROUP", "Platform", "chat_key", "group_key", "is_unfinished", "outlasts", "person_kinds", "platforms"]

logger = logging.getLogger(__name__)

GROUP: Final = "nanobot_transcript.platforms"
"""The entry-point group in which packages offer a ``Platform``."""

_OURS: Final = "nanobot-transcript"
_NAME: Final = re.compile(r"[a-z][a-z0-9]*")


@dataclass(frozen=True, slots=True)
class Platform:
    """A chat platform.

    ``name`` begins the session keys of its chats: letters a to z and digits, a letter first. ``person_ids`` are the
    kinds of ids of a person, the most lasting first. ``group_form`` matches the ids of its groups, and nothing else.
    ``settings`` names, as ``package.module:NAME``, its section of the settings; without one it has no settings.
    ``unfinished`` is the text of a bot's message while the bot is still writing it, if the platform shows it to others
    that early. ``run`` names, in the same form, what connects it for the command ``run``: a ``Connect`` of
    ``nanobot_transcript.conversation.connectors``; without one that command has no bots there. Raises ValueError for
    unusable values.
    """

    name: str
    person_ids: tuple[str, ...]
    group_form: re.Pattern[str]
    settings: str = ""
    unfinished: str = ""
    run: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ValueError(f"A platform is not called {self.name!r}: take small letters of a to z and digits.")
        if not isinstance(self.person_ids, tuple) or not all(isinstance(kind, str) for kind in self.person_ids):
            raise ValueError("person_ids is a tuple of texts.")
        if not isinstance(self.group_form, re.Pattern):
            raise ValueError("group_form is a compiled pattern.")
        if not isinstance(self.run, str):
            raise ValueError("run is a text such as my_talk.connector:connect.")

    def sender_of(self, ids: Mapping[str, Any]) -> str:
        """The stable sender of a person: the most lasting known id, or the empty string."""
        return next((str(ids[kind]) for kind in self.person_ids if ids.get(kind)), "")

    def is_group(self, chat_id: str) -> bool:
        """True when a chat id is a group's."""
        return self.group_form.fullmatch(chat_id) is not None

    def key(self, chat_id: str) -> str:
        """The session key of a chat."""
        return session_key(self.name, chat_id)


@cache
def platforms() -> tuple[Platform, ...]:
    """Every installed platform, by name. One that cannot be loaded is logged and left out."""
    from importlib.metadata import entry_points

    found: dict[str, Platform] = {}
    for entry_point in sorted(entry_points(group=GROUP), key=_ours_first):
        try:
            offered = entry_point.load()
            if not isinstance(offered, Platform):
                raise TypeError("it is not a Platform")
        except (Exception, SystemExit) as error:  # noqa: BLE001 - another package's code
            logger.warning("The platform %s cannot be loaded from %s: %s", entry_point.name, entry_point.value, error)
            continue
        if found.setdefault(offered.name, offered) is not offered:
            logger.warning(
                "Two packages offer the platform %s; ignoring the one in %s.", offered.name, entry_point.value
            )
    return tuple(found[name] for name in sorted(found))


def is_unfinished(session_key: str, entry: Mapping[str, Any]) -> bool:
    """True for another bot's message that is still being written: that bot records the text when it is done."""
    channel = split(session_key)[0]
    texts = [platform.unfinished for platform in platforms() if platform.name == channel]
    return entry.get("source") == "peer_event" and any(text and entry.get("content") == text for text in texts)


def _ours_first(entry_point: "EntryPoint") -> tuple[bool, str, str]:
    distribution = entry_point.dist
    return distribution is None or distribution.name != _OURS, entry_point.name, entry_point.value


@cache
def person_kinds() -> frozenset[str]:
    """The kinds of ids that a person has on any platform."""
    return frozenset(kind for platform in platforms() for kind in platform.person_ids)


def outlasts(kinds: Collection[str], others: Collection[str]) -> bool:
    """True when an id of these kinds is more lasting than one of the others, on a platform that has both.

    An id of no known kind is no more lasting than the last kind of a platform.

    >>> outlasts({"union_id"}, {"open_id"}), outlasts({"user_id"}, {"union_id"}), outlasts({"user_id"}, ())
    (True, False, True)
    """
    orders = [platform.person_ids for platform in platforms()]
    common = [order for order in orders if not others or not set(others).isdisjoint(order)]
    return any(_rank(kinds, order) > _rank(others, order) for order in common)


def _rank(kinds: Collection[str], order: Sequence[str]) -> int:
    return max((len(order) - 1 - order.index(kind) for kind in kinds if kind in order), default=0)


def group_key(name: str) -> str | None:
    """The session key of the group with this id; None when it is not a group's id, or is one on several platforms.

    >>> group_key("oc_1")
    'feishu:oc_1'
    """
    keys = [platform.key(name) for platform in platforms() if platform.is_group(name)]
    return keys[0] if len(keys) == 1 else None


def chat_key(name: str) -> str | None:
    """The session key of a chat named by its key, or by its id if that tells the platform.

    If only one platform is installed, every id is one of its chats. None when nothing tells.
    """
    channel, chat_id = split(name)
    if channel:
        return session_key(channel, chat_id)
    known = platforms()
    return group_key(chat_id) or (known[0].key(chat_id) if len(known) == 1 else None)
