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

    from aiohttp.web import AbstractRouteDef, Request

    from nanobot_transcript.record import Record
    from nanobot_transcript.record.transfer.kept_tables import KeptTables
    from nanobot_transcript.settings import Settings
    from nanobot_transcript.settings.lazy_record import Opening
    from transcript_mcp.door.identity import Caller
    from transcript_mcp.page import WebPage
    from transcript_mcp.sdk import Content, Server

__all__ = ["Addressee", "Fault", "GivenNotes", "News", "Notes", "OpenRoom", "OwnAccess", "Room", "Stored"]


@dataclass(frozen=True, slots=True)
class Room:
    """One room, before it is opened.

    ``name`` is that of its address (``/mcp/NAME``) and in commands. ``open`` makes what it offers from the settings;
    its last argument is the folder in which a client started this process, None in the hub. ``stdio`` is how it is
    served there: by the process itself (``here``), by the hub to which the process hands everything on (``relayed``),
    or by a program of the room (``adapter``). ``entry`` is what a client calls it, where it stands alone there.
    ``waits``: its calls wait for somebody, for up to a day. ``safe`` are the tools that a client may call without
    asking its person. ``rules`` is what an agent is told of it, ``has_letters`` whether others write to agents there.
    ``advice`` is what to do about a problem in the room that says no more itself. ``tables`` are those it keeps, for
    whoever moves them to another database.
    """

    name: str
    open: "Callable[[Settings, Opening, Path | None], OpenRoom]"
    stdio: Literal["here", "relayed", "adapter"] = "here"
    entry: str = ""
    waits: bool = False
    safe: tuple[str, ...] = ()
    rules: str = ""
    has_letters: bool = False
    advice: str = ""
    tables: "Callable[[Settings], Iterable[KeptTables]] | None" = None

    @property
    def package(self) -> str:
        """The package that holds it, by which its log lines begin."""
        return self.open.__module__.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class OpenRoom:
    """What a room offers: an MCP server, and in the hub what stands beside it. All but the server is asked for by the
    hub alone, so that a process that talks MCP over its stdin needs no HTTP server.

    ``routes`` are beside MCP. With ``own_access`` the room looks at the tokens of its routes itself, and at how large a
    body is; the hub checks where a request comes from. ``pages`` by name. ``stored`` is what it keeps, and how much;
    ``writes_in`` where the hub needs room for that, beside its own folder. ``record`` is the record of groups that it
    shows. ``running`` goes on as long as the hub does. ``notes`` is what people
    write to agents in this room, ``hear`` tells a room of it that gives it to agents.
    """

    server: "Server"
    routes: "Callable[[], Iterable[AbstractRouteDef]] | None" = None
    own_access: "Callable[[], OwnAccess] | None" = None
    pages: "Callable[[News], Mapping[str, WebPage]] | None" = None
    stored: "Callable[[], Iterable[Stored]] | None" = None
    writes_in: "Sequence[Path]" = ()
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


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a request: a code, a sentence, and what to do."""

    code: str
    message: str
    hint: str


class OwnAccess(Protocol):
    """What the hub tells people of routes at whose tokens the room looks itself. Each method is asked about any request
    of the hub, and gives None for one that came by another route.
    """

    def client(self, request: "Request", program: str) -> tuple[str, str] | None:
        """By which way somebody came who was let in, and the name of the program, empty where nobody is to see it."""
        ...

    def called(self, request: "Request") -> str | None:
        """What was asked for, by a name of which there are few."""
        ...

    def fault(self, request: "Request", answer: "Mapping[str, Any]") -> Fault | None:
        """What the JSON of an answer says is wrong, where it has another form than the hub's."""
        ...


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
