"""Who is who in the groups of a store: names, ids under each app, bots' profiles, who was seen in which chat, and
what each chat is called.
"""

import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Final, TypeAlias
from weakref import WeakSet

from nanobot_transcript.entry import Ids, well_formed
from nanobot_transcript.platform import person_kinds
from nanobot_transcript.store.member_document import (
    SEEN_STEP_MS,
    Document,
    drop_person,
    drop_seen,
    empty,
    is_known,
    put_bot,
    put_facts,
    put_list,
    put_person,
    put_seen,
    put_title,
)
from nanobot_transcript.store.member_view import MemberView
from nanobot_transcript.unicode_text import on_one_line

__all__ = ["Change", "MemberDirectory"]

_LONGEST_TITLE: Final = 200

Change: TypeAlias = Callable[[Document], bool]
"""Changes the document; False when there is nothing to change."""


_directories: "WeakSet[MemberDirectory]" = WeakSet()


class MemberDirectory(MemberView, ABC):
    """Who is who, as one process knows it; a backend stores it. A ``remember_*`` that changes nothing costs no I/O.

    Each lookup first looks for news; ``view`` does so once for many.

    Also for event loops: a lookup never raises and never waits for a network, it answers with what this process knows.
    Changes may be written in the background. One that cannot be written raises StoreError kinds and stays in memory.
    """

    def __init__(self, *, now: Callable[[], float] = time.time) -> None:
        super().__init__(empty(), threading.RLock(), now=now)
        _directories.add(self)

    @abstractmethod
    def _refresh(self) -> None:
        """Bring ``_document`` up to date with other processes, as far as possible without waiting. Never raises."""

    def flush(self, timeout: float) -> bool:
        """Write what could not be written yet, within ``timeout`` seconds; False when something is still waiting.
        Raises StoreError kinds.
        """
        return True

    @abstractmethod
    def _change(self, change: Change) -> None:
        """Change ``_document`` and store the change. Raises StoreError kinds when it cannot be stored now."""

    def after_fork(self) -> None:
        """In a forked child: a thread of the parent may have held the mutex."""
        self._mutex = threading.RLock()

    def remember_bot(
        self,
        account: str,
        name: str,
        *,
        aliases: Iterable[str] = (),
        description: str = "",
        open_ids: Mapping[str, str] | None = None,
        alive: bool = True,
    ) -> None:
        """Record a bot's profile. Aliases and description replace the old ones; ``open_ids`` are added.

        ``alive`` says that the bot is running now; without it a silent bot stays silent.
        """
        account = well_formed(account)
        seen_as = {well_formed(observer): well_formed(open_id) for observer, open_id in (open_ids or {}).items()}
        profile = {"name": well_formed(name), "aliases": [well_formed(alias) for alias in aliases]}
        profile["description"] = well_formed(description)
        now = self._now_ms() if alive else None
        self._change(lambda document: put_bot(document, account, profile, seen_as, now))

    def remember_person(
        self, sender: str, name: str | None = None, ids: Ids | None = None, observer: str | None = None
    ) -> None:
        """Record what is known of a person; ``observer`` is the account that calls the person ``ids["open_id"]``.

        What is not given stays as it was.
        """
        ids = {kind: value for kind, value in (ids or {}).items() if value and kind in person_kinds()}
        if not sender or is_known(self._document, sender, name, ids, observer):
            return
        sender, name = well_formed(sender), well_formed(name) if name else None
        observer = well_formed(observer) if observer else None
        kept = {well_formed(kind): well_formed(value) for kind, value in ids.items()}
        self._change(lambda document: put_person(document, sender, name, kept, observer))

    def saw(self, session_key: str, sender: str) -> None:
        """Note that ``sender`` takes part in a chat now."""
        now = self._now_ms()
        last = self._document["chats"].get(session_key, {}).get(sender)
        if not sender or (last is not None and now - last < SEEN_STEP_MS):
            return
        session_key, sender = well_formed(session_key), well_formed(sender)
        self._change(lambda document: put_seen(document, session_key, sender, now))

    def left(self, session_key: str, sender: str) -> None:
        """Note that ``sender`` has left a chat."""
        if sender in self._document["chats"].get(session_key, {}):
            self._change(lambda document: drop_seen(document, session_key, sender))

    def remember_list(self, session_key: str, people: Mapping[str, str], kind: str, observer: str) -> None:
        """Record who is in a chat as its platform listed it to the account ``observer``: names by ids of this ``kind``.
        Whoever is not listed has left.
        """
        named = {well_formed(sender): on_one_line(well_formed(name), _LONGEST_TITLE) for sender, name in people.items()}
        session_key, now = well_formed(session_key), self._now_ms()
        self._change(lambda document: put_list(document, session_key, named, kind, observer, now))

    def is_listed(self, session_key: str, seconds: float) -> bool:
        """True when the people of a chat were listed within the last ``seconds``."""
        self._refresh()
        listed = self._document["lists"].get(session_key)
        return listed is not None and 0 <= self._now_ms() - listed["at"] < seconds * 1000

    def remember_chat(self, session_key: str, title: str) -> None:
        """Record what a chat is called, on one line and without invisible characters; an empty title changes
        nothing.
        """
        session_key, title = well_formed(session_key), on_one_line(well_formed(title), _LONGEST_TITLE)
        if title and self._document["titles"].get(session_key) != title:
            self._change(lambda document: put_title(document, session_key, title))

    def forget(self, sender: str) -> None:
        """Erase a person's name, ids and memberships. The profile of a bot stays; only its memberships go."""
        self._refresh()
        self._change(lambda document: drop_person(document, sender))

    def facts(self) -> Document:
        """Everything that is known, for moving it elsewhere. Raises StoreError kinds when it cannot be read."""
        self._refresh()
        with self._mutex:
            return {name: deepcopy(self._document[name]) for name in empty()}

    def take_in(self, facts: Document) -> None:
        """Merge what is known elsewhere; it counts as newer where nothing tells which is."""
        self._change(lambda document: put_facts(document, facts))

    def view(self) -> MemberView:
        """Who is who now, for many lookups; what others write later may be missing in it."""
        self._refresh()
        return MemberView(self._document, self._mutex, now=self._now)

    def _look(self) -> Document:
        self._refresh()
        return self._document


def _after_fork() -> None:
    for directory in list(_directories):
        directory.after_fork()


os.register_at_fork(after_in_child=_after_fork)
