"""One running request: the part of ``Context`` that does not depend on the SDK's version."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, get_args

from nanobot_transcript.errors import ClientCannotError
from transcript_mcp.sdk.client_subscriptions import Peer
from transcript_mcp.sdk.context import Elicited, LogLevel
from transcript_mcp.sdk.server import Server

if TYPE_CHECKING:
    from transcript_mcp.door.identity import Caller

__all__ = ["CALLER", "RECEIVER", "ClientRequest", "Receiver", "cannot", "reaches"]

CALLER = "nanobot_transcript.caller"
"""Key in the ASGI scope for the ``Caller``, as authenticated by whoever mounts the app."""

RECEIVER = "nanobot_transcript.receiver"
"""Key in the ASGI scope for a ``Receiver``, if whoever mounts the app can tell whether an answer arrives."""


class Receiver(Protocol):
    """The client that waits for one answer."""

    @property
    def is_gone(self) -> bool:
        """True when it has disconnected."""
        ...

    def when_answered(self, hook: Callable[[bool], None]) -> None:
        """Call the hook once: with True when the answer is written to the connection, with False if it never is."""
        ...


_LEVELS: tuple[str, ...] = get_args(LogLevel)


class ClientRequest(ABC):
    """Made for each request by the backends; functions receive it as their ``Context`` parameter.

    ``peer`` is None where no connection outlives the request.
    """

    def __init__(self, server: Server, peer: Peer | None, scope: Mapping[str, Any] | None) -> None:
        self.server = server
        self.peer = peer
        self.who: Caller | None = scope.get(CALLER) if scope else None
        self.receiver: Receiver | None = scope.get(RECEIVER) if scope else None

    @property
    def caller(self) -> str | None:
        return self.who.text if self.who is not None else None

    @property
    @abstractmethod
    def client_name(self) -> str | None: ...

    @abstractmethod
    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None: ...

    async def log(self, level: LogLevel, text: str) -> None:
        if reaches(level, self.peer.level if self.peer else None):
            await self.send_log(level, text)

    @abstractmethod
    async def send_log(self, level: LogLevel, text: str) -> None:
        """Send a log line, whatever the level."""

    @property
    def can_elicit(self) -> bool:
        return False

    @abstractmethod
    async def elicit(self, message: str, schema: dict[str, Any]) -> Elicited: ...

    @abstractmethod
    async def sample(self, prompt: str, *, system: str | None = None, max_tokens: int = 1000) -> str: ...

    async def updated(self, uri: str) -> None:
        self.server.updated(uri)

    @property
    def is_gone(self) -> bool:
        return self.receiver is not None and self.receiver.is_gone

    def when_answered(self, hook: Callable[[bool], None]) -> None:
        if self.receiver is not None:
            self.receiver.when_answered(hook)
        else:
            hook(True)  # over stdio nobody can tell; assume that it arrives


def reaches(level: LogLevel, wanted: object) -> bool:
    """True when the client wants log lines of this level; it may want none."""
    return wanted in _LEVELS and _LEVELS.index(level) >= _LEVELS.index(str(wanted))


def cannot(what: str) -> ClientCannotError:
    """The error for a client without a capability."""
    return ClientCannotError(
        f"This client cannot {what} on behalf of a server.",
        hint="Use a client that can, or pass what is needed as an argument.",
    )
