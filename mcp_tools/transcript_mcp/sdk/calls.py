"""One request at work: the part of ``Context`` that is the same on every SDK."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, get_args

from nanobot_transcript.errors import ClientCannotError
from transcript_mcp.sdk.context import Elicited, LogLevel
from transcript_mcp.sdk.server import Server
from transcript_mcp.sdk.updates import Peer

if TYPE_CHECKING:
    from transcript_mcp.door.identity import Caller

__all__ = ["CALLER", "RECEIVER", "ClientRequest", "Receiver", "cannot", "reaches"]

CALLER = "nanobot_transcript.caller"
"""The ASGI scope's key for the ``Caller`` that whoever mounts the app has made sure of."""

RECEIVER = "nanobot_transcript.receiver"
"""The ASGI scope's key for a ``Receiver``, where whoever mounts the app knows what becomes of an answer."""


class Receiver(Protocol):
    """Whoever waits for the answer to one request."""

    @property
    def is_gone(self) -> bool:
        """True when it has left."""
        ...

    def when_answered(self, hook: Callable[[bool], None]) -> None:
        """Call the hook once: True when what comes next is written to the connection, False when it ends before."""
        ...


_LEVELS: tuple[str, ...] = get_args(LogLevel)


class ClientRequest(ABC):
    """Made for each request by the backends; what a ``Context`` parameter receives.

    ``peer`` is None where there is no connection that outlives the request.
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
        """Without looking at the level."""

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
            hook(True)  # nobody can tell, so it is taken for granted


def reaches(level: LogLevel, wanted: object) -> bool:
    """True when a log line of this level is one that the client wants; it may want none."""
    return wanted in _LEVELS and _LEVELS.index(level) >= _LEVELS.index(str(wanted))


def cannot(what: str) -> ClientCannotError:
    """The error for a client that lacks an ability."""
    return ClientCannotError(
        f"This client cannot {what} on behalf of a server.",
        hint="Use a client that can, or pass what is needed as an argument.",
    )
