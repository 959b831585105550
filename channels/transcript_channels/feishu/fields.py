"""Reads texts, ids, times and mentions from the platform's dictionaries.

Nothing here raises, whatever the values really are: a missing or malformed one reads as an empty one.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from nanobot_transcript.conversation.ports import MentionedMember
from nanobot_transcript.entry import Ids
from nanobot_transcript.identity import ACCOUNT
from transcript_channels.feishu.platform import FEISHU

__all__ = ["LOCALES", "Mentions", "Node", "ids_of", "mentions_of", "milliseconds", "part", "position", "string"]

Node = Mapping[str, Any]
"""A JSON object of the platform."""

LOCALES: Final = ("zh_cn", "en_us", "ja_jp")
"""Languages in which posts and cards may be given, the one we prefer first."""

_EVERYONE: Final = "all"
"""How a mention of the whole group reads, after the ``@``."""

_PERSON: Final = "user"
_ID_TYPES: Final = (*FEISHU.person_ids, ACCOUNT)
_LONGEST_POSITION: Final = 19
_FAR: Final = 10**18
_EARLIEST_MS: Final = 100_000_000_000  # below it a time is in seconds: as milliseconds it would be 1973
_EMPTY: Final[Mapping[str, Any]] = {}
_ALL_KEYS: Final = ("@_all", "@all")
_AT_ELEMENT: Final = re.compile(
    r"<at\s+(?:user_id|open_id|id)\s*+=\s*+[\"']?([^\"'>\s]*+)[\"']?\s*+>([^<]*+)</at>", re.IGNORECASE
)
_PLACEHOLDER: Final = re.compile("@[A-Za-z0-9_]+")
_UNKNOWN: Final = "someone"


def part(value: Any, *path: str) -> Mapping[str, Any]:
    """The object at a path; an empty one when there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else _EMPTY


def string(mapping: Mapping[str, Any], key: str) -> str:
    """The text under a key, ``""`` if it is anything else."""
    value = mapping.get(key)
    return value if isinstance(value, str) else ""


def ids_of(value: Any, id_type: Any = None) -> Ids:
    """Ids by their kind, from an object of them or from a single one. That is of kind ``id_type``; without a kind it is
    an app id if it looks like one, else an open id.
    """
    if isinstance(value, str) and value:
        value = {id_type if id_type in _ID_TYPES else ACCOUNT if value.startswith("cli_") else "open_id": value}
    known = value if isinstance(value, Mapping) else _EMPTY
    return {kind: text for kind in _ID_TYPES if (text := string(known, kind))}


def mentions_of(value: Any) -> tuple[MentionedMember, ...]:
    """The members named in a ``mentions`` list; those without a name are left out."""
    if not isinstance(value, list | tuple):
        return ()
    return tuple(_mention(item) for item in value if isinstance(item, Mapping) and string(item, "name"))


def milliseconds(value: Any) -> float | None:
    """A time in milliseconds since 1970 from a number or a numeric text, seconds included."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    if not 0 < number < float("inf"):
        return None
    return number * 1000 if number < _EARLIEST_MS else number


def position(value: Any) -> int | None:
    """The platform's order of a message in its chat."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    digits = str(value) if isinstance(value, str) or abs(value) < _FAR else ""
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < _LONGEST_POSITION else None


class Mentions:
    """The ``mentions`` list of one message: names by placeholder and by id; malformed ones are left out.

    Turns placeholders such as ``@_user_1`` and ``<at>`` elements into ``@Name``.
    """

    def __init__(self, mentions: Any = ()) -> None:
        self._by_key: dict[str, str] = {}
        self._by_id: dict[str, str] = {"all": _EVERYONE}
        for mention in mentions if isinstance(mentions, list | tuple) else ():
            self._add(mention)

    def resolve(self, text: str) -> str:
        """The text with every mention as ``@Name``; a placeholder that is not in the list stays as it is."""
        if "@" not in text and "<at" not in text:
            return text
        return _PLACEHOLDER.sub(self._key, _AT_ELEMENT.sub(self._element, text))

    def at(self, user_id: Any, name: Any = "") -> str:
        """One mention by id or placeholder, with the name the platform gave if it gave one."""
        key = user_id if isinstance(user_id, str) else ""
        given = name.strip() if isinstance(name, str) else ""
        known = self._by_id.get(key) or self._by_key.get(key)
        return "@" + (_EVERYONE if key in _ALL_KEYS else given or known or _UNKNOWN)

    def _add(self, mention: Any) -> None:
        if not isinstance(mention, Mapping):
            return
        name, key, ids = mention.get("name"), mention.get("key"), mention.get("id")
        if not isinstance(name, str) or not name.strip():
            return
        if isinstance(key, str) and key:
            self._by_key[key] = name.strip()
        for value in _values(ids):
            self._by_id.setdefault(value, name.strip())

    def _key(self, match: re.Match[str]) -> str:
        key = match[0]
        return f"@{_EVERYONE}" if key in _ALL_KEYS else f"@{self._by_key[key]}" if key in self._by_key else key

    def _element(self, match: re.Match[str]) -> str:
        return self.at(match[1], match[2])


def _mention(item: Mapping[str, Any]) -> MentionedMember:
    said = string(item, "mentioned_type")
    kind = "bot" if said in ("bot", "app") else "human" if said == _PERSON else None
    ids = ids_of(item.get("id"), item.get("id_type"))
    return MentionedMember(string(item, "name").strip(), ids, string(item, "key"), kind)


def _values(ids: Any) -> Iterable[str]:
    """Events give an object of ids, the history API a single one."""
    if isinstance(ids, str):
        return (ids,) if ids else ()
    if not isinstance(ids, Mapping):
        return ()
    return tuple(value for value in ids.values() if isinstance(value, str) and value)
