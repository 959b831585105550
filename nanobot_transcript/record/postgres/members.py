"""Who is who, in the database: a row for each fact, and a copy of all of them in each process.

On an event loop nothing waits: the copy answers, and a thread updates it and writes what is new.
"""

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from hashlib import blake2b
from typing import Any, Final

import msgspec

from nanobot_transcript.errors import StoreError
from nanobot_transcript.record.postgres.schema import RECORD
from nanobot_transcript.sql.outage import level_of
from nanobot_transcript.sql.postgres.engine import Connection, Engine
from nanobot_transcript.sql.postgres.listener import notify
from nanobot_transcript.sql.postgres.migrations import lock_number
from nanobot_transcript.store.member_document import Document, empty
from nanobot_transcript.store.members import Change, MemberDirectory

__all__ = ["PostgresMembers"]

logger = logging.getLogger(__name__)

_NESTED: Final = "ids"
"""The section whose facts are one level deeper: one account knows very many people."""
_OFTEN: Final = 0.1
"""Seconds between two updates on behalf of an event loop."""
_SOON, _LATEST = 0.5, 30.0

_NEWS: Final = "SELECT digest, edition, body FROM nanobot.members WHERE edition > %s ORDER BY edition"
_LOCK: Final = "SELECT pg_advisory_xact_lock(%s)"
_PUT: Final = """
INSERT INTO nanobot.members VALUES (%s, nextval('nanobot.editions'), %s)
ON CONFLICT (digest) DO UPDATE SET edition = nextval('nanobot.editions'), body = excluded.body
"""

_Path = tuple[str, ...]


