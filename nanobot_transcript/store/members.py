"""Who is who in the groups of a store: names, ids under each app, bots' profiles, who was seen in which chat, and
what each chat is called.

All processes share one file, ``<base_dir>/.state/members.json``:

    {"v": 1,
     "bots":   {app_id: {"name", "aliases", "description", "open_ids": {observing app_id: open_id},
                         "seen": last sign of life, ms, within a day}},
     "people": {sender: {"name", "ids": {"union_id", "user_id", "open_id"}}},
     "ids":    {observing app_id: {open_id: sender}},
     "chats":  {session_key: {sender: last seen, ms, within an hour}},
     "titles": {session_key: what the chat is called}}

A change that another process's lock holds up stays in memory and is written with the next one.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from weakref import WeakSet

from nanobot_transcript.entry import Ids, well_formed
from nanobot_transcript.errors import StoreError
from nanobot_transcript.files.document import Signature, Snapshot, StateFile
from nanobot_transcript.identity import agent_names
from nanobot_transcript.scripts import on_one_line
from nanobot_transcript.store.member_document import (
    PERSON_IDS,
    SEEN_STEP_MS,
    Document,
    Shape,
    drop_person,
    empty,
    is_known,
    is_silent,
    put_bot,
    put_person,
    put_seen,
    put_title,
)

__all__ = ["BotProfile", "Member", "MemberDirectory"]

logger = logging.getLogger(__name__)

_LOCK_TIMEOUT: Final = 0.1
_LONGEST_TITLE: Final = 200

_Change: TypeAlias = Callable[[Document], bool]


@dataclass(frozen=True, slots=True)
class BotProfile:
    """One bot: its app, the agent's name, other names, and its open id under each observing app.

    ``silent`` is set when it gave no sign of life for 30 days: then it claims no name any more.
    """

    app_id: str
    name: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    open_ids: Mapping[str, str] = field(default_factory=dict)
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody seen in a chat. ``name`` is what to show; ``last_seen_ms`` is kept to the hour."""

    sender: str
    name: str
    kind: Literal["human", "bot"]
    last_seen_ms: int


_directories: "WeakSet[MemberDirectory]" = WeakSet()


