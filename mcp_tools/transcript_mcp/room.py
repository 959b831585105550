"""What a room says of itself: its name, how it is opened, and what the hub and the commands have to know of it.

Read by commands that must start quickly, so it imports nothing heavy, and neither does the ``room`` of each room.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager, AbstractContextManager
    from pathlib import Path
    from typing import Any

    from aiohttp.web import AbstractRouteDef

    from nanobot_transcript.record import Record
    from nanobot_transcript.settings import Settings
    from nanobot_transcript.settings.opening import Opening
    from transcript_mcp.door.identity import Caller
    from transcript_mcp.page import WebPage
    from transcript_mcp.sdk import Content, Server

__all__ = ["Addressee", "GivenNotes", "News", "Notes", "OpenRoom", "Room", "Stored"]


@dataclass(frozen=True, slots=True)
class Room:
    """One room, before it is opened.

    ``name`` is that of its address (``/mcp/NAME``) and in commands. ``open`` makes what it offers from the settings;
    its last argument is the folder in which a client started this process, None in the hub. ``stdio`` is how it is
    served there: by the process itself (``here``), by the hub to which the process hands everything on (``relayed``),
    or by a program of the room (``adapter``). ``entry`` is what a client calls it, where it stands alone there.
    ``waits``: its calls wait for somebody, for up to a day. ``safe`` are the tools that a client may call without
    asking its person. ``rules`` is what an agent is told of it, ``has_letters`` whether others write to agents there.
    """

    name: str
    open: "Callable[[Settings, Opening, Path | None], OpenRoom]"
    stdio: Literal["here", "relayed", "adapter"] = "here"
    entry: str = ""
    waits: bool = False
    safe: tuple[str, ...] = ()
    rules: str = ""
    has_letters: bool = False


@dataclass(frozen=True, slots=True)
class OpenRoom:
    """What a room offers: an MCP server, and in the hub what stands beside it. All but the server is asked for by the
    hub alone, so that a process that talks MCP over its stdin needs no HTTP server.

    ``routes`` are beside MCP. With ``own_access`` the room looks at the tokens of its routes itself, and at how large a
    body is; the hub checks where a request comes from. ``pages`` by name. ``stored`` is what it keeps, and how much;
    ``record`` the record of groups that it shows. ``running`` goes on as long as the hub does. ``notes`` is what people
    write to agents in this room, ``hear`` tells a room of it that gives it to agents.
    """

    server: "Server"
    routes: "Callable[[], Iterable[AbstractRouteDef]] | None" = None
    own_access: bool = False
    pages: "Callable[[News], Mapping[str, WebPage]] | None" = None
    stored: "Callable[[], Iterable[Stored]] | None" = None
    record: "Record | None" = None
    running: "Callable[[], AbstractAsyncContextManager[None]] | None" = None
    notes: "Notes | None" = None
    hear: "Callable[[Notes], None] | None" = None


@dataclass(frozen=True, slots=True)
class Stored:
    """What lies ``where``: ``bytes``, and the number of things where somebody counts them. ``files`` of them lie in the
    folder of the hub.
    """

    name: str
    where: "Path | str"
    bytes: int
    count: int | None = None
    files: int = 0


class News(Protocol):
    """What a page may tell and ask of the hub."""

    notes: "Notes | None"
    """What people write to agents, where there is a page to write it on."""

    def tell(self, page: str, **more: "Any") -> None:
        """There is something new on a page."""
        ...


@dataclass(frozen=True, slots=True)
class Addressee:
    """An agent as people write to it: on whose behalf it works (the caller of its tools), its project and name."""

    caller: "Caller | None"
    project: str
    name: str


class GivenNotes(Protocol):
    """What people wrote to an agent, on its way there."""

    @property
    def contents(self) -> "Sequence[Content]":
        """What the agent is shown."""
        ...

    def arrived(self, arrived: bool) -> None:
        """It has reached the agent's client, or it has not and can be had again. Said once."""
        ...


class Notes(Protocol):
    """What people write to agents unasked, which an agent may get in another room. All methods raise StoreError
    kinds.
    """

    def news(self, agent: Addressee) -> "AbstractContextManager[asyncio.Event]":
        """Set when there may be something new for the agent, as long as the ``with`` block lasts."""
        ...

    async def take(self, agent: Addressee, session: str) -> GivenNotes | None:
        """All there is for the agent, for this session alone until it is confirmed."""
        ...

    async def confirm(self, caller: "Caller | None", session: str) -> int:
        """The agent's next call in a session: it has what it got there; how many messages."""
        ...

    def reaches(self, person: "Caller", agent: Addressee) -> bool:
        """Whether what a person writes to an agent, on the page, is given to it."""
        ...