class PostgresMembers(MemberDirectory):
    """``MemberDirectory`` in a database."""

    def __init__(self, engine: Engine, *, now: Callable[[], float] = time.time) -> None:
        super().__init__(now=now)
        self._engine: Engine = engine
        self._edition: int = 0
        self._known: Document = empty()
        """The facts in the database, up to ``_edition``."""
        self._paths: dict[bytes, _Path] = {}
        self._pending: list[Change] = []
        self._sync: threading.Lock = threading.Lock()
        """Held while talking to the database; lookups do not wait for it."""
        self._asked: float = 0.0
        self._busy: bool = False
        self._ended: threading.Event = threading.Event()
        self._unreadable: str = ""

    def facts(self) -> Document:
        """See ``MemberDirectory.facts``."""
        with self._sync:
            self._exchange()
        return super().facts()

    def flush(self, timeout: float) -> bool:
        """See ``MemberDirectory.flush``."""
        if not self._pending:
            return True
        if not self._sync.acquire(timeout=max(0.0, timeout)):
            return False
        try:
            self._exchange()
        finally:
            self._sync.release()
        return not self._pending

    def close(self) -> None:
        """Stop trying to write what could not be written. Any later use starts again."""
        self._ended.set()

    def after_fork(self) -> None:
        """See ``MemberDirectory.after_fork``."""
        super().after_fork()
        self._sync, self._busy, self._ended = threading.Lock(), False, threading.Event()

    def _refresh(self) -> None:
        if _on_a_loop():
            if time.monotonic() - self._asked > _OFTEN:
                self._in_background()
            return
        try:
            with self._sync:
                self._exchange()
            self._unreadable = ""
        except StoreError as error:
            # A message must not be lost for a name: the caller gets what this process knows.
            if str(error) != self._unreadable:
                logger.log(
                    level_of(error, logging.WARNING), "members are known from memory only: %s %s", error, error.hint
                )
            self._unreadable = str(error)

    def _change(self, change: Change) -> None:
        with self._mutex:
            if not change(self._document):
                return
            self._pending.append(change)
        if _on_a_loop():
            self._in_background()
            return
        try:
            with self._sync:
                self._exchange()
        except StoreError:
            self._in_background()  # the thread tries again
            raise

    def _in_background(self) -> None:
        """Have a thread do it."""
        self._asked = time.monotonic()
        with self._mutex:
            if self._busy:
                return
            self._busy = True
            self._ended.clear()
        threading.Thread(target=self._run, name="postgres-members", daemon=True).start()

    def _run(self) -> None:
        pause = _SOON
        while True:
            try:
                with self._sync:
                    self._exchange()
                pause, self._unreadable = _SOON, ""
            except StoreError as error:
                if str(error) != self._unreadable:
                    logger.log(
                        level_of(error, logging.WARNING), "members are known from memory only: %s %s", error, error.hint
                    )
                self._unreadable = str(error)
                if self._pending:
                    self._ended.wait(pause)
                    pause = min(2 * pause, _LATEST)
            with self._mutex:
                if not self._pending or self._ended.is_set():
                    self._busy = False
                    return

    def _exchange(self) -> None:
        """Read what is new in the database, and write what is new here."""
        if self._pending:
            self._engine.write(RECORD, self._put)
        else:
            rows = self._engine.read(RECORD, self._rows, None)
            with self._mutex:
                if rows is None:
                    self._start_over()
                elif rows:
                    self._take(rows)

    def _rows(self, connection: Connection) -> list[tuple[Any, ...]]:
        return connection.execute(self._engine.place.sql(_NEWS), (self._edition,)).fetchall()

    def _put(self, connection: Connection) -> None:
        place = self._engine.place
        with connection.transaction():
            # Under this lock editions are assigned in commit order. Otherwise a reader could see edition 8 before 7 is
            # committed, and never come back for 7.
            connection.execute(_LOCK, (lock_number(f"nanobot-transcript members {place.schema}"),))
            rows = self._rows(connection)
            with self._mutex:
                changes = list(self._pending)
                self._take(rows)
                for change in changes:
                    change(self._document)
                facts = {path: deepcopy(value) for path, value in _differing(self._known, self._document)}
            if facts:
                connection.cursor().executemany(place.sql(_PUT), [_row(path, value) for path, value in facts.items()])
                notify(connection, [place.channel("signal", "members")])
        with self._mutex:
            del self._pending[: len(changes)]
            for path, value in facts.items():
                _set(self._known, path, value)

    def _take(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Update the copy from these rows. Changes that wait to be written have to be applied again on top."""
        for digest, edition, body in rows:
            if body is None:
                path, value = self._paths.pop(bytes(digest), None), None
            else:
                *parts, value = msgspec.json.decode(body)
                path = self._paths[bytes(digest)] = tuple(parts)
            if path is not None:
                _set(self._known, path, value)
                _set(self._document, path, deepcopy(value))
            self._edition = edition

    def _start_over(self) -> None:
        """Start from nothing: the tables do not exist, or no longer."""
        if self._edition:
            self._document, self._known, self._edition = empty(), empty(), 0
            self._paths.clear()


def _differing(known: Document, document: Document, *above: str) -> Iterator[tuple[_Path, Any]]:
    """Each fact that differs in the second document, with its path; None where it is gone."""
    for name in known.keys() | document.keys():
        before, now = known.get(name), document.get(name)
        if before == now:
            continue
        if len(above) + 1 < _depth(name, above):
            yield from _differing(before or {}, now or {}, *above, name)
        else:
            yield (*above, name), now


def _depth(name: str, above: _Path) -> int:
    return 3 if (above[0] if above else name) == _NESTED else 2


def _set(document: Document, path: _Path, value: Any) -> None:
    *above, name = path
    at: dict[str, Any] = document
    for each in above:
        at = at.setdefault(each, {})
    if value is None:
        at.pop(name, None)
    else:
        at[name] = value


def _row(path: _Path, value: Any) -> tuple[bytes, bytes | None]:
    digest = blake2b(msgspec.json.encode(path), digest_size=16).digest()
    return digest, None if value is None else msgspec.json.encode([*path, value])


def _on_a_loop() -> bool:
    if "asyncio" not in sys.modules:  # importing this module must not load asyncio
        return False
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
