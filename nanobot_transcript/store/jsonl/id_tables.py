"""Finding, building and repairing the id tables of a chat, off the append path wherever that takes long."""

import logging
import os
import time
from typing import Final

from nanobot_transcript.errors import StoreError, UnsafePathError
from nanobot_transcript.files.descriptors import open_append, open_read
from nanobot_transcript.files.layout import Layout
from nanobot_transcript.files.lock import acquire, exclusive
from nanobot_transcript.store.jsonl.id_table import IdTable, NewerFormatError, Owner, read_owner
from nanobot_transcript.store.jsonl.lines import complete_end
from nanobot_transcript.store.jsonl.segment_index import add_lines, capacity_for

__all__ = [
    "active_number",
    "build_active",
    "build_closed",
    "horizon",
    "open_active",
    "open_closed",
    "start_over",
]

_HORIZON_SEGMENTS: Final = 8
_HORIZON_DAYS: Final = 7
_BUILD_WAIT: Final = 10.0

logger = logging.getLogger(__name__)


def active_number(layout: Layout, stem: str, inode: int, *, reading: bool = False) -> int:
    """The number of the active segment whose file has this inode (0 = there is no active file).

    The id table remembers it; without a table it follows from the closed segments. A number found for ``reading`` must
    not be used to name a file.
    """
    try:
        owner = read_owner(layout.ids(stem))
    except UnsafePathError:  # readers can do without a table
        owner = None
    if owner is None:
        return max(layout.closed_numbers(stem), default=0) + 1
    last = max(layout.listed_numbers(stem) if reading else layout.closed_numbers(stem), default=0)
    # Never a number that a closed segment has, whatever a table claims.
    return max(owner.number if owner.inode == inode else owner.number + 1, last + 1)


def horizon(layout: Layout, stem: str) -> list[int]:
    """Closed segments whose ids are checked for duplicates: with the active one the newest 8, and all of the last 7
    days.
    """
    numbers = [n for n in layout.closed_numbers(stem) if _holds_something(layout.closed(stem, n))]
    newest = set(numbers[-(_HORIZON_SEGMENTS - 1) :])
    oldest_time = time.time() - _HORIZON_DAYS * 86_400
    return [n for n in numbers if n in newest or _written_after(layout.closed(stem, n), oldest_time)]


def _holds_something(path: str) -> bool:
    try:
        return os.stat(path).st_size > 0
    except FileNotFoundError:
        return False


def _written_after(path: str, moment: float) -> bool:
    try:
        return os.stat(path).st_mtime >= moment
    except FileNotFoundError:
        return False


def open_closed(layout: Layout, stem: str, number: int) -> IdTable | None:
    """The table of a closed segment, None when it must be built. Raises NewerFormatError."""
    table = IdTable.open(layout.ids(stem, number), writable=False)
    if table is None:
        return None
    try:
        size = os.stat(layout.closed(stem, number)).st_size
    except FileNotFoundError:
        size = -1
    if table.owner.number == number and 0 <= table.indexed == size:
        return table
    table.close()
    return None


def build_closed(layout: Layout, stem: str, number: int, wait: float = _BUILD_WAIT) -> IdTable | None:
    """Build the table of a closed segment unless another process just did; in memory when a newer format is in its
    place.
    """
    path: str | None = layout.ids(stem, number)
    layout.create()
    with exclusive(layout.lock(stem, "index"), wait, "the index of this transcript"):
        try:
            table = open_closed(layout, stem, number)
        except NewerFormatError:
            path = None
        else:
            if table is not None:
                return table
        descriptor = open_read(layout.closed(stem, number))
        if descriptor is None:
            return None
        try:
            table = _build(f"{path}.build" if path else None, descriptor, number)
            table.indexed = os.fstat(descriptor).st_size
            if path:
                table.publish(path)
        finally:
            os.close(descriptor)
    return table


