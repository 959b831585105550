"""Answers what a client over stdin asks without the SDK where possible, in a fraction of the time.

A plain function cannot report progress or ask the client anything, so calling it needs only the request and the answer;
lists need no more. With SDK 1.x the greeting is answered here, too, so that the SDK is not imported until it is needed.
The answers are those of the SDK.
"""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import msgspec

from transcript_mcp.sdk.backend import generation
from transcript_mcp.sdk.client_subscriptions import Peer
from transcript_mcp.sdk.content import Wire
from transcript_mcp.sdk.direct import Direct, is_plain_request, is_tool_call
from transcript_mcp.sdk.dispatch import Dispatch
from transcript_mcp.sdk.greetings import greeting
from transcript_mcp.sdk.server import Server

__all__ = ["Handled", "Shortcut"]

_CHANGED: Final = tuple(f"notifications/{what}/list_changed" for what in ("tools", "prompts", "resources"))


@dataclass(frozen=True, slots=True)
class Handled:
    """A message that the SDK need not see; ``answer`` is None for a notification."""

    id: Any = None
    answer: Callable[[], Awaitable[Wire]] | None = None


class Shortcut:
    """One connection. ``say`` sends a message to the client."""

    def __init__(self, server: Server, say: Callable[[Wire], Awaitable[None]]) -> None:
        self._server: Final = server
        self._dispatch: Final = Dispatch(server)
        self._direct: Final = Direct(server)
        self._say: Final = say
        self._served: Final = self._dispatch.methods.keys()
        self._greeting: Any = None
        self._client: str | None = None
        self._unheard: list[bytes] = []
        self._answered_early = self._begun = False
        self._peer: Peer | None = None
        self._asked: Final[set[int | str]] = set()

    def take(self, line: bytes) -> Handled | None:
        """The message in a line, None if the SDK has to handle it. Must see every line, to learn who the client is."""
        try:
            message = msgspec.json.decode(line)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return None
        if message["method"] == "initialize":
            return self._greeted(message, line) if self._greeting is None else None
        if len(self._unheard) == 1 and message["method"] == "notifications/initialized":
            self._unheard.append(line)
            return Handled()
        if self._unheard and message["method"] == "notifications/cancelled":
            return Handled()  # cancels a call that the SDK never saw, so its import can wait
        return self._quick(message) if self._begun else None

    def unheard(self) -> list[bytes]:
        """The lines of the client's greeting that the SDK has not seen yet. Empty at the second call."""
        lines, self._unheard = self._unheard, []
        return lines

    async def answered(self, request_id: Any, *, well: bool) -> bool:
        """Called with each answer of the SDK; ``well`` is False for an error. True when the answer must not be sent,
        because the request was answered here before.
        """
        if request_id is not None and request_id == self._greeting:
            early, self._answered_early = self._answered_early, False
            if well and not self._begun:
                self._begin()
            return early
        if well and request_id in self._asked:
            await self.close()  # the SDK has met the client now and sends it the notifications
        return False

    async def close(self) -> None:
        """Stop sending notifications."""
        self._asked.clear()
        peer, self._peer = self._peer, None
        if peer is not None:
            await peer.close()

    def _greeted(self, message: Wire, line: bytes) -> Handled | None:
        self._greeting = message.get("id")
        params = message.get("params")
        about = params.get("clientInfo") if isinstance(params, dict) else None
        name = about.get("name") if isinstance(about, dict) else None
        self._client = name if isinstance(name, str) else None
        answer = greeting(message, self._dispatch) if generation() == 1 else None
        if answer is None:
            return None
        self._unheard.append(line)
        self._answered_early = True
        self._begin()
        return Handled(message["id"], partial(_at_once, answer))

    def _begin(self) -> None:
        self._begun = True
        self._peer = Peer(self._server.updates, self._tell)

    def _quick(self, message: Wire) -> Handled | None:
        params = message.get("params")
        if isinstance(params, dict) and isinstance(params.get("_meta"), dict):  # a progress token, which goes unused
            message = message | {"params": {name: value for name, value in params.items() if name != "_meta"}}
        if is_plain_request(message, self._served):
            return Handled(message["id"], partial(self._direct.plain, message))
        if is_tool_call(message):
            tool = self._server.tools.get(message["params"]["name"])
            if tool is not None and not inspect.iscoroutinefunction(tool.function):
                return Handled(message["id"], partial(self._direct.answer, message, None, client=self._client))
        if self._peer is not None and message.get("method") in self._served and type(message.get("id")) in (int, str):
            self._asked.add(message["id"])
        return None

    async def _tell(self, uri: str | None) -> None:
        """Send changes of lists. Subscriptions to resources go through the SDK, which sends their updates itself."""
        for method in _CHANGED if uri is None else ():
            await self._say({"jsonrpc": "2.0", "method": method})


async def _at_once(answer: Wire) -> Wire:
    return answer
