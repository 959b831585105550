"""Subscriptions of connected clients, and the updates sent to them.

``Updates`` belongs to a server, a ``Peer`` to one connection. Updates may come from any thread; each peer sends on its
event loop in a task of its own, so that a client that does not read holds up nobody else. An update only says "this
changed, read it again", so one that waits to be sent is kept once, however often it happens.
"""

import asyncio
import inspect
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from transcript_mcp.sdk.uritemplate import canonical

if TYPE_CHECKING:
    from transcript_mcp.sdk.context import LogLevel

__all__ = ["MOST_SUBSCRIPTIONS", "GoneError", "Hook", "Peer", "Updates"]

_log = logging.getLogger(__name__)

MOST_SUBSCRIPTIONS = 100
"""Subscriptions of one connection; each may keep a server watching something."""


Hook: TypeAlias = Callable[[str], Any]
"""Called with a URI on the event loop; may be a coroutine function."""


class GoneError(Exception):
    """Raised by a peer's ``send``: the client has disconnected."""


@dataclass(eq=False)
class Updates:
    """The subscriptions to one server over all its connections.

    ``begin`` and ``end`` are called for a URI's first subscription and after its last; ``offers`` tells whether the
    server has a resource with a URI.
    """

    begin: list[Hook]
    end: list[Hook]
    offers: Callable[[str], bool]
    _peers: "set[Peer]" = field(default_factory=set, init=False)
    _subscribers: Counter[str] = field(default_factory=Counter, init=False)
    _parts: "list[Updates]" = field(default_factory=list, init=False)
    _wholes: "list[Updates]" = field(default_factory=list, init=False)

    def include(self, part: "Updates") -> None:
        """For a merged server: pass on what a part publishes, and pass subscriptions to the part."""
        self._parts.append(part)
        part._wholes.append(self)

    def publish(self, uri: str) -> None:
        """One resource changed. Any thread."""
        for peer in list(self._peers):
            peer.offer(uri)
        for whole in self._wholes:
            whole.publish(uri)

    def publish_lists(self) -> None:
        """The lists of tools, prompts or resources changed. Any thread."""
        for peer in list(self._peers):
            peer.offer(None)
        for whole in self._wholes:
            whole.publish_lists()

    def add(self, peer: "Peer") -> None:
        """A client has connected."""
        self._peers.add(peer)

    def remove(self, peer: "Peer") -> None:
        """A client has disconnected."""
        self._peers.discard(peer)

    async def retain(self, uri: str) -> None:
        """One more subscription to a URI."""
        self._subscribers[canonical(uri)] += 1
        if self._subscribers[canonical(uri)] == 1:
            await _run(self.begin, uri)
        for part in self._responsible(uri):
            await part.retain(uri)

    async def release(self, uri: str) -> None:
        """One subscription less."""
        self._subscribers[canonical(uri)] -= 1
        if self._subscribers[canonical(uri)] <= 0:
            del self._subscribers[canonical(uri)]
            await _run(self.end, uri)
        for part in self._responsible(uri):
            await part.release(uri)

    def _responsible(self, uri: str) -> "Iterator[Updates]":
        return (part for part in self._parts if part.offers(uri))


class Peer:
    """One connection: its subscriptions, and the updates that wait to be sent.

    ``send(uri)`` tells the client about a resource, ``send(None)`` about the lists; it raises ``GoneError``. ``level``:
    the least severe log line that the client wants. All methods but ``offer`` must be called on the event loop.
    """

    def __init__(self, updates: Updates, send: Callable[[str | None], Awaitable[None]]) -> None:
        self.level: LogLevel = "info"
        self._updates = updates
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._subscribed: dict[str, str] = {}  # by canonical form, as the client spells it
        self._waiting: dict[str | None, None] = {}
        self._sender: asyncio.Task[None] | None = None
        self._closed = False
        updates.add(self)

    def has_room(self, uri: str) -> bool:
        """True when it may subscribe to this URI, or has done so already."""
        return canonical(uri) in self._subscribed or len(self._subscribed) < MOST_SUBSCRIPTIONS

    async def subscribe(self, uri: str) -> None:
        """Subscribe; repeated requests count once."""
        if canonical(uri) not in self._subscribed:
            self._subscribed[canonical(uri)] = uri
            await self._updates.retain(uri)

    async def unsubscribe(self, uri: str) -> None:
        """Unsubscribe; does nothing when there was no subscription."""
        known = self._subscribed.pop(canonical(uri), None)
        if known is not None:
            await self._updates.release(known)

    async def close(self) -> None:
        """The connection has ended. Idempotent."""
        self._closed = True
        self._updates.remove(self)
        if self._sender is not None:
            self._sender.cancel()
        while self._subscribed:
            await self._updates.release(self._subscribed.popitem()[1])

    def offer(self, uri: str | None) -> None:
        """Queue an update if the client subscribed to it. Any thread."""
        try:
            self._loop.call_soon_threadsafe(self._note, uri)
        except RuntimeError:  # the loop is closed, and with it the connection
            self._updates.remove(self)

    def _note(self, uri: str | None) -> None:
        if self._closed:
            return
        self._waiting.update(dict.fromkeys([None] if uri is None else self._meant(uri)))
        if self._waiting and (self._sender is None or self._sender.done()):
            self._sender = self._loop.create_task(self._send_waiting())

    def _meant(self, uri: str) -> list[str]:
        changed = canonical(uri)
        if "?" in changed:
            return [self._subscribed[changed]] if changed in self._subscribed else []
        return [spelled for known, spelled in self._subscribed.items() if known.partition("?")[0] == changed]

    async def _send_waiting(self) -> None:
        while self._waiting:
            uri = next(iter(self._waiting))
            del self._waiting[uri]
            try:
                await self._send(uri)
            except GoneError:
                self._waiting.clear()
                self._updates.remove(self)


async def _run(hooks: list[Hook], uri: str) -> None:
    for hook in hooks:
        try:
            outcome = hook(uri)
            if inspect.isawaitable(outcome):
                await outcome
        except Exception:  # noqa: BLE001 - a server's hook must not end a client's connection
            _log.exception("A subscription hook failed")
