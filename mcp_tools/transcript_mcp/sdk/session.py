"""Runs the SDK on one connection over stdin, started at the first message that needs it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nanobot_transcript.threads import in_thread
from transcript_mcp.sdk.backend import Backend, backend
from transcript_mcp.sdk.dispatch import Dispatch
from transcript_mcp.sdk.server import Server

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

__all__ = ["Session"]

_WINDING_UP = 0.25
"""Seconds that the SDK gets to end its tasks."""


@dataclass(eq=False)
class Session:
    """One connection. ``asked`` is called with the id of each request before the SDK gets it. ``tell`` is called with
    each line from the SDK, the id of the request that it answers (or None), and False if the answer is an error.

    ``ended`` is set when the SDK has ended by itself, or ``tell`` has raised.
    """

    server: Server
    asked: Callable[[Any], None]
    tell: Callable[[bytes, Any, bool], Awaitable[None]]
    _sdk: Backend | None = field(default=None, init=False)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list, init=False)
    ended: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    async def hear(self, line: bytes) -> None:
        """Pass a line to the SDK. Raises ValueError for a line that is no message."""
        sdk = self._sdk or await self._begin()
        message = sdk.decode(line)
        if (request_id := sdk.request_id(message)) is not None:
            self.asked(request_id)
        await self._to_server.send(message)

    async def end(self) -> None:
        """Stop the SDK as if the client had left. Raises the error with which it ended by itself, if any."""
        if self._sdk is None:
            return
        serving = self._tasks[0]
        failure = serving.exception() if serving.done() else None
        self._to_server.close()
        await asyncio.wait(self._tasks, timeout=_WINDING_UP)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if failure is not None:
            raise failure

    async def _begin(self) -> Backend:
        sdk = await in_thread(backend)  # half a second of import; requests that bypass the SDK are answered meanwhile
        import anyio  # now cheap: the SDK has imported it

        self._to_server: MemoryObjectSendStream[Any]
        self._to_server, from_client = anyio.create_memory_object_stream[Any](0)
        to_client, from_server = anyio.create_memory_object_stream[Any](0)
        for work in (
            sdk.serve(Dispatch(self.server), from_client, to_client),
            self._write(sdk, from_server),
        ):
            task = asyncio.create_task(work)
            task.add_done_callback(lambda _: self.ended.set())
            self._tasks.append(task)
        self._sdk = sdk
        return sdk

    async def _write(self, sdk: Backend, from_server: "MemoryObjectReceiveStream[Any]") -> None:
        async with from_server:
            async for message in from_server:
                await self.tell(sdk.encode(message), sdk.answered_id(message), not sdk.is_error(message))