def build_active(layout: Layout, stem: str, owner: Owner) -> None:
    """Index the active segment from a snapshot with the lock free, then put the table in place under the lock."""
    path = layout.ids(stem)
    layout.create()
    with exclusive(layout.lock(stem, "index"), _BUILD_WAIT, "the index of this transcript"):
        descriptor = open_read(layout.active(stem))
        if descriptor is None:
            return
        try:
            if os.fstat(descriptor).st_ino != owner.inode:
                return  # rotated or replaced since: the next writer makes its own table
            table = _build(f"{path}.build", descriptor, owner.number)
            # Under the lock of the transcript, and only if the name still leads to this file. Lines written since the
            # snapshot are indexed by the next writer.
            if acquire(descriptor, _BUILD_WAIT) and _is_file(layout.active(stem), owner):
                _replace(path, table)
            table.close()
        finally:
            os.close(descriptor)


def _is_file(path: str, owner: Owner) -> bool:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return False
    return (status.st_ino, status.st_dev) == (owner.inode, owner.device)


def _replace(path: str, table: IdTable) -> None:
    old = IdTable.open(path, writable=True)
    if old is not None:
        # Processes that have the old file mapped do not notice the rename; the mark in it makes them open the new one.
        old.retire()
        old.close()
    table.publish(path)


def _build(path: str | None, descriptor: int, number: int) -> IdTable:
    status = os.fstat(descriptor)
    end = complete_end(descriptor, status.st_size)
    owner = Owner(status.st_ino, status.st_dev, number)
    return add_lines(IdTable.create(path, owner, capacity_for(end)), descriptor, 0, end)


def open_active(layout: Layout, stem: str, inode: int, device: int, size: int) -> IdTable:
    """The table of the active segment, a new one when it is missing or belongs to another file.

    Call it with the lock held. Where the table cannot be kept in a file, it lives in this process.
    """
    path = layout.ids(stem)
    try:
        table = IdTable.open(path, writable=True)
    except NewerFormatError:
        logger.warning("%s was written by a newer version; leaving it alone and keeping an index in memory", path)
        return IdTable.create(None, Owner(inode, device, _next_number(layout, stem, None)))
    except StoreError as error:
        return _in_memory(layout, stem, inode, device, error)
    kept: int | None = None
    if table is not None:
        owner = table.owner
        if (owner.inode, owner.device) == (inode, device) and table.indexed <= size:
            return table
        # A writer died while its table grew, having retired it: the segment is the same, and so is its number.
        kept = table.number if table.retired and (owner.inode, owner.device) == (inode, device) else None
        _put_aside(layout, stem, table)
    number = kept or _next_number(layout, stem, table)
    if table is not None:
        table.close()
    try:
        fresh = IdTable.create(f"{path}.new", Owner(inode, device, number))
        fresh.publish(path)
    except StoreError as error:
        return _in_memory(layout, stem, inode, device, error)
    return fresh


def start_over(layout: Layout, stem: str, number: int) -> None:
    """Remove everything of a chat but the number after which its segments continue: in the index and as an
    empty file.
    """
    os.close(open_append(layout.closed(stem, number)))
    prefix = f"{stem}."
    for name in os.listdir(layout.index):
        if name.startswith(prefix):
            os.unlink(layout.index / name)
    table = IdTable.create(f"{layout.ids(stem)}.new", Owner(0, 0, number))
    table.publish(layout.ids(stem))
    table.close()


def _in_memory(layout: Layout, stem: str, inode: int, device: int, error: StoreError) -> IdTable:
    logger.warning("an index cannot be kept on disk and is kept in memory: %s", error)
    return IdTable.create(None, Owner(inode, device, _next_number(layout, stem, None)))


def _next_number(layout: Layout, stem: str, table: IdTable | None) -> int:
    return max([table.number if table else 0, *layout.closed_numbers(stem)]) + 1


def _put_aside(layout: Layout, stem: str, table: IdTable) -> None:
    # A process that died during a rotation has renamed the segment but not its table: finish that.
    closed_ids = layout.ids(stem, table.number)
    try:
        finished = os.stat(layout.closed(stem, table.number)).st_ino == table.owner.inode
    except FileNotFoundError:
        finished = False
    if finished and not os.path.lexists(closed_ids):
        os.rename(layout.ids(stem), closed_ids)
    else:
        table.retire()
