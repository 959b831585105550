"""Runs lark-oapi's client of the long connection on any event loop, in a way that it can be stopped.

The SDK creates its tasks on one event loop, the global ``loop`` of ``lark_oapi.ws.client``. Here a stand-in for
whichever loop is running replaces that global, so that each connection runs on its own. Only this module relies on the
SDK's internals; they were read in 1.5 to 1.7. Importing the SDK takes seconds and is left to the first connection.
"""

import asyncio
import gc
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from transcript_channels.feishu.events import CALLBACKS
from transcript_channels.feishu.responses import decode

__all__ = ["Handler", "make_client"]

logger = logging.getLogger(__name__)

_MOST_PIECES: Final = 10_000
_PING: Final = (5, 120, 600)
"""Seconds between pings: the least, the usual, the most."""


@dataclass(slots=True, eq=False)
class Handler:
    """Takes the place of the SDK's dispatcher, which drops fields that it does not know and refuses unknown events."""

    on_event: Callable[[dict[str, Any]], Any]

    def do_without_validation(self, payload: bytes) -> dict[str, Any] | None:
        """Hand an event over, and return the answer to a callback. What is no event is acknowledged and dropped. Raises
        what ``on_event`` raises: the SDK then answers 500, and the platform pushes the event again.
        """
        event = decode(payload)
        if event is None:
            logger.warning("The long connection brought %d bytes that are not an event", len(payload))
            return None
        try:
            answer = self.on_event(event)
        except Exception:
            logger.exception("An event could not be handled; Feishu will push it again")
            raise
        header = event.get("header")
        kind = header.get("event_type") if isinstance(header, dict) else None
        return answer if kind in CALLBACKS and isinstance(answer, dict) else None

    _do_without_validation = do_without_validation  # its name in newer versions of the SDK


def make_client(app_id: str, app_secret: str, base_url: str, handler: Handler) -> Any:
    """A client of the SDK; made and used inside one running event loop. Imports the SDK."""
    sdk, kind = _sdk()
    if sdk.loop is not _RUNNING:
        _close_idle(sdk.loop)
        sdk.loop = _RUNNING
    return kind(
        app_id,
        app_secret,
        event_handler=handler,
        domain=base_url,
        auto_reconnect=False,
        log_level=sdk.LogLevel.CRITICAL,  # it writes to stdout, payloads included; we log ourselves
    )


def _close_idle(loop: Any) -> None:
    """The SDK creates an event loop when it is imported outside of one, and would never close it."""
    if not loop.is_running() and not loop.is_closed():
        loop.close()


class _RunningLoop:
    """Stands for whichever event loop is running."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def create_task(self, coroutine: "Coroutine[Any, Any, Any]", **options: Any) -> "asyncio.Task[Any]":
        task = asyncio.get_running_loop().create_task(coroutine, **options)
        self._tasks.add(task)  # the SDK keeps no reference and a loop only a weak one: the task could be collected
        task.add_done_callback(self._tasks.discard)
        return task

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio.get_event_loop(), name)


_RUNNING: Final = _RunningLoop()


@cache
def _sdk() -> tuple[Any, Any]:
    collects = gc.isenabled()
    gc.disable()  # the SDK imports ten thousand modules; collecting garbage meanwhile takes a third of the time
    try:
        import lark_oapi.ws.client as sdk
    finally:
        if collects:
            gc.enable()

    class Client(sdk.Client):
        """``url``: where to connect. ``ended``: set when the connection is gone."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.url = ""
            self.ended = asyncio.Event()
            self.receiving: asyncio.Task[Any] | None = None
            self.handling: set[asyncio.Task[Any]] = set()

        def _get_conn_url(self) -> str:
            return self.url  # the SDK would ask for it with a blocking request that has no timeout

        async def _receive_message_loop(self) -> None:
            self.receiving = asyncio.current_task()  # the SDK cannot end this task; `LongConnection` cancels it
            try:
                await super()._receive_message_loop()
            except Exception as error:
                logger.info("A long connection was lost: %s", error)
                logger.debug("how it was lost", exc_info=True)
            finally:
                self.ended.set()

        async def _handle_message(self, msg: Any) -> None:
            task = asyncio.current_task()
            assert task is not None
            self.handling.add(task)
            try:
                await super()._handle_message(msg)
            finally:
                self.handling.discard(task)

        def _combine(self, msg_id: str, sum_: int, seq: int, bs: bytes) -> bytes | None:
            if not 0 <= seq < sum_ <= _MOST_PIECES:  # the SDK would make a list of whatever length it is told
                raise ValueError(f"piece {seq} of {sum_}")
            return super()._combine(msg_id, sum_, seq, bs)

        def _configure(self, conf: Any) -> None:
            super()._configure(conf)
            least, usual, most = _PING  # the SDK takes any interval that the platform sends, zero included
            asked = self._ping_interval
            self._ping_interval = min(max(asked, least), most) if isinstance(asked, int) else usual

    return sdk, Client
