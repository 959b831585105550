"""The seam to the SDK: what `_v1` and `_v2` both are, and which of them fits what is installed."""

import importlib
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any, Protocol, TypeAlias

from transcript_mcp.sdk.dispatch import Dispatch

__all__ = ["Backend", "HttpManager", "HttpOptions", "Receive", "Scope", "Send", "backend", "generation"]

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]


@dataclass(frozen=True)
class HttpOptions:
    """How HTTP is served; see ``http_app``."""

    stateless: bool = False
    json: bool = False
    max_body: int = 4 * 1024 * 1024
    idle_timeout: float = 1800.0
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()


class HttpManager(Protocol):
    """The SDK's session manager."""

    def run(self) -> AbstractAsyncContextManager[None]:
        """Sessions live inside of this; once only."""
        ...

    async def handle_request(self, scope: Scope, receive: Receive, send: Send, /) -> None:
        """One ASGI request."""
        ...


class Backend(Protocol):
    """One generation of the SDK."""

    async def serve(self, dispatch: Dispatch, read: Any, write: Any) -> None:
        """One connection over a pair of the SDK's streams, until the reading side ends."""
        ...

    def decode(self, line: bytes) -> Any:
        """A line as a message for the reading stream. Raises ValueError."""
        ...

    def encode(self, message: Any) -> bytes:
        """A message from the writing stream as a line, without its end."""
        ...

    def request_id(self, message: Any) -> Any:
        """The id of a request (None for everything else), read from the client."""
        ...

    def answered_id(self, message: Any) -> Any:
        """The id that a response or an error belongs to (None for everything else)."""
        ...

    def is_error(self, message: Any) -> bool:
        """True when a message refuses a request."""
        ...

    def user(self, caller: str) -> Any:
        """What the session manager compares to see whether a session belongs to whoever asks."""
        ...

    def http_manager(self, dispatch: Dispatch, options: HttpOptions) -> HttpManager:
        """A session manager that was not started yet."""
        ...


@cache
def generation() -> int:
    """The first number of the installed SDK's version; imports nothing of it."""
    return int(version("mcp").partition(".")[0])


@cache
def backend() -> Backend:
    """The module for the installed SDK; imported when something is served, because it is heavy."""
    return importlib.import_module(f"transcript_mcp.sdk._v{generation()}").BACKEND
