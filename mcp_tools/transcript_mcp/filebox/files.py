"""Reads and writes the files of mails. Writes are atomic (temporary file and rename), so readers see either the old or
the new text. Files larger than a mail can be are not read.
"""

import errno
import os
import secrets
from contextlib import suppress
from itertools import count
from typing import Final, NamedTuple

from nanobot_transcript.files.descriptors import NOT_PLAIN, to_create, to_read
from transcript_mcp.filebox.file_names import shown_name
from transcript_mcp.filebox.folders import STATE, MailboxFolder, OpenMailbox

__all__ = [
    "LARGEST",
    "WORKSHOP",
    "FileText",
    "Stamp",
    "exists",
    "fill",
    "names",
    "put",
    "read",
    "read_beginning",
    "read_head",
    "stamp_of",
    "unused_name",
    "write",
]

Stamp = tuple[int, int, int]
"""Modification time (ns), size and inode: while they stay the same, the file was not replaced."""

WORKSHOP: Final = (STATE, "tmp")
"""The folder for temporary files, which are renamed into place when they are complete."""

LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a mail with its thread."""

_HEAD: Final = 4096
_LONGEST_HEAD: Final = 64 * 1024
_MARKER: Final = b"MESSAGE THREAD"

_OURS: Final = secrets.token_hex(8)
_numbers: Final = count()


class FileText(NamedTuple):
    """The bytes read from a file, and its stamp at that moment."""

    body: bytes
    stamp: Stamp


def read(folder: int, name: str, largest: int = LARGEST) -> FileText | None:
    """The whole file; None when there is no regular file. Raises OSError, also for more than ``largest`` bytes."""
    taken = read_beginning(folder, name, largest + 1)
    if taken is not None and len(taken.body) > largest:
        raise OSError(errno.EFBIG, f"it is too large, {taken.stamp[1]:,} bytes")
    return taken


def read_beginning(folder: int, name: str, limit: int) -> FileText | None:
    """At most ``limit`` bytes of the file; None when there is no regular file. Raises OSError."""
    try:
        descriptor = to_read(name, folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in NOT_PLAIN:
            return None
        raise
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        found = os.fstat(descriptor)
        return FileText(file.read(limit) or b"", stamp_of(found))


def read_head(folder: int, name: str) -> FileText | None:
    """The same, but only enough for the header."""
    taken = read_beginning(folder, name, _HEAD)
    if taken is not None and len(taken.body) == _HEAD and _MARKER not in taken.body:
        taken = read_beginning(folder, name, _LONGEST_HEAD)
    return taken


def exists(folder: int, name: str) -> bool:
    """True when anything has this name."""
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def names(folder: int | None) -> list[str]:
    """All names in a folder, sorted."""
    if folder is None:
        return []
    with os.scandir(folder) as found:
        return sorted(entry.name for entry in found)


def write(mailbox: MailboxFolder, place: str, name: str, body: bytes) -> None:
    """Write a file (mode 0600) into a box or the hidden folder, replacing one with the same name.

    Raises MailboxUnavailableError and ConfigError; then nothing has changed.
    """
    with mailbox.entered() as opened:
        put(opened, place, name, body)


def put(opened: OpenMailbox, place: str, name: str, body: bytes) -> None:
    """The same in an open mailbox."""
    mailbox, temporary = opened.mailbox, unused_name()
    workshop, shelf = opened.folder(*WORKSHOP), opened.folder(place)
    try:
        descriptor = to_create(temporary, workshop)
        try:
            fill(mailbox, descriptor, body)
        finally:
            os.close(descriptor)
        os.rename(temporary, name, src_dir_fd=workshop, dst_dir_fd=shelf)
        mailbox.force(shelf)
    except OSError as error:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=workshop)
        mailbox.failed(f"write {place}/{shown_name(name)}", error)


def fill(mailbox: MailboxFolder, descriptor: int, body: bytes) -> None:
    """Write a whole file. Raises OSError."""
    rest = memoryview(body)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    mailbox.force(descriptor)


def unused_name() -> str:
    """A name for a temporary file that no other writer uses."""
    return f"{os.getpid()}-{_OURS}-{next(_numbers)}"


def stamp_of(found: os.stat_result) -> Stamp:
    """The stamp of a file."""
    return (found.st_mtime_ns, found.st_size, found.st_ino)
