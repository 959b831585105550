"""Who wrote a line: a sender that is the same in every process, whichever bot received the message.

A person's ``open_id`` differs for every app that looks at the person, so it is the last choice. A bot is
known by its agent's name; which bot a line belongs to is decided by ``app_id`` alone, because names can be
given twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

__all__ = ["AgentProfile", "agent_names", "is_own", "name_clashes", "person_sender", "sender_ids"]

_SUFFIX_LENGTH: Final = 4


@dataclass(frozen=True, slots=True)
class AgentProfile:
    """A member of a group as the others know it; people have one too, of kind ``human``.

    ``ids`` holds every id under which the member writes or is mentioned: its stable sender, app id, open ids.
    """

    name: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    ids: frozenset[str] = frozenset()
    kind: Literal["bot", "human"] = "bot"


def person_sender(ids: Mapping[str, Any]) -> str:
    """The stable sender of a person: union id, else user id, else open id, else the empty string.

    >>> person_sender({"open_id": "ou_1", "union_id": "on_1"})
    'on_1'
    """
    return next((str(ids[kind]) for kind in ("union_id", "user_id", "open_id") if ids.get(kind)), "")


def sender_ids(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The ids of the writer of an entry, by their kind; none where there is something else: anybody may write it."""
    ids = entry.get("ids")
    return ids if isinstance(ids, Mapping) else {}


def is_own(entry: Mapping[str, Any], app_id: str) -> bool:
    """True when the bot with this ``app_id`` wrote the entry; a name proves nothing."""
    return bool(app_id) and sender_ids(entry).get("app_id") == app_id and _is_bot(entry)


def agent_names(wanted: Mapping[str, str]) -> dict[str, str]:
    """One name per app id, no two alike, from the names they want (upper and lower case count as one).

    Of several apps with one name the smallest app id keeps it, the others get a piece of their app id as a
    suffix. The answer depends on the argument only, so processes that know the same bots agree.

    >>> agent_names({"cli_2beef": "Alpha", "cli_1": "Alpha"})
    {'cli_1': 'Alpha', 'cli_2beef': 'Alpha-beef'}
    """
    names: dict[str, str] = {}
    owners = {name: apps[0] for name, apps in _claims(wanted).items()}
    taken = set(owners)
    for app_id in sorted(wanted):
        name = _plain(wanted[app_id], app_id)
        if owners[name.casefold()] != app_id:
            name = _suffixed(name, app_id, taken)
            taken.add(name.casefold())
        names[app_id] = name
    return names


def name_clashes(wanted: Mapping[str, str]) -> dict[str, list[str]]:
    """Names that more than one app wants, with their app ids; the first of them keeps the name."""
    return {_plain(wanted[apps[0]], apps[0]): apps for apps in _claims(wanted).values() if len(apps) > 1}


def _is_bot(entry: Mapping[str, Any]) -> bool:
    return entry.get("sender_kind") == "bot" or entry.get("role") == "assistant"


def _plain(name: str, app_id: str) -> str:
    return name.strip() or app_id


def _claims(wanted: Mapping[str, str]) -> dict[str, list[str]]:
    claims: dict[str, list[str]] = {}
    for app_id in sorted(wanted):
        claims.setdefault(_plain(wanted[app_id], app_id).casefold(), []).append(app_id)
    return claims


def _suffixed(name: str, app_id: str, taken: set[str]) -> str:
    for length in range(_SUFFIX_LENGTH, len(app_id) + 1):
        candidate = f"{name}-{app_id[-length:]}"
        if candidate.casefold() not in taken:
            return candidate
    return f"{name}-{app_id}"
