"""What can be measured: the parts of each room, in the order in which they are measured."""

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

from benchmarks.appending import appending, synchronous
from benchmarks.assistant import assistant
from benchmarks.context import Context
from benchmarks.filebox import filebox
from benchmarks.following import following
from benchmarks.importing import importing
from benchmarks.io_bridge import io_bridge
from benchmarks.mail import mail
from benchmarks.mcp_calls import mcp_calls
from benchmarks.postgres import postgres
from benchmarks.reading import long_transcript, recent
from benchmarks.scale.part import scale
from benchmarks.scale.part import shown as as_tables
from benchmarks.searching import searching
from benchmarks.table import Row, render
from benchmarks.way.part import shown, way

__all__ = ["PARTS", "Part", "UnknownNameError", "chosen", "listed"]


class Part(NamedTuple):
    """One table: ``measure`` yields its rows as they are measured, ``shown`` makes text of them. What takes long is
    measured only when it is ``named``.
    """

    room: str
    name: str
    what: str
    measure: Callable[[Context], Generator[Row]]
    shown: Callable[[Sequence[Any]], str] = render
    named: bool = False


PARTS = (
    Part("way", "way", "functions and files that one message runs through, by room", way, shown),
    Part("store", "import", "importing the package and the store", importing),
    Part("store", "append", "recording messages, alone and with eight processes", appending),
    Part("store", "fsync", "recording with fsync=always", synchronous),
    Part("store", "recent", "the newest messages of a short transcript", recent),
    Part("store", "follow", "how soon another process sees a message", following),
    Part("store", "search", "finding text in a million lines", searching),
    Part("store", "long", "the newest of five million messages", long_transcript),
    Part("postgres", "postgres", "a record in PostgreSQL, beside plain statements", postgres),
    Part("scale", "scale", "how the cost grows, in files and in PostgreSQL", scale, as_tables, named=True),
    Part("sdk", "mcp", "a call of a tool that does nothing", mcp_calls),
    Part("filebox", "filebox", "mailboxes of three sizes, beside the original program", filebox),
    Part("mail", "mail", "Agent Mail through the hub, with and without git", mail),
    Part("io_bridge", "io", "inputs for a hundred agents at once", io_bridge),
    Part("assistant", "assistant", "answers to callers that wait, and the hub's memory", assistant),
)


class UnknownNameError(ValueError):
    """Neither a room nor a part is called so; the message lists all there are."""


def chosen(names: Sequence[str]) -> list[Part]:
    """The parts that are called so, or whose room is; without a name, all but those that have to be named. Raises
    UnknownNameError.
    """
    unknown = [name for name in names if all(name not in (part.room, part.name) for part in PARTS)]
    if unknown:
        raise UnknownNameError(f"nothing to measure is called {unknown[0]!r}. There are:\n{listed()}")
    return [part for part in PARTS if (part.room in names or part.name in names if names else not part.named)]


def listed() -> str:
    """All parts with their rooms, for people."""
    return "\n".join(f"  {part.room:<10} {part.name:<10} {part.what}" for part in PARTS)
