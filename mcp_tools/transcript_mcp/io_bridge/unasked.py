"""What people write to agents unasked, which an agent may get in place of an input. Kept elsewhere: see ``Unasked``."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from transcript_mcp.door.identity import Caller
from transcript_mcp.io_bridge.bridge import Bridge, Handed, Tell
from transcript_mcp.io_bridge.values import Addressee
from transcript_mcp.sdk import Content

__all__ = ["Messages", "Unasked", "next_of_both"]


class Messages(Protocol):
    """What people wrote, on its way to the agent."""

    @property
    def contents(self) -> Sequence[Content]:
        """What the agent is shown."""
        ...

    def arrived(self, arrived: bool) -> None:
        """It has reached the agent's client, or it has not and can be had again. Said once."""
        ...


class Unasked(Protocol):
    """Where it is kept; whoever puts the servers together knows. All methods raise StoreError kinds."""

    def news(self, agent: Addressee) -> AbstractContextManager[asyncio.Event]:
        """Set when there may be something new for the agent, as long as the ``with`` block lasts."""
        ...

    async def take(self, agent: Addressee, session: str) -> Messages | None:
        """All there is for the agent, for this session alone until it is confirmed."""
        ...

    async def confirm(self, caller: Caller | None, session: str) -> int:
        """The agent's next call in a session: it has what it got there; how many messages."""
        ...


async def next_of_both(
    bridge: Bridge,
    unasked: Unasked,
    agent: Addressee,
    session: str,
    *,
    wait: float | None,
    is_gone: Callable[[], bool],
    tell: Tell,
) -> Handed | Messages | None:
    """What people wrote to the agent, or the next input of its session, whichever is there first.

    None when there is neither within ``wait`` seconds or the client has left. Confirms what the session was given.
    """
    began = asyncio.get_running_loop().time()
    await bridge.confirm(session, given_back=False)

    async def called_off() -> None:
        await news.wait()
        bridge.look_again(session)

    with unasked.news(agent) as news:
        while not is_gone():
            news.clear()
            if (messages := await unasked.take(agent, session)) is not None:
                return messages
            left = None if wait is None else max(wait - (asyncio.get_running_loop().time() - began), 0.0)
            calling_off = asyncio.create_task(called_off())
            try:
                handed = await bridge.next_input(
                    session, wait=left, is_gone=lambda: news.is_set() or is_gone(), tell=tell, agent=agent
                )
            finally:
                calling_off.cancel()
            if handed is not None or not news.is_set():
                return handed
    return None
