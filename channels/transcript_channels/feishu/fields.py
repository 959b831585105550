"""Single values out of the platform's dictionaries, whatever is really in them. Nothing here raises."""

from collections.abc import Mapping
from typing import Any, Final

from nanobot_transcript.conversation.ports import MentionedMember
from nanobot_transcript.entry import Ids
from nanobot_transcript.identity import ACCOUNT
from transcript_channels.feishu.platform import FEISHU

__all__ = ["ids_of", "mentions_of", "milliseconds", "part", "position", "string"]

_PERSON: Final = "user"
_ID_TYPES: Final = (*FEISHU.person_ids, ACCOUNT)
_LONGEST_POSITION: Final = 19
_FAR: Final = 10**18
_EARLIEST_MS: Final = 100_000_000_000  # below it a time is in seconds: as milliseconds it would be 1973
_EMPTY: Final[Mapping[str, Any]] = {}


def part(value: Any, *path: str) -> Mapping[str, Any]:
    """The object at a path; an empty one when there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else _EMPTY


def string(mapping: Mapping[str, Any], key: str) -> str:
    """A text of an object, ``""`` for anything else."""
    value = mapping.get(key)
    return value if isinstance(value, str) else ""


def ids_of(value: Any, id_type: Any = None) -> Ids:
    """An object of ids. A single string is of the type that is given, else an open id, or a bot's app id."""
    if isinstance(value, str) and value:
        value = {id_type if id_type in _ID_TYPES else ACCOUNT if value.startswith("cli_") else "open_id": value}
    known = value if isinstance(value, Mapping) else _EMPTY
    return {kind: text for kind in _ID_TYPES if (text := string(known, kind))}


def mentions_of(value: Any) -> tuple[MentionedMember, ...]:
    """The members named in a ``mentions`` list; those without a name are left out."""
    if not isinstance(value, list | tuple):
        return ()
    return tuple(_mention(item) for item in value if isinstance(item, Mapping) and string(item, "name"))


def _mention(item: Mapping[str, Any]) -> MentionedMember:
    said = string(item, "mentioned_type")
    kind = "bot" if said in ("bot", "app") else "human" if said == _PERSON else None
    ids = ids_of(item.get("id"), item.get("id_type"))
    return MentionedMember(string(item, "name").strip(), ids, string(item, "key"), kind)


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
