"""What the members file holds, and every change that can be made to it."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final, Required, TypeAlias, TypedDict

from nanobot_transcript.entry import Ids
from nanobot_transcript.identity import OPEN_ID
from nanobot_transcript.platform import outlasts

__all__ = [
    "SEEN_STEP_MS",
    "Document",
    "Shape",
    "drop_person",
    "drop_seen",
    "empty",
    "is_known",
    "is_silent",
    "put_bot",
    "put_facts",
    "put_list",
    "put_person",
    "put_seen",
    "put_title",
]

Document: TypeAlias = dict[str, Any]

SEEN_STEP_MS: Final = 3_600_000
_ALIVE_STEP_MS: Final = 86_400_000
_SILENT_MS: Final = 30 * 86_400_000
_LISTED: Final = 500


class _Bot(TypedDict, total=False):
    name: Required[str]
    aliases: list[str]
    description: str
    open_ids: dict[str, str]
    seen: float


class _Person(TypedDict, total=False):
    name: str
    ids: dict[str, str]


class _List(TypedDict):
    at: float
    people: list[str]


class Shape(TypedDict, total=False):
    v: int
    bots: dict[str, _Bot]
    people: dict[str, _Person]
    ids: dict[str, dict[str, str]]
    chats: dict[str, dict[str, float]]
    titles: dict[str, str]
    lists: dict[str, _List]


def empty() -> Document:
    """A document in which nobody is known."""
    return {"bots": {}, "people": {}, "ids": {}, "chats": {}, "titles": {}, "lists": {}}


def is_silent(bot: Mapping[str, Any], now: int) -> bool:
    """True when a bot was not heard of for 30 days. ``now`` in milliseconds."""
    return now - bot.get("seen", 0) > _SILENT_MS


def is_known(document: Document, sender: str, name: str | None, ids: Ids | None, observer: str | None) -> bool:
    """True when there is nothing new. The hot path: called for each message, nearly always true."""
    person = document["people"].get(sender)
    if person is None or (name and person.get("name") != name):
        return False
    if not ids:
        return True
    known = person.get("ids", {})
    if any(known.get(kind) != value for kind, value in ids.items() if not (kind == OPEN_ID and observer)):
        return False
    open_id = ids.get(OPEN_ID)
    return not (open_id and observer) or document["ids"].get(observer, {}).get(open_id) == sender


def put_bot(
    document: Document, account: str, profile: dict[str, Any], open_ids: dict[str, str], now: int | None
) -> bool:
    """Record a profile; like all functions below, returns True when that changes something."""
    old = document["bots"].get(account, {})
    new = old | profile | {"open_ids": old.get("open_ids", {}) | open_ids}
    if now is not None and not 0 <= now - old.get("seen", 0) < _ALIVE_STEP_MS:
        new["seen"] = now
    document["bots"][account] = new
    return new != old


def put_person(document: Document, sender: str, name: str | None, ids: dict[str, str], observer: str | None) -> bool:
    """Record what is known of a person; what is not given stays."""
    old = document["people"].get(sender)
    new = dict(old or {})
    if name:
        new["name"] = name
    open_id = ids.get(OPEN_ID) if observer else None
    seen_by_all = {kind: value for kind, value in ids.items() if kind != OPEN_ID or not observer}
    new["ids"] = new.get("ids", {}) | seen_by_all
    document["people"][sender] = new
    moved = _put_open_id(document, sender, observer, open_id) if observer and open_id else False
    return moved or new != old


def _put_open_id(document: Document, sender: str, observer: str, open_id: str) -> bool:
    known = document["ids"].setdefault(observer, {})
    old = known.get(open_id)
    if old == sender or (old is not None and not outlasts(_kinds(document, sender), _kinds(document, old))):
        return False
    known[open_id] = sender
    if old is not None:
        _rename(document, old, sender)
    return True


def _kinds(document: Document, sender: str) -> set[str]:
    """The kinds of ids that are this sender."""
    ids = document["people"].get(sender, {}).get("ids", {})
    return {kind for kind, known in ids.items() if known == sender}


def _rename(document: Document, old: str, new: str) -> None:
    """One person was known as two senders: the more lasting one takes over ids and memberships."""
    for known in document["ids"].values():
        known.update({open_id: new for open_id, sender in known.items() if sender == old})
    for seen in document["chats"].values():
        if old in seen:
            seen[new] = max(seen.pop(old), seen.get(new, 0))
    for listed in document["lists"].values():
        listed["people"] = list(dict.fromkeys(new if sender == old else sender for sender in listed["people"]))
    name = document["people"].get(old, {}).get("name")
    if name:
        document["people"][new].setdefault("name", name)


def put_seen(document: Document, session_key: str, sender: str, now: int) -> bool:
    """Note that somebody takes part in a chat, by the hour."""
    seen = document["chats"].setdefault(session_key, {})
    last = seen.get(sender)
    if last is not None and now - last < SEEN_STEP_MS:
        return False
    seen[sender] = now
    return True


def drop_seen(document: Document, session_key: str, sender: str) -> bool:
    """Note that somebody has left a chat."""
    return document["chats"].get(session_key, {}).pop(sender, None) is not None


def put_list(
    document: Document, session_key: str, people: Mapping[str, str], kind: str, observer: str, now: int
) -> bool:
    """Record who is in a chat according to the platform, and their names. Beyond ``_LISTED`` the rest is ignored."""
    kept = dict(list(people.items())[:_LISTED])
    for sender, name in kept.items():
        put_person(document, sender, name, {kind: sender}, observer)
    document["lists"][session_key] = {"at": now, "people": list(kept)}
    return True


def put_title(document: Document, session_key: str, title: str) -> bool:
    """Record what a chat is called."""
    old = document["titles"].get(session_key)
    document["titles"][session_key] = title
    return title != old


def put_facts(document: Document, facts: Document) -> bool:
    """Merge another document. Of two times the later one counts, together with what was recorded then."""
    before = deepcopy(document)
    for account, bot in facts["bots"].items():
        old = document["bots"].get(account, {})
        first, then = (old, bot) if bot.get("seen", 0) >= old.get("seen", 0) else (bot, old)
        document["bots"][account] = first | then | {"open_ids": old.get("open_ids", {}) | bot.get("open_ids", {})}
    for sender, person in facts["people"].items():
        old = document["people"].get(sender, {})
        document["people"][sender] = old | person | {"ids": old.get("ids", {}) | person.get("ids", {})}
    for observer, known in facts["ids"].items():
        document["ids"][observer] = known | document["ids"].get(observer, {})
    for key, seen in facts["chats"].items():
        old = document["chats"].get(key, {})
        document["chats"][key] = old | {sender: max(at, old.get(sender, 0)) for sender, at in seen.items()}
    document["titles"] |= facts["titles"]
    for key, listed in facts["lists"].items():
        if listed["at"] >= document["lists"].get(key, {}).get("at", 0):
            document["lists"][key] = listed
    return document != before


def drop_person(document: Document, sender: str) -> bool:
    """Erase a person's name, ids and memberships."""
    names = {sender, *document["people"].get(sender, {}).get("ids", {}).values()}
    for known in document["ids"].values():
        names.update(open_id for open_id, owner in known.items() if owner == sender)
    dropped = [document["people"].pop(name, None) for name in names]
    for known in document["ids"].values():
        mine = [open_id for open_id, owner in known.items() if owner in names or open_id in names]
        dropped += [known.pop(open_id) for open_id in mine]
    for seen in document["chats"].values():
        dropped += [seen.pop(name, None) for name in names]
    for listed in document["lists"].values():
        dropped += [listed["people"].remove(name) or name for name in names if name in listed["people"]]
    return any(item is not None for item in dropped)
