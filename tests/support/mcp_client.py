"""The SDK's own client, whichever SDK is installed, with answers as plain objects of the protocol."""

import sys
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from anyio import BrokenResourceError
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from support.needs import lacks

__all__ = ["SDK", "SERVER", "SdkClient", "connected", "needs_sdk_2", "wire"]

SDK = int(version("mcp").partition(".")[0])
"""The generation of the installed SDK."""

needs_sdk_2 = pytest.mark.skipif(SDK < 2, reason=lacks("the protocol of 2026-07-28 needs SDK 2", "make test-mcp2"))

SERVER = [sys.executable, str(Path(__file__).with_name("mcp_server.py"))]
"""The command of the test server."""

Wire = dict[str, Any]


def wire(value: Any) -> Wire:
    """A typed object as it stands on the wire."""
    return value.model_dump(by_alias=True, mode="json", exclude_none=True)


class SdkClient:
    """A connected session. ``heard`` are the notifications so far, as (method, params)."""

    def __init__(self, session: ClientSession, heard: list[tuple[str, Wire]], begun: Wire) -> None:
        self.session = session
        self.heard = heard
        self.begun = begun

    async def call(self, tool: str, /, **arguments: Any) -> Wire:
        """Call a tool."""
        return wire(await self.session.call_tool(tool, arguments))

    async def text(self, tool: str, /, **arguments: Any) -> str:
        """The text of a tool's answer."""
        return "\n".join(block["text"] for block in (await self.call(tool, **arguments))["content"])

    async def read(self, uri: str) -> Wire:
        """Read a resource."""
        return wire(await self.session.read_resource(_uri(uri)))

    async def subscribe(self, uri: str) -> None:
        """Subscribe to a resource."""
        with warnings.catch_warnings(action="ignore"):  # SDK 2 has newer ways, which older servers do not know
            await self.session.subscribe_resource(_uri(uri))

    async def unsubscribe(self, uri: str) -> None:
        """End a subscription."""
        with warnings.catch_warnings(action="ignore"):
            await self.session.unsubscribe_resource(_uri(uri))

    def methods(self) -> list[str]:
        """What the notifications so far were about."""
        return [method for method, _ in self.heard]


@asynccontextmanager
async def connected(
    target: str | list[str],
    *,
    elicit: Callable[[str], Wire | Awaitable[Wire]] | None = None,
    sample: Callable[[str], str] | None = None,
    http_client: Any = None,
) -> AsyncIterator[SdkClient]:
    """A client of the server at a URL, or of the one that a command starts."""
    heard: list[tuple[str, Wire]] = []

    async def note(message: Any) -> None:
        notification = getattr(message, "root", message)
        if hasattr(notification, "method"):
            heard.append((notification.method, wire(notification).get("params", {})))

    async def on_elicit(context: Any, params: Any) -> Any:
        assert elicit is not None
        said = elicit(params.message)
        return types.ElicitResult.model_validate(await said if isinstance(said, Awaitable) else said)

    async def on_sample(context: Any, params: Any) -> Any:
        assert sample is not None
        content = {"type": "text", "text": sample(params.messages[0].content.text)}
        return types.CreateMessageResult.model_validate({"role": "assistant", "model": "none", "content": content})

    async with AsyncExitStack() as stack:
        if isinstance(target, str):
            streams = await stack.enter_async_context(streamable_http_client(target, http_client=http_client))
        else:
            parameters = StdioServerParameters(command=target[0], args=target[1:])
            streams = await stack.enter_async_context(_started(parameters))
        session = ClientSession(
            streams[0],
            streams[1],
            message_handler=note,
            elicitation_callback=on_elicit if elicit else None,
            sampling_callback=on_sample if sample else None,
        )
        await stack.enter_async_context(session)
        yield SdkClient(session, heard, wire(await session.initialize()))


@asynccontextmanager
async def _started(parameters: StdioServerParameters) -> AsyncIterator[Any]:
    """The streams of a server that was started for this client.

    What the server says while the client leaves has no reader any more; the SDK raises that as an error of its own.
    """
    left = False
    try:
        async with stdio_client(parameters) as streams:
            yield streams
            left = True
    except* BrokenResourceError:
        if not left:
            raise


def _uri(uri: str) -> Any:
    if SDK > 1:
        return uri
    from pydantic import AnyUrl

    return AnyUrl(uri)
