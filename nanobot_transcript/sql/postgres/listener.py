"""The one connection of a process that stays: what others tell is heard on it, and others see by it that we live."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from select import POLLIN, poll
from typing import Any, Final

import psycopg
from psycopg import sql

from nanobot_transcript.errors import StoreError
from nanobot_transcript.sql.outage import level_of
from nanobot_transcript.sql.postgres.address import DatabaseAddress
from nanobot_transcript.sql.postgres.errors import typed
from nanobot_transcript.sql.postgres.poolers import refuse_shared

__all__ = ["Heard", "Listener", "hang_up", "notify"]

logger = logging.getLogger(__name__)

Heard = Callable[[str | None], object]
"""Called in the listener's thread with what was told (its payload); None when something may have passed unheard."""

Standing = Callable[["psycopg.Connection[Any]"], object]
"""Called in the listener's thread with the connection."""

_LOOKS: Final = 5.0
"""Seconds between two looks at whether the connection still stands."""
_SOON, _LATEST = 0.2, 2.0
"""Seconds until it is connected again: at first, and at the most."""
_ENDS: Final = 1.0
"""Seconds that the thread has to end by itself, before its connection is cut, and then once more."""


_NOTIFY: Final = "SELECT pg_notify(channel, '') FROM unnest(%s::text[]) AS channel"


def notify(connection: "psycopg.Connection[Any]", channels: Iterable[str]) -> None:
    """Have all who listen on these channels, in any process, look for news when the transaction is committed."""
    connection.execute(_NOTIFY, (list(channels),))


class Listener:
    """Connects when somebody first listens or holds, and again whenever it is cut off. For any thread."""

    def __init__(self, place: DatabaseAddress) -> None:
        self._place: DatabaseAddress = place
        self._mutex: threading.RLock = threading.RLock()
        self._heard: dict[str, list[Heard]] = {}
        self._standing: list[Standing] = []
        self._line: _Line | None = None
        self._of_parents: list[object] = []
        """Not even to be closed here."""

    @property
    def failure(self) -> StoreError | None:
        """Why there is no connection now."""
        line = self._line
        return line.failure if line is not None and not line.connected else None

    @contextmanager
    def listening(self, channel: str, heard: Heard) -> Iterator[None]:
        """Call ``heard`` for each notification on a channel (at most 63 bytes), and with None when from then on nothing
        is missed.
        """
        with self._mutex:
            self._heard.setdefault(channel, []).append(heard)
            self._rouse(heard=channel)
        try:
            yield
        finally:
            with self._mutex:
                mine = self._heard.get(channel, [])
                if heard in mine:  # not so in a forked child
                    mine.remove(heard)
                if not mine:
                    self._heard.pop(channel, None)

    @contextmanager
    def holding(self, done: Standing) -> Iterator[None]:
        """Call ``done`` on each new connection and every few seconds, as to take a lock of the session and renew it."""
        with self._mutex:
            self._standing.append(done)
            self._rouse()
        try:
            yield
        finally:
            with self._mutex:
                if done in self._standing:  # not so in a forked child
                    self._standing.remove(done)

    def close(self) -> None:
        """Cut the connection. It is made again when somebody listens or holds anew."""
        with self._mutex:
            line, self._line = self._line, None
        if line is not None:
            line.end()

    def renew(self) -> None:
        """Cut the connection, which ends what was held on it, and make another one where somebody needs one."""
        self.close()
        with self._mutex:
            if self._heard or self._standing:
                self._rouse()

    def after_fork(self) -> None:
        """In a forked child: the thread and the connection are the parent's."""
        self._mutex = threading.RLock()
        self._of_parents.append(self._line)
        self._heard, self._standing, self._line = {}, [], None

    def channels(self) -> set[str]:
        """What is listened to now."""
        with self._mutex:
            return set(self._heard)

    def tell(self, channel: str, payload: str | None) -> None:
        """Hand on what was heard."""
        with self._mutex:
            heard = list(self._heard.get(channel, ()))
        for each in heard:
            try:
                each(payload)
            except Exception:
                logger.exception("What was told on %s was not taken", channel)

    def stand(self, connection: "psycopg.Connection[Any]") -> None:
        """Do what is to be done now and then."""
        with self._mutex:
            standing = list(self._standing)
        for done in standing:
            done(connection)

    def _rouse(self, heard: str = "") -> None:
        if self._line is None or self._line.ended:
            self._line = _Line(self, self._place)
        self._line.rouse(heard)


