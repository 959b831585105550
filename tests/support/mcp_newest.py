"""A client of the protocol of 2026-07-28; needs SDK 2."""

import asyncio
from typing import Any

from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.subscriptions import ResourceUpdated
from support.waiting import PATIENCE

__all__ = ["first_update", "newest"]


def newest(target: str | list[str], **options: Any) -> Client:
    """A client for the server at a URL, or for the one that a command starts."""
    server = target if isinstance(target, str) else StdioServerParameters(command=target[0], args=target[1:])
    return Client(server, **options)


async def first_update(client: Client, changed: str, subscribed: str) -> str:
    """Subscribe, have the server's ``touch`` change a resource, and return the URI that the client was told."""
    async with asyncio.timeout(PATIENCE), client.listen(resource_subscriptions=[subscribed]) as subscription:
        await client.call_tool("touch", {"uri": changed})
        async for event in subscription:
            assert isinstance(event, ResourceUpdated)
            return event.uri
    raise AssertionError("the stream ended")
