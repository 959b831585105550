"""Where a test's record is, as a text that other processes are told: a folder, ``SOCKET:FOLDER`` behind a socket, or
the address of a database with a ``#`` and a schema behind it, which ``spool://FOLDER!`` may stand before.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from support.waiting import PATIENCE

from nanobot_transcript.record import Record

__all__ = ["behind_a_socket", "behind_a_spool", "open_record", "serving_records"]

_TESTS: Final = Path(__file__).resolve().parents[1]
_SOCKET: Final = "socket://"
_SPOOL: Final = "spool://"


def behind_a_socket(address: Path, folder: Path) -> str:
    """The place of a record that another process holds."""
    return f"{_SOCKET}{address}:{folder}"


def behind_a_spool(folder: Path, place: str) -> str:
    """The place of a record to which one writes by way of a spool in ``folder``."""
    return f"{_SPOOL}{folder}!{place}"


def open_record(place: str | Path, **options: Any) -> Record:
    """The record at a place; ``options`` are those of ``Record.open``."""
    text = str(place)
    if text.startswith(_SPOOL):
        from support.flushed import spooled

        folder, _, place = text.removeprefix(_SPOOL).partition("!")
        return spooled(open_record(place, **options), folder)
    if text.startswith("postgresql://"):
        url, _, schema = text.partition("#")
        return Record.open(url, schema=schema, **options)
    if not text.startswith(_SOCKET):
        return Record.open(text, **options)
    from support.remote_record import RemoteRecord

    address, _, folder = text.removeprefix(_SOCKET).partition(":")
    return RemoteRecord(address, folder, **options)


@contextmanager
def serving_records(address: Path) -> Iterator[None]:
    """A process that holds records, and serves them at ``address``."""
    command = [sys.executable, "-m", "support.remote_record", str(address)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=_TESTS)
    try:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        yield
    finally:
        server.communicate(timeout=PATIENCE)