class _Line:
    """One thread with the connection, as long as it is wanted."""

    def __init__(self, listener: Listener, place: DatabaseAddress) -> None:
        self.connected: bool = False
        self.failure: StoreError | None = None
        """Why there was no connection the last time."""
        self.ended: bool = False
        self._connection: psycopg.Connection[Any] | None = None
        self._listener: Listener = listener
        self._place: DatabaseAddress = place
        self._awake, self._rouse = os.pipe()
        os.set_blocking(self._rouse, False)
        self._mutex: threading.Lock = threading.Lock()
        self._anew: set[str] = set()
        """Channels that somebody new listens to."""
        self._thread: threading.Thread = threading.Thread(target=self._run, name="postgres-listener", daemon=True)
        self._thread.start()

    def rouse(self, channel: str = "") -> None:
        with self._mutex:
            if channel:
                self._anew.add(channel)
            if not self.ended:
                with suppress(BlockingIOError):  # it has enough to read already
                    os.write(self._rouse, b"x")

    def end(self) -> None:
        with self._mutex:
            if not self.ended:
                self.ended = True
                with suppress(BlockingIOError):
                    os.write(self._rouse, b"x")
        if self._thread is threading.current_thread():
            return
        self._thread.join(_ENDS)
        with self._mutex:
            if self._connection is not None:  # it waits for a server that stands still
                hang_up(self._connection)
        self._thread.join(_ENDS)

    def _run(self) -> None:
        pause = _SOON
        while not self.ended:
            try:
                with self._connected() as connection:
                    self.connected, pause = True, _SOON
                    self._serve(connection)
            except (psycopg.Error, StoreError) as error:
                if not self.ended:
                    self._failed(error, is_first=pause == _SOON)
            except Exception:
                logger.exception("What is told by other processes could not be heard")
            finally:
                self.connected = False
            self._rest(pause)
            pause = min(2 * pause, _LATEST)
        with self._mutex:
            os.close(self._awake)
            os.close(self._rouse)

    def _failed(self, error: psycopg.Error | StoreError, *, is_first: bool) -> None:
        place = self._place
        told = error if isinstance(error, StoreError) else typed(error, place, direct=True)
        self.failure = found = told
        said = "Nothing is heard from other processes until it is connected again: %s %s"
        # Once each time it is cut off; where all lead to the same server, the other connections say it.
        level = logging.WARNING if place.pooled else level_of(found, logging.WARNING)
        level = level if is_first else logging.DEBUG
        logger.log(level, said, found, found.hint)

    def _rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self.ended and (left := until - time.monotonic()) > 0:
            if _ready(left, self._awake):
                os.read(self._awake, 4096)

    @contextmanager
    def _connected(self) -> "Iterator[psycopg.Connection[Any]]":
        conninfo = self._place.direct_conninfo
        made = psycopg.Connection.connect(conninfo, autocommit=True, prepare_threshold=None)
        with self._mutex:
            self._connection = made
        try:
            refuse_shared(made, conninfo, self._place.direct_name)
            yield made
        finally:
            with self._mutex:
                self._connection = None
                made.close()

    def _serve(self, connection: "psycopg.Connection[Any]") -> None:
        listened: set[str] = set()
        looked = -_LOOKS
        while not self.ended:
            listened = self._bring_up(connection, listened)
            if time.monotonic() - looked >= _LOOKS:
                connection.execute("SELECT 1")  # notices when the other end is gone
                self._listener.stand(connection)
                looked = time.monotonic()
            for told in list(connection.notifies(timeout=0)):
                self._listener.tell(told.channel, told.payload)
            if self._awake in _ready(_LOOKS, connection.fileno(), self._awake):
                os.read(self._awake, 4096)
                looked = -_LOOKS

    def _bring_up(self, connection: "psycopg.Connection[Any]", listened: set[str]) -> set[str]:
        with self._mutex:
            anew, self._anew = self._anew, set()
        wanted = self._listener.channels()
        for channel in listened - wanted:
            connection.execute(sql.SQL("UNLISTEN {}").format(sql.Identifier(channel)))
        for channel in wanted - listened:
            connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
        for channel in (wanted - listened) | (anew & wanted):
            self._listener.tell(channel, None)
        return wanted


def hang_up(connection: "psycopg.Connection[Any]") -> None:
    """Have whoever waits for an answer on it see that there will be none. For any thread, while it is not closed."""
    with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


def _ready(seconds: float, *descriptors: int) -> set[int]:
    """Those from which something can be read, as soon as there is one. ``select`` takes none above 1024."""
    looking = poll()
    for descriptor in descriptors:
        looking.register(descriptor, POLLIN)
    return {descriptor for descriptor, _ in looking.poll(seconds * 1000)}
