"""Whether an answer reached its client's connection, for tools that hand something over only once."""

import asyncio
from collections.abc import Callable
from typing import Self

from aiohttp import web

from transcript_mcp.sdk.lines import has_left

__all__ = ["Receiving"]


class Receiving:
    """Who waits for the answer to one request (a ``Receiver`` of the sdk). It ends with the ``with`` block."""

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
        """True when the connection is closed, or the request was ended otherwise."""
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
        """The response; written already where somebody wants to know of it. Raises ConnectionError."""
        if self._hooks:
            if self.is_gone:
                raise ConnectionResetError("the client has left")
            await response.prepare(self._request)
            await response.write_eof()
            self.written()
        return response

    def _tell(self, *, arrived: bool) -> None:
        hooks, self._hooks = self._hooks, []
        for hook in hooks:
            hook(arrived)