class MemberDirectory:
    """The members file of a store. Reading never creates anything; an unchanged ``remember_*`` costs no I/O.

    What is to be remembered and cannot be written raises StoreError kinds and stays in memory; looking up never raises.
    """

    def __init__(self, base_dir: str | Path, *, now: Callable[[], float] = time.time) -> None:
        self._now: Callable[[], float] = now
        self._file: StateFile = StateFile(Path(base_dir) / ".state", "members.json", version=1, shape=Shape)
        self._mutex: threading.RLock = threading.RLock()
        self._document: Document = empty()
        self._signature: Signature | None = None
        self._state: str = "absent"
        self._pending: list[_Change] = []
        self._unreadable = ""
        _directories.add(self)

    def after_fork(self) -> None:
        """In a forked child: another thread of the parent may have held the mutex."""
        self._mutex = threading.RLock()

    @property
    def path(self) -> Path:
        """Where the file lies (or will lie)."""
        return self._file.path

    def remember_bot(
        self,
        app_id: str,
        name: str,
        *,
        aliases: Iterable[str] = (),
        description: str = "",
        open_ids: Mapping[str, str] | None = None,
        alive: bool = True,
    ) -> None:
        """Record a bot's profile. Aliases and description replace the old ones; ``open_ids`` are added.

        ``alive`` says that the bot runs now; without it a bot that is silent stays so.
        """
        profile = {"name": well_formed(name), "aliases": [well_formed(alias) for alias in aliases]}
        profile["description"] = well_formed(description)
        now = self._now_ms() if alive else None
        self._change(lambda document: put_bot(document, app_id, profile, dict(open_ids or {}), now))

    def remember_person(
        self, sender: str, name: str | None = None, ids: Ids | None = None, app_id: str | None = None
    ) -> None:
        """Record what is known of a person; ``app_id`` is the app under which ``ids["open_id"]`` was seen.

        What is not given stays as it was.
        """
        if not sender or is_known(self._document, sender, name, ids, app_id):
            return
        sender, name = well_formed(sender), well_formed(name) if name else None
        kept = {kind: well_formed(value) for kind in PERSON_IDS if (value := (ids or {}).get(kind))}
        self._change(lambda document: put_person(document, sender, name, kept, app_id))

    def saw(self, session_key: str, sender: str) -> None:
        """Note that ``sender`` takes part in a chat, now."""
        now = self._now_ms()
        last = self._document["chats"].get(session_key, {}).get(sender)
        if not sender or (last is not None and now - last < SEEN_STEP_MS):
            return
        session_key, sender = well_formed(session_key), well_formed(sender)
        self._change(lambda document: put_seen(document, session_key, sender, now))

    def remember_chat(self, session_key: str, title: str) -> None:
        """Record what a chat is called, on one line and without characters that nobody sees; an empty title changes
        nothing.
        """
        session_key, title = well_formed(session_key), on_one_line(well_formed(title), _LONGEST_TITLE)
        if title and self._document["titles"].get(session_key) != title:
            self._change(lambda document: put_title(document, session_key, title))

    def ids_of(self, sender: str) -> frozenset[str]:
        """Everything by which a person was ever known: the stable sender, other ids, the open id of each app."""
        self._refresh()
        with self._mutex:
            own = set(self._document["people"].get(sender, {}).get("ids", {}).values())
            for known in self._document["ids"].values():
                own.update(open_id for open_id, owner in known.items() if owner == sender)
        return frozenset({sender, *own})

    def forget(self, sender: str) -> None:
        """Erase a person's name, ids and memberships. The profile of a bot stays; only its memberships go.

        Copies of the file that could not be understood are removed, because nobody can tell whom they name.
        """
        self._file.remove_broken()
        self._refresh()
        self._change(lambda document: drop_person(document, sender))

    def sender_for(self, app_id: str, open_id: str) -> str | None:
        """The stable sender behind an open id that ``app_id`` sees: of a person, or the name of a bot."""
        self._refresh()
        known = self._document["ids"].get(app_id, {}).get(open_id)
        if known is not None:
            return known
        bots = list(self._document["bots"].items())
        bot = next((bot_id for bot_id, bot in bots if bot.get("open_ids", {}).get(app_id) == open_id), None)
        return self._agent_names().get(bot) if bot is not None else None

    def name_of(self, sender: str) -> str | None:
        """What to call a sender: a person by stable sender, a bot by name or app id; None when unknown."""
        self._refresh()
        person = self._document["people"].get(sender)
        if person is not None and "name" in person:
            return person["name"]
        if sender in self._document["bots"]:
            return self._agent_names().get(sender)
        return sender if sender in self._bot_names() else None

    def senders_named(self, name: str) -> list[str]:
        """The stable senders of everybody who is called ``name``, upper and lower case alike."""
        self._refresh()
        wanted = name.casefold()
        with self._mutex:
            people = list(self._document["people"].items())
        found = [sender for sender, person in people if person.get("name", "").casefold() == wanted]
        return found + [bot for bot in sorted(self._bot_names()) if bot.casefold() == wanted]

    def bot_of(self, app_id: str) -> BotProfile | None:
        """The profile of one bot."""
        self._refresh()
        bot = self._document["bots"].get(app_id)
        return _profile(app_id, bot, self._now_ms()) if bot is not None else None

    def bots(self) -> list[BotProfile]:
        """All bots of the store, by name."""
        self._refresh()
        with self._mutex:
            profiles = [_profile(app_id, bot, self._now_ms()) for app_id, bot in self._document["bots"].items()]
        return sorted(profiles, key=lambda profile: (profile.name, profile.app_id))

    def of_chat(self, session_key: str) -> list[Member]:
        """Everybody seen in a chat, bots first, then by name."""
        self._refresh()
        with self._mutex:
            seen = list(self._document["chats"].get(session_key, {}).items())
        names = self._bot_names()
        members = [
            Member(sender, self.name_of(sender) or sender, "bot" if sender in names else "human", int(last))
            for sender, last in seen
        ]
        return sorted(members, key=lambda member: (member.kind, member.name, member.sender))

    def title_of(self, session_key: str) -> str | None:
        """What a chat is called; None when unknown."""
        self._refresh()
        return self._document["titles"].get(session_key)

    def _now_ms(self) -> int:
        return int(self._now() * 1000)

    def _agent_names(self) -> dict[str, str]:
        """By app id, what each bot is called: two that want one name are told apart, unless one of them is silent."""
        now = self._now_ms()
        with self._mutex:
            wanted = {app_id: bot["name"] for app_id, bot in self._document["bots"].items()}
            silent = {app_id for app_id, bot in self._document["bots"].items() if is_silent(bot, now)}
        return wanted | agent_names({app_id: name for app_id, name in wanted.items() if app_id not in silent})

    def _bot_names(self) -> set[str]:
        """The senders that are bots; a bot that spoke before another came with its name went by the bare one."""
        with self._mutex:
            wanted = {bot["name"] for bot in self._document["bots"].values()}
        return wanted | set(self._agent_names().values())

    def _change(self, change: _Change) -> None:
        with self._mutex:
            if self._state == "absent":
                self._refresh()
            if not change(self._document):
                return
            self._pending.append(change)
            self._flush()

    def _flush(self) -> None:
        with self._file.locked(_LOCK_TIMEOUT) as mine:
            if not mine:
                logger.debug("%s is locked; %d changes wait for the next one", self.path, len(self._pending))
                return
            changed = self._take(self._file.read())
            if self._state == "newer":
                return
            if self._state == "broken":
                self._file.move_aside()
            if changed:
                self._signature = self._file.write(self._document)
                self._state = "ok"
            self._pending.clear()

    def _refresh(self) -> None:
        try:
            signature = self._file.signature()
            if signature != self._signature:
                with self._mutex:
                    self._take(self._file.read())
            self._unreadable = ""
        except StoreError as error:
            # Names are not worth a message: who asks gets what this process knows.
            if str(error) != self._unreadable:
                logger.warning("members are known from memory only: %s %s", error, error.hint)
            self._unreadable = str(error)

    def _take(self, snapshot: Snapshot) -> bool:
        """Make what was read the present state, with the waiting changes on top; True when they change it."""
        if snapshot.state != self._state:
            self._report(snapshot.state)
        self._state, self._signature = snapshot.state, snapshot.signature
        if snapshot.state in ("newer", "broken"):
            return True  # what this process knows is all there is
        document = empty() | snapshot.document
        changed = [change(document) for change in self._pending]
        self._document = document
        return any(changed)

    def _report(self, state: str) -> None:
        if state == "newer":
            logger.warning("%s was written by a newer version; this process keeps members in memory only", self.path)
        elif state == "broken":
            logger.warning("%s cannot be understood; it will be built anew at the next change", self.path)


def _profile(app_id: str, bot: dict[str, Any], now: int) -> BotProfile:
    return BotProfile(
        app_id,
        bot["name"],
        tuple(bot.get("aliases", ())),
        bot.get("description", ""),
        dict(bot.get("open_ids", {})),
        is_silent(bot, now),
    )


def _after_fork() -> None:
    for directory in list(_directories):
        directory.after_fork()


os.register_at_fork(after_in_child=_after_fork)
