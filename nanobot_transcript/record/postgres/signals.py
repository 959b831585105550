"""Signals through NOTIFY, received on the permanent connection of a process."""

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial

from nanobot_transcript.coordination.contract import Ear
from nanobot_transcript.errors import StoreError
from nanobot_transcript.sql.postgres.engine import Engine
from nanobot_transcript.sql.postgres.listener import notify

__all__ = ["PostgresSignals"]

logger = logging.getLogger(__name__)


class PostgresSignals:
    """``Signals`` in a database. ``tell`` leaves the sending to a thread, which combines repeated signals."""

    def __init__(self, engine: Engine) -> None:
        self._engine: Engine = engine
        self._mutex: threading.Lock = threading.Lock()
        self._told: set[str] = set()
        self._busy: bool = False

    @contextmanager
    def listen(self, *names: str) -> Iterator[Ear]:
        """See ``Signals.listen``."""
        ear = _Ear()
        with ExitStack() as stack:
            for name in names:
                channel = self._engine.place.channel("signal", name)
                stack.enter_context(self._engine.listener.listening(channel, partial(ear.told, name)))
            yield ear

    def tell(self, name: str) -> None:
        """See ``Signals.tell``."""
        with self._mutex:
            self._told.add(self._engine.place.channel("signal", name))
            if self._busy:
                return
            self._busy = True
        threading.Thread(target=self._tell, name="postgres-signals", daemon=True).start()

    def after_fork(self) -> None:
        """In a forked child: the sending thread is the parent's."""
        self._mutex, self._told, self._busy = threading.Lock(), set(), False

    def _tell(self) -> None:
        while True:
            with self._mutex:
                told, self._told = self._told, set()
                if not told:
                    self._busy = False
                    return
            try:
                with self._engine.connection() as connection:
                    notify(connection, told)
            except StoreError as error:  # listeners look again after a while anyway
                logger.debug("%d signals were not sent: %s", len(told), error)


class _Ear:
    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self._names: set[str] = set()
        self._woken: asyncio.Event = asyncio.Event()

    async def wait(self, timeout: float) -> frozenset[str]:  # noqa: ASYNC109 - its end is no error
        """See ``Ear.wait``."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._woken.wait()
        names, self._names = frozenset(self._names), set()
        self._woken.clear()
        return names

    def told(self, name: str, _: str | None) -> None:
        """In the listener's thread."""
        with suppress(RuntimeError):  # the loop is closed: nobody is waiting
            self._loop.call_soon_threadsafe(self._wake, name)

    def _wake(self, name: str) -> None:
        self._names.add(name)
        self._woken.set()
