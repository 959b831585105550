"""The seam to the SDK: the protocol that ``_v1`` and ``_v2`` implement, and the choice by the installed version."""

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
        """Sessions live inside this block. Can be entered once."""
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
        """True for an error response."""
        ...

    def user(self, caller: str) -> Any:
        """The user object that the session manager compares, so that only its owner can use a session."""
        ...

    def http_manager(self, dispatch: Dispatch, options: HttpOptions) -> HttpManager:
        """A session manager, not started yet."""
        ...


@cache
def generation() -> int:
    """The major version of the installed SDK, without importing it."""
    return int(version("mcp").partition(".")[0])


@cache
def backend() -> Backend:
    """The backend for the installed SDK; imported on first use, because the SDK is slow to import."""
    return importlib.import_module(f"transcript_mcp.sdk._v{generation()}").BACKEND
