"""What of lark-oapi is used, and how it is made to run on any event loop and to end.

The SDK keeps one event loop in ``lark_oapi.ws.client`` and gives its tasks to it. Here that name stands for the loop
that is running, so that each connection lives on its own. Only this module knows the SDK's inside; it was read in 1.5
to 1.7. Importing the SDK takes seconds and is left to the first connection.
"""

import asyncio
import gc
import logging
from collections.abc import Callable, Coroutine
from functools import cache
from typing import Any, Final

from transcript_channels.feishu.responses import decode

__all__ = ["Handler", "make_client"]

logger = logging.getLogger(__name__)

_CALLBACKS: Final = frozenset({"card.action.trigger", "url.preview.get"})
_MOST_PIECES: Final = 10_000
_PING: Final = (5, 120, 600)
"""Seconds between pings: the least, the usual, the most."""


class Handler:
    """Stands in the place of the SDK's dispatcher, which forgets fields it does not know and refuses unknown events."""

    def __init__(self, on_event: Callable[[dict[str, Any]], Any]) -> None:
        self._on_event: Callable[[dict[str, Any]], Any] = on_event

    def do_without_validation(self, payload: bytes) -> dict[str, Any] | None:
        """Hand an event over; what is no event is acknowledged and forgotten. Raises what ``on_event`` raises."""
        event = decode(payload)
        if event is None:
            logger.warning("The long connection brought %d bytes that are not an event", len(payload))
            return None
        try:
            answer = self._on_event(event)
        except Exception:
            logger.exception("An event could not be taken; Feishu will push it again")
            raise
        header = event.get("header")
        kind = header.get("event_type") if isinstance(header, dict) else None
        return answer if kind in _CALLBACKS and isinstance(answer, dict) else None

    _do_without_validation = do_without_validation


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
    """The SDK opens an event loop when it is imported outside of one, and would never close it."""
    if not loop.is_running() and not loop.is_closed():
        loop.close()


class _RunningLoop:
    """The event loop that is running, whichever that is."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def create_task(self, coroutine: "Coroutine[Any, Any, Any]", **options: Any) -> "asyncio.Task[Any]":
        task = asyncio.get_running_loop().create_task(coroutine, **options)
        self._tasks.add(task)  # the SDK keeps no reference, and a loop only weak ones
        task.add_done_callback(self._tasks.discard)
        return task

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio.get_event_loop(), name)


_RUNNING: Final = _RunningLoop()


@cache
def _sdk() -> tuple[Any, Any]:
    collects = gc.isenabled()
    gc.disable()  # the SDK imports ten thousand modules; looking for garbage among them takes a third of the time
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
            return self.url

        async def _receive_message_loop(self) -> None:
            self.receiving = asyncio.current_task()
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
            if not 0 <= seq < sum_ <= _MOST_PIECES:
                raise ValueError(f"piece {seq} of {sum_}")
            return super()._combine(msg_id, sum_, seq, bs)

        def _configure(self, conf: Any) -> None:
            super()._configure(conf)
            least, usual, most = _PING
            asked = self._ping_interval
            self._ping_interval = min(max(asked, least), most) if isinstance(asked, int) else usual

    return sdk, Client
