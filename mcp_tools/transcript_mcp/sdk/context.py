"""What a tool, prompt or resource can learn about its client and ask it for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from transcript_mcp.door.identity import Caller

__all__ = ["Context", "Elicited", "LogLevel"]

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


@dataclass(frozen=True, slots=True)
class Elicited:
    """What the person said: ``content`` holds the fields only when ``action`` is ``accept``."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any]


@runtime_checkable
class Context(Protocol):
    """One request. A function that has a parameter annotated ``Context`` is handed one."""

    @property
    def who(self) -> Caller | None:
        """The authenticated caller; None over stdio and where nobody checked."""
        ...

    @property
    def caller(self) -> str | None:
        """The same as text: ``agent/NAME`` for the token of a mailbox agent, ``token/NAME`` for one of a program."""
        ...

    @property
    def client_name(self) -> str | None:
        """The client's name as it introduced itself, such as ``claude-code``; not proof of anything."""
        ...

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress; does nothing when the client did not ask for it."""
        ...

    async def log(self, level: LogLevel, text: str) -> None:
        """Send a line to the client's log, if it wants this level."""
        ...

    @property
    def can_elicit(self) -> bool:
        """True when the client can ask its person while the function is running."""
        ...

    async def elicit(self, message: str, schema: dict[str, Any]) -> Elicited:
        """Let the client ask its person. ``schema`` is a flat JSON schema. Raises ClientCannotError.

        When this is cancelled, the client is told that the answer is not needed any more.
        On the newest protocol the answer arrives with a repeated call, and the function runs again from its beginning:
        do nothing that must not happen twice before asking.
        """
        ...

    async def sample(self, prompt: str, *, system: str | None = None, max_tokens: int = 1000) -> str:
        """Let the client's model answer. Raises ClientCannotError."""
        ...

    async def updated(self, uri: str) -> None:
        """Tell all who subscribed to this resource that it changed, like ``Server.updated``."""
        ...

    @property
    def is_gone(self) -> bool:
        """True when the client has left the request; False also where nobody can tell."""
        ...

    def when_answered(self, hook: Callable[[bool], None]) -> None:
        """Call the hook once, on the event loop: True when the answer that the function is about to return was written
        to the client's connection (or nobody can tell), False when the client left before."""
        ...
