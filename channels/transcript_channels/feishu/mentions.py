"""Mentions inside a text: placeholders such as ``@_user_1`` and ``<at>`` elements become ``@Name``."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

__all__ = ["EVERYONE", "Mentions"]

EVERYONE: Final = "all"
"""How a mention of the whole group reads, after the ``@``."""

_ALL_KEYS: Final = ("@_all", "@all")
_AT_ELEMENT: Final = re.compile(
    r"<at\s+(?:user_id|open_id|id)\s*+=\s*+[\"']?([^\"'>\s]*+)[\"']?\s*+>([^<]*+)</at>", re.IGNORECASE
)
_PLACEHOLDER: Final = re.compile("@[A-Za-z0-9_]+")
_UNKNOWN: Final = "someone"


class Mentions:
    """The ``mentions`` list of one message: names by placeholder and by id; malformed ones are left out."""

    def __init__(self, mentions: Any = ()) -> None:
        self._by_key: dict[str, str] = {}
        self._by_id: dict[str, str] = {"all": EVERYONE}
        for mention in mentions if isinstance(mentions, list | tuple) else ():
            self._add(mention)

    def resolve(self, text: str) -> str:
        """The text with every mention as ``@Name``; a placeholder nobody explains stays as it is."""
        if "@" not in text and "<at" not in text:
            return text
        return _PLACEHOLDER.sub(self._key, _AT_ELEMENT.sub(self._element, text))

    def at(self, user_id: Any, name: Any = "") -> str:
        """One mention by id or placeholder, with the name the platform gave if it gave one."""
        key = user_id if isinstance(user_id, str) else ""
        given = name.strip() if isinstance(name, str) else ""
        known = self._by_id.get(key) or self._by_key.get(key)
        return "@" + (EVERYONE if key in _ALL_KEYS else given or known or _UNKNOWN)

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
        return f"@{EVERYONE}" if key in _ALL_KEYS else f"@{self._by_key[key]}" if key in self._by_key else key

    def _element(self, match: re.Match[str]) -> str:
        return self.at(match[1], match[2])


def _values(ids: Any) -> Iterable[str]:
    """Events give an object of ids, the history API a single one."""
    if isinstance(ids, str):
        return (ids,) if ids else ()
    if not isinstance(ids, Mapping):
        return ()
    return tuple(value for value in ids.values() if isinstance(value, str) and value)
