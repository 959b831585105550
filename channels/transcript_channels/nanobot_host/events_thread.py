"""Handles events in a thread, for a record that is reached over a network.

The SDK hands an event over on the event loop of its connection, and acknowledges it when that call returns. Waiting for
a network there would block everything else on that loop: pings, and the events behind. The SDK's internals that this
relies on were read in lark-oapi 1.5 to 1.7.
"""

import weakref
from asyncio import get_running_loop
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["take_events_in_a_thread"]

_SUM: Final = "sum"
_SEQ: Final = "seq"
_MESSAGE_ID: Final = "message_id"
_TYPE: Final = "type"
_EVENT: Final = "event"


def take_events_in_a_thread(client: Any) -> None:
    """Let a client of the SDK handle its events in a thread, one after the other; each is acknowledged as before."""
    handle, handler = client._handle_data_frame, client._event_handler
    take = getattr(handler, "_do_without_validation", None) or handler.do_without_validation  # 1.5 has the other name
    thread = ThreadPoolExecutor(1, "group-transcript-events")
    weakref.finalize(client, thread.shutdown, wait=False)

    async def handling(frame: Any) -> None:
        if _header(frame, _TYPE) != _EVENT:
            return await handle(frame)
        payload = _whole(client, frame)
        if payload is None:
            return None  # pieces are missing
        outcome = await get_running_loop().run_in_executor(thread, _taken, take, payload)
        # The SDK calls the handler before its first await, so no other event can come between these two lines.
        client._event_handler = _Known(outcome)
        return await handle(frame)

    client._handle_data_frame = handling


@dataclass(slots=True, eq=False)
class _Known:
    """Takes the place of the SDK's dispatcher once its outcome is known."""

    outcome: Callable[[], Any]

    def do_without_validation(self, payload: bytes) -> Any:
        """The answer of the real dispatcher; raises what that raised."""
        return self.outcome()

    _do_without_validation = do_without_validation


def _taken(take: Callable[[bytes], Any], payload: bytes) -> Callable[[], Any]:
    try:
        answer = take(payload)
    except Exception as error:  # noqa: BLE001 - the SDK logs it and answers 500, as if it had asked itself
        failure = error

        def fail() -> Any:
            raise failure

        return fail
    return lambda: answer


def _whole(client: Any, frame: Any) -> bytes | None:
    """The payload once all its pieces are there, else None. The frame is changed to have it as one piece, so that the
    SDK does not wait for the others again.
    """
    pieces = int(_header(frame, _SUM) or 1)
    if pieces > 1:
        combined = client._combine(_header(frame, _MESSAGE_ID), pieces, int(_header(frame, _SEQ)), frame.payload)
        if combined is None:
            return None
        frame.payload = combined
        for header in frame.headers:
            if header.key == _SUM:
                header.value = "1"
    return frame.payload


def _header(frame: Any, key: str) -> str:
    return next((header.value for header in frame.headers if header.key == key), "")
