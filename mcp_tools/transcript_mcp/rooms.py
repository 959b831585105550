"""The list of rooms. A new room needs a line here."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nanobot_transcript.errors import ConfigError, StoreBusyError, UnsafePathError
from transcript_mcp.assistant.room import ROOM as ASSISTANT
from transcript_mcp.filebox.room import ROOM as FILEBOX
from transcript_mcp.io_bridge.room import ROOM as IO
from transcript_mcp.mail.room import ROOM as MAIL
from transcript_mcp.transcript.room import ROOM as TRANSCRIPT

if TYPE_CHECKING:
    from nanobot_transcript.record.transfer.kept_tables import KeptTables
    from nanobot_transcript.settings import Settings
    from transcript_mcp.room import OpenRoom, Room

__all__ = ["ROOMS", "kept_tables", "offered", "open_rooms"]

logger = logging.getLogger(__name__)

ROOMS: "Final[Mapping[str, Room]]" = {room.name: room for room in (TRANSCRIPT, FILEBOX, MAIL, IO, ASSISTANT)}


def offered(names: Sequence[str] | None) -> tuple[str, ...]:
    """The servers named in ``hub.servers``; all where it is not set. Raises ConfigError for an unknown name."""
    unknown = [name for name in names or () if name not in ROOMS]
    if unknown:
        raise ConfigError(
            f"hub.servers names {unknown[0]!r}, which is no server.", hint=f"The servers: {', '.join(ROOMS)}."
        )
    return tuple(ROOMS) if names is None else tuple(dict.fromkeys(names))


def kept_tables(settings: "Settings") -> "list[KeptTables]":
    """The tables of all rooms, for ``migrate``."""
    return [tables for room in ROOMS.values() if room.tables is not None for tables in room.tables(settings)]


def open_rooms(
    settings: "Settings", names: Iterable[str] | None = None, *, cwd: Path | None = None
) -> "dict[str, OpenRoom]":
    """Opens the rooms with these names, or all of them. Closing their servers closes what they opened.

    A room whose store is locked by another process, or whose files are symbolic links, is skipped with a warning.
    ``cwd`` is the folder in which a client started this process, which tells who it is; None in the hub.
    """
    from nanobot_transcript.settings.lazy_record import Opening

    opening = Opening(settings)  # shared: each record opens connections of its own
    rooms: dict[str, OpenRoom] = {}
    for name in ROOMS if names is None else names:
        try:
            rooms[name] = ROOMS[name].open(settings, opening, cwd)
        except (StoreBusyError, UnsafePathError) as error:
            logger.warning("%s It is skipped here. %s", error, error.hint)
    for notes in [room.notes for room in rooms.values() if room.notes is not None]:
        for room in rooms.values():
            if room.hear is not None:
                room.hear(notes)
    return rooms
