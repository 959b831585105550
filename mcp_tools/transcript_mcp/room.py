"""How a room describes itself: its name, how it is opened, and what the hub and the commands need to know.

Imported by commands that must start quickly, so nothing here is heavy, and neither is the ``room.py`` of each room.
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

    ``name``: in its address (``/mcp/NAME``) and in commands. ``open``: makes an ``OpenRoom`` from the settings; its
    last argument is the folder in which a client started this process, None in the hub. ``stdio``: who serves it over
    stdin and stdout: this process (``here``), the hub, with this process as a relay (``relayed``), or a program of the
    room (``adapter``). ``entry``: its name in a client's configuration, where it has one of its own. ``waits``: its
    calls wait for somebody, for up to a day. ``safe``: tools that a client may call without asking its person.
    ``rules``: what agents are told about it. ``has_letters``: others write to agents there. ``advice``: what to do
    about a logged problem that has no hint. ``tables``: those it keeps, so that they can be moved to another database.
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
        """Its package, with which the names of its loggers begin."""
        return self.open.__module__.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class OpenRoom:
    """What a room offers: an MCP server, and what the hub serves beside it. Only the hub uses the rest, so a process
    that speaks MCP over stdin needs no HTTP server.

    ``routes``: HTTP routes beside MCP. ``own_access``: the room itself checks the tokens and body sizes of its routes;
    the hub then only checks host and origin. ``pages``: by name. ``stored``: what it keeps, and how much.
    ``writes_in``: folders that need free space, beside the hub's own. ``record``: the record of groups that it shows.
    ``running``: entered when the hub starts and left when it stops. ``notes``: what people write to agents in this
    room. ``hear``: receives the ``notes`` of another room, to pass them to agents.
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
    """One store of a room, at ``where``: its size in bytes, and how many things are in it where somebody counts them.
    ``files`` of its files are in the hub's folder.
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
    """What the System page shows of routes whose tokens the room checks itself. Each method is called for every request
    of the hub, and returns None for a request to other routes.
    """

    def client(self, request: "Request", program: str) -> tuple[str, str] | None:
        """The entrance and the program's name (empty to hide it) of a caller who was let in."""
        ...

    def called(self, request: "Request") -> str | None:
        """The route's name, from a small fixed set."""
        ...

    def fault(self, request: "Request", answer: "Mapping[str, Any]") -> Fault | None:
        """The error in the JSON of an answer, where its form is not the hub's."""
        ...


class News(Protocol):
    """What the hub offers to a page."""

    notes: "Notes | None"
    """Where people write to agents, if a room has that."""

    def tell(self, page: str, **more: "Any") -> None:
        """Tell open browsers that something changed on a page."""
        ...


@dataclass(frozen=True, slots=True)
class Addressee:
    """An agent to whom people write: the caller of its tools, its project and its name."""

    caller: "Caller | None"
    project: str
    name: str


class GivenNotes(Protocol):
    """Notes that were taken for an agent and are on their way to it."""

    @property
    def contents(self) -> "Sequence[Content]":
        """The notes as the agent sees them."""
        ...

    def arrived(self, arrived: bool) -> None:
        """Say once whether they reached the agent's client; if not, they can be taken again."""
        ...


class Notes(Protocol):
    """What people write to agents unasked. Other rooms may deliver it with their answers. Methods raise StoreError."""

    def news(self, agent: Addressee) -> "AbstractContextManager[asyncio.Event]":
        """An event that is set when there may be new notes for the agent; watched until the ``with`` block ends."""
        ...

    async def take(self, agent: Addressee, session: str) -> GivenNotes | None:
        """All notes for the agent. They belong to this session until it confirms them."""
        ...

    async def confirm(self, caller: "Caller | None", session: str) -> int:
        """Called at the agent's next call in a session: what it was given there has arrived. Returns how many notes."""
        ...

    def reaches(self, person: "Caller", agent: Addressee) -> bool:
        """Whether notes that this person writes on the page are given to the agent."""
        ...
