"""The SDK at work on one connection over stdin, from the first message on that is for it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from nanobot_transcript.threads import in_thread
from transcript_mcp.sdk.backend import Backend, backend
from transcript_mcp.sdk.dispatch import Dispatch
from transcript_mcp.sdk.server import Server

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

__all__ = ["Session"]

_WINDING_UP = 0.25
"""Seconds that the SDK has to end what it holds."""


class Session:
    """``asked`` is called with the id of each request before the SDK has it; ``tell`` with each line that the SDK says,
    the id of the request that it answers, or None, and False where it refuses that.

    ``ended`` is set when the SDK has ended by itself, or ``tell`` has raised.
    """

    def __init__(
        self, server: Server, asked: Callable[[Any], None], tell: Callable[[bytes, Any, bool], Awaitable[None]]
    ) -> None:
        self._server = server
        self._asked = asked
        self._tell = tell
        self._sdk: Backend | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.ended = asyncio.Event()

    async def hear(self, line: bytes) -> None:
        """Hand a line to the SDK. Raises ValueError for what is no message."""
        sdk = self._sdk or await self._begin()
        message = sdk.decode(line)
        if (request_id := sdk.request_id(message)) is not None:
            self._asked(request_id)
        await self._to_server.send(message)

    async def end(self) -> None:
        """Let it wind up as it does when a client leaves. Raises what it has ended with by itself."""
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
        sdk = await in_thread(backend)  # an import of half a second: what is answered beside the SDK goes on
        import anyio  # the SDK has imported it

        self._to_server: MemoryObjectSendStream[Any]
        self._to_server, from_client = anyio.create_memory_object_stream[Any](0)
        to_client, from_server = anyio.create_memory_object_stream[Any](0)
        for work in (
            sdk.serve(Dispatch(self._server), from_client, to_client),
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
                await self._tell(sdk.encode(message), sdk.answered_id(message), not sdk.is_error(message))
