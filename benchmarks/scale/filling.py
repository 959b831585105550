"""Records of any size, in a folder and in a database."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.samples import message
from nanobot_transcript.files.usage import folder_size
from nanobot_transcript.record import Record
from nanobot_transcript.record.transfer.move import move
from nanobot_transcript.store import arguments

__all__ = ["Filled", "fill", "key_of", "opened", "size_of"]

_AT_ONCE = 5000
_SIZES = """
SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname = '{}'
"""


class Filled(NamedTuple):
    """``entries`` in each of ``chats``."""

    chats: int
    entries: int


def key_of(chat: int) -> str:
    """The session key of a chat by its number."""
    return f"feishu:oc_{chat:010x}"


def opened(place: str, **options: Any) -> Record:
    """A record by its folder, or by ``URL#SCHEMA``."""
    url, _, schema = place.partition("#")
    return Record.open(url, schema=schema, **options) if schema else Record.open(place)


def fill(folder: str, filled: Filled, into: Sequence[str]) -> None:
    """Write a new record into a folder, and bring it into other places."""
    with opened(folder) as source:
        backend: Any = source.store.backend
        for chat in range(filled.chats):
            for start in range(0, filled.entries, _AT_ONCE):
                some = (message(number) for number in range(start, min(start + _AT_ONCE, filled.entries)))
                lines = [arguments.entry(one.role, one.content, one.sender, *one[3:], {}) for one in some]
                backend.write_each(key_of(chat), lines)
        for place in into:
            with opened(place) as target:
                assert move(source, target).is_fine
            _settle(place)


def _settle(place: str) -> None:
    """Let the server have on the disk what it was brought: who looks now need not wait for that."""
    import psycopg

    with psycopg.connect(place.partition("#")[0], autocommit=True) as connection:
        connection.execute("CHECKPOINT")


def size_of(place: str) -> int:
    """Bytes on the disk, indexes and all."""
    url, _, schema = place.partition("#")
    if not schema:
        return folder_size(Path(place))[0]
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(_SIZES.format(schema).encode()).fetchone()
    return int(row[0]) if row is not None else 0
