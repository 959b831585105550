"""Sends answers: whether one arrived, whether its client is still connected, and the JSON form of errors."""

import asyncio
import json
import re
from collections.abc import Callable
from typing import Final, Self

from aiohttp import web

from nanobot_transcript.errors import QueueFullError, StoreBusyError, StoreError, StoreFullError, TranscriptError

__all__ = [
    "CLIENT_GONE",
    "ClientLeftError",
    "HttpReceiver",
    "deliver",
    "error_response",
    "failure",
    "hand_over",
    "has_left",
    "takes_gzip",
]

CLIENT_GONE: Final = 499
"""nginx's status for a client that disconnected before the answer."""

_NEVER: Final = re.compile(r"q\s*=\s*0(\.0*)?")


def has_left(request: web.BaseRequest) -> bool:
    """True when the connection of a request is closed."""
    return request.transport is None or request.transport.is_closing()


def takes_gzip(request: web.BaseRequest) -> bool:
    """Whether Accept-Encoding allows gzip. aiohttp only looks for the word, and so ignores a refusal by ``q=0``."""
    for each in request.headers.get("Accept-Encoding", "").lower().split(","):
        coding, *parameters = (part.strip() for part in each.split(";"))
        if coding in ("gzip", "x-gzip"):
            return not any(_NEVER.fullmatch(parameter) for parameter in parameters)
    return False


class ClientLeftError(ConnectionResetError):
    """The client disconnected before it was answered."""

    def __init__(self) -> None:
        super().__init__("the client has left")


async def deliver(request: web.BaseRequest, response: web.StreamResponse) -> None:
    """Write an answer now, inside the handler. Raises ConnectionError when the client has disconnected."""
    if has_left(request):
        raise ClientLeftError
    await response.prepare(request)
    await response.write_eof()


async def hand_over(request: web.BaseRequest, response: web.Response, told: Callable[[bool], object]) -> web.Response:
    """Write an answer whose content is given away only once; ``told`` is called with whether it arrived. Raises
    ConnectionError.
    """
    arrived = False
    try:
        await deliver(request, response)
        arrived = True
    finally:
        told(arrived)
    return response


class HttpReceiver:
    """The client that waits for one answer (a ``Receiver`` of the sdk); use it as a context manager."""

    def __init__(self, request: web.Request) -> None:
        self._request = request
        self._hooks: list[Callable[[bool], None]] = []
        self._ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        self._tell(arrived=False)

    @property
    def is_gone(self) -> bool:
        """True when the connection is closed, or the request has ended."""
        return self._ended or has_left(self._request)

    def when_answered(self, hook: Callable[[bool], None]) -> None:
        """See ``Receiver``."""
        if self._ended:
            asyncio.get_running_loop().call_soon(hook, False)
        else:
            self._hooks.append(hook)

    def written(self) -> None:
        """A piece of the answer was written to the connection."""
        self._tell(arrived=True)

    async def sent(self, response: web.Response) -> web.Response:
        """The response, already written if a hook waits for the outcome. Raises ConnectionError."""
        # aiohttp writes what a handler returns after the handler has ended, when nobody could be told of a failure.
        if self._hooks:
            if self._ended:
                raise ClientLeftError
            await deliver(self._request, response)
            self.written()
        return response

    def _tell(self, *, arrived: bool) -> None:
        hooks, self._hooks = self._hooks, []
        for hook in hooks:
            hook(arrived)


_STATUS: Final = ((QueueFullError, 429), (StoreFullError, 507), (StoreError, 503))
"""HTTP status by error; every other error of ours is the caller's mistake, 400."""

_BUSY: Final = 5.0


def failure(error: TranscriptError) -> web.Response:
    """The answer to an error of ours, with its HTTP status and, if it helps to try again, ``Retry-After``."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 400)
    response = error_response(status, error.code, str(error), error.hint)
    later = error.retry_after if isinstance(error, QueueFullError) else _BUSY
    if isinstance(error, (QueueFullError, StoreBusyError)):
        response.headers["Retry-After"] = f"{later:.0f}"
    return response


def error_response(status: int, code: str, message: str, hint: str = "") -> web.Response:
    """``{"error": {code, message, hint}}``, not cached by browsers."""
    body = json.dumps({"error": {"code": code, "message": message, "hint": hint}}, ensure_ascii=False)
    headers = {"Cache-Control": "no-store"}
    return web.Response(status=status, text=body, content_type="application/json", headers=headers)
