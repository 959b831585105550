"""The one connection of a process that stays: what others tell is heard on it, and others see by it that we live."""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from select import select
from typing import Any, Final

import psycopg
from psycopg import sql

from nanobot_transcript.sql.postgres.failures import typed
from nanobot_transcript.sql.postgres.place import Place

__all__ = ["Heard", "Listener"]

logger = logging.getLogger(__name__)

Heard = Callable[[str | None], object]
"""Called in the listener's thread with what was told (its payload); None when something may have passed unheard."""

Standing = Callable[["psycopg.Connection[Any]"], object]
"""Called in the listener's thread with the connection."""

_LOOKS: Final = 5.0
"""Seconds between two looks at whether the connection still stands."""
_SOON, _LATEST = 0.2, 5.0
"""Seconds until it is connected again: at first, and at the most."""


class Listener:
    """Connects when somebody first listens or holds, and again whenever it is cut off. For any thread."""

    def __init__(self, place: Place) -> None:
        self._place: Place = place
        self._mutex: threading.RLock = threading.RLock()
        self._heard: dict[str, list[Heard]] = {}
        self._standing: list[Standing] = []
        self._line: _Line | None = None

    @property
    def connected_for(self) -> float | None:
        """Seconds since the connection was made; None while there is none."""
        line = self._line
        since = line.since if line is not None else None
        return None if since is None else time.monotonic() - since

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
                mine = self._heard[channel]
                mine.remove(heard)
                if not mine:
                    del self._heard[channel]

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
                self._standing.remove(done)

    def close(self) -> None:
        """Cut the connection. It is made again when somebody listens or holds anew."""
        with self._mutex:
            line, self._line = self._line, None
        if line is not None:
            line.end()

    def after_fork(self) -> None:
        """In a forked child: the thread and the connection are the parent's."""
        self._mutex = threading.RLock()
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

    def __init__(self, listener: Listener, place: Place) -> None:
        self.since: float | None = None
        self.ended: bool = False
        self._listener: Listener = listener
        self._place: Place = place
        self._awake, self._rouse = os.pipe()
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
                os.write(self._rouse, b"x")

    def end(self) -> None:
        with self._mutex:
            if not self.ended:
                self.ended = True
                os.write(self._rouse, b"x")
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        pause = _SOON
        while not self.ended:
            try:
                with self._connected() as connection:
                    self.since, pause = time.monotonic(), _SOON
                    self._serve(connection)
            except psycopg.Error as error:
                if not self.ended:
                    level = logging.WARNING if pause == _SOON else logging.DEBUG  # once each time it is cut off
                    told = typed(error, self._place.name)
                    logger.log(level, "Nothing is heard from other processes until it is connected again: %s", told)
                    self._rest(pause)
                    pause = min(2 * pause, _LATEST)
            finally:
                self.since = None
        with self._mutex:
            os.close(self._awake)
            os.close(self._rouse)

    def _rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self.ended and (left := until - time.monotonic()) > 0:
            if select([self._awake], [], [], left)[0]:
                os.read(self._awake, 4096)

    def _connected(self) -> "psycopg.Connection[Any]":
        return psycopg.Connection.connect(self._place.direct_conninfo, autocommit=True, prepare_threshold=None)

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
            if self._awake in select([connection.fileno(), self._awake], [], [], _LOOKS)[0]:
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
