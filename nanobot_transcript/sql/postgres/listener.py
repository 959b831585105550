"""The permanent connection of a process: it receives notifications, and holds the lock by which others see that the
process is alive.
"""

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
"""Called in the listener's thread with the payload; None when notifications may have been missed."""

Standing = Callable[["psycopg.Connection[Any]"], object]
"""Called in the listener's thread with the connection."""

_LOOKS: Final = 5.0
"""Seconds between two checks of the connection."""
_SOON, _LATEST = 0.2, 2.0
"""Seconds until it reconnects: at first, and at most."""
_ENDS: Final = 1.0
"""Seconds for the thread to end by itself before its connection is cut, and once more after that."""


_NOTIFY: Final = "SELECT pg_notify(channel, '') FROM unnest(%s::text[]) AS channel"


def notify(connection: "psycopg.Connection[Any]", channels: Iterable[str]) -> None:
    """Notify all who listen on these channels, in any process, when the transaction is committed."""
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
        """Connections of a forked child's parent; must not even be closed here."""

    @property
    def failure(self) -> StoreError | None:
        """Why there is no connection now."""
        line = self._line
        return line.failure if line is not None and not line.connected else None

    @contextmanager
    def listening(self, channel: str, heard: Heard) -> Iterator[None]:
        """Call ``heard`` for each notification on a channel (at most 63 bytes), and with None each time from when
        nothing is missed again.
        """
        with self._mutex:
            self._heard.setdefault(channel, []).append(heard)
            self._rouse(heard=channel)
        try:
            yield
        finally:
            with self._mutex:
                mine = self._heard.get(channel, [])
                if heard in mine:  # it is not there in a forked child
                    mine.remove(heard)
                if not mine:
                    self._heard.pop(channel, None)

    @contextmanager
    def holding(self, done: Standing) -> Iterator[None]:
        """Call ``done`` on each new connection and every few seconds, for example to take a session lock and
        renew it.
        """
        with self._mutex:
            self._standing.append(done)
            self._rouse()
        try:
            yield
        finally:
            with self._mutex:
                if done in self._standing:  # it is not there in a forked child
                    self._standing.remove(done)

    def close(self) -> None:
        """Close the connection. It opens again when somebody listens or holds again."""
        with self._mutex:
            line, self._line = self._line, None
        if line is not None:
            line.end()

    def renew(self) -> None:
        """Close the connection, which ends locks held on it, and open a new one if somebody needs it."""
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
        """The channels listened to now."""
        with self._mutex:
            return set(self._heard)

    def tell(self, channel: str, payload: str | None) -> None:
        """Pass on a notification."""
        with self._mutex:
            heard = list(self._heard.get(channel, ()))
        for each in heard:
            try:
                each(payload)
            except Exception:
                logger.exception("Handling a notification on %s failed", channel)

    def stand(self, connection: "psycopg.Connection[Any]") -> None:
        """Do the periodic work of ``holding``."""
        with self._mutex:
            standing = list(self._standing)
        for done in standing:
            done(connection)

    def _rouse(self, heard: str = "") -> None:
        if self._line is None or self._line.ended:
            self._line = _Line(self, self._place)
        self._line.rouse(heard)


class _Line:
    """One thread with the connection, as long as it is needed."""

    def __init__(self, listener: Listener, place: DatabaseAddress) -> None:
        self.connected: bool = False
        self.failure: StoreError | None = None
        """Why the last attempt to connect failed."""
        self.ended: bool = False
        self._connection: psycopg.Connection[Any] | None = None
        self._listener: Listener = listener
        self._place: DatabaseAddress = place
        self._awake, self._rouse = os.pipe()
        os.set_blocking(self._rouse, False)
        self._mutex: threading.Lock = threading.Lock()
        self._anew: set[str] = set()
        """Channels with a new listener."""
        self._thread: threading.Thread = threading.Thread(target=self._run, name="postgres-listener", daemon=True)
        self._thread.start()

    def rouse(self, channel: str = "") -> None:
        with self._mutex:
            if channel:
                self._anew.add(channel)
            if not self.ended:
                with suppress(BlockingIOError):  # the pipe is full, so the thread is going to wake anyway
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
            if self._connection is not None:  # it waits for a server that does not answer
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
                logger.exception("The listener for notifications of other processes failed")
            finally:
                self.connected = False
            self._rest(pause)
            pause = min(2 * pause, _LATEST)
        with self._mutex:
            # Under the mutex, so that ``rouse`` never writes to a closed descriptor, whose number may be in use again.
            os.close(self._awake)
            os.close(self._rouse)

    def _failed(self, error: psycopg.Error | StoreError, *, is_first: bool) -> None:
        place = self._place
        told = error if isinstance(error, StoreError) else typed(error, place, direct=True)
        self.failure = found = told
        said = "Nothing is heard from other processes until it is connected again: %s %s"
        # Once per interruption. Without a pooler all connections reach the same server, and the others log the outage.
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
                connection.execute("SELECT 1")  # fails when the other end is gone
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
        # Only after LISTEN: whatever was notified before is lost, so each listener has to look once from now on.
        for channel in (wanted - listened) | (anew & wanted):
            self._listener.tell(channel, None)
        return wanted


def hang_up(connection: "psycopg.Connection[Any]") -> None:
    """Shut the socket down, so that a thread waiting on the connection sees its end. For any thread, while it is not
    closed.
    """
    with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


def _ready(seconds: float, *descriptors: int) -> set[int]:
    """The descriptors that can be read, as soon as there is one. (``poll``: ``select`` takes none above 1024.)"""
    looking = poll()
    for descriptor in descriptors:
        looking.register(descriptor, POLLIN)
    return {descriptor for descriptor, _ in looking.poll(seconds * 1000)}
