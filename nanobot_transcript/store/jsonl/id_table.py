"""Which message ids a segment holds: an open-addressing hash table in a file that all processes map.

Layout (little endian, 8-byte words): a header of 8 words, then ``capacity`` slots of two words, the hash of a key and
the offset of its line plus one (0 = empty). ``indexed`` says up to which byte of the segment lines are in the table. A
longer segment has lines to be added, so a crash between a write and its insert repairs itself. A matching hash is
checked against the line it points at, so two ids never count as one.
"""

import contextlib
import logging
import mmap
import os
from array import array
from hashlib import blake2b
from typing import Final, NamedTuple, Self

from nanobot_transcript.errors import StoreError
from nanobot_transcript.files.descriptors import open_append, open_read
from nanobot_transcript.files.os_errors import store_error

__all__ = [
    "FIRST_CAPACITY",
    "INDEXED",
    "DamagedTableError",
    "IdTable",
    "NewerFormatError",
    "Owner",
    "hash_key",
    "read_owner",
]

logger = logging.getLogger(__name__)

FIRST_CAPACITY: Final = 1024
_MAGIC: Final = int.from_bytes(b"NTids\0\0\0", "little")
_VERSION: Final = 1
_VERSION_SHIFT: Final = 56
_HEADER_WORDS: Final = 8
_HEADER_BYTES: Final = _HEADER_WORDS * 8
_INODE, _DEVICE, _NUMBER, INDEXED, _USED, _CAPACITY, _SPELLING = 1, 2, 3, 4, 5, 6, 7
_PLAIN, _MIXED = 1, 2  # 0 in a table of the first version, which did not check
_RETIRED: Final = (1 << 63) - 1
_GROWTH: Final = 4


class NewerFormatError(Exception):
    """A later version of this program wrote the table; it must be left alone."""


class DamagedTableError(Exception):
    """The slots hold nonsense; the table must be rebuilt."""

    def __init__(self, path: str | None) -> None:
        super().__init__(path)
        self.path = path

    def discard(self) -> None:
        """Remove the file."""
        if self.path is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)


class Owner(NamedTuple):
    """The segment a table belongs to: its file, and its number in the chat's sequence of segments."""

    inode: int
    device: int
    number: int


def hash_key(key: str) -> int:
    """64 bits of a key, the same in every process, never 0."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "little") or 1


def read_owner(path: str) -> Owner | None:
    """The segment that a table file belongs to, without mapping it; None when there is no readable table."""
    descriptor = open_read(path)
    if descriptor is None:
        return None
    try:
        words = memoryview(os.pread(descriptor, _HEADER_BYTES, 0))
    finally:
        os.close(descriptor)
    if len(words) < _HEADER_BYTES or not _ours(words.cast("Q")[0]):
        return None
    header = words.cast("Q")
    return Owner(header[_INODE], header[_DEVICE], header[_NUMBER])


def _ours(word: int) -> bool:
    return word & ((1 << _VERSION_SHIFT) - 1) == _MAGIC


class IdTable:
    """The id table of one segment. Written only by the holder of the transcript's lock."""

    __slots__ = ("_descriptor_map", "_mask", "path", "words")

    def __init__(self, words: memoryview, descriptor_map: mmap.mmap | None, path: str | None) -> None:
        self.words = words
        self._descriptor_map = descriptor_map
        self._mask = words[_CAPACITY] - 1
        self.path = path

    @classmethod
    def create(cls, path: str | None, owner: Owner, capacity: int = FIRST_CAPACITY) -> Self:
        """An empty table; without a path it lives in this process only.

        The file is allocated in full at once: touching a mapped page that the disk has no room for kills the process
        (SIGBUS).
        """
        size = _HEADER_BYTES + capacity * 16
        descriptor_map = None if path is None else _allocate(path, size)
        words = memoryview(bytearray(size) if descriptor_map is None else descriptor_map).cast("Q")
        words[0] = _MAGIC | _VERSION << _VERSION_SHIFT
        words[_INODE], words[_DEVICE], words[_NUMBER] = owner
        words[_CAPACITY] = capacity
        words[_SPELLING] = _PLAIN
        return cls(words, descriptor_map, path)

    @classmethod
    def open(cls, path: str, *, writable: bool) -> Self | None:
        """The table in a file; None when there is none or it is damaged. Raises NewerFormatError."""
        descriptor = open_read(path)
        if descriptor is None:
            return None
        if writable:
            os.close(descriptor)
            descriptor = open_append(path)
        try:
            size = os.fstat(descriptor).st_size
            if size < _HEADER_BYTES or size % 16:
                return None
            access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
            mapped = mmap.mmap(descriptor, size, access=access)
        finally:
            os.close(descriptor)
        words = memoryview(mapped).cast("Q")
        problem = _problem(words, size)
        if problem is None:
            return cls(words, mapped, path)
        words.release()
        mapped.close()
        if problem == "newer":
            raise NewerFormatError(path)
        return None

    @property
    def owner(self) -> Owner:
        """The segment this table describes."""
        words = self.words
        return Owner(words[_INODE], words[_DEVICE], words[_NUMBER])

    @property
    def number(self) -> int:
        """The number of the segment."""
        return self.words[_NUMBER]

    @property
    def indexed(self) -> int:
        """Up to which byte of the segment the lines are in this table."""
        return self.words[INDEXED]

    @indexed.setter
    def indexed(self, offset: int) -> None:
        self.words[INDEXED] = offset

    @property
    def plain(self) -> bool:
        """True when every indexed line uses this store's JSON escapes, so that bytes can be compared."""
        return self.words[_SPELLING] == _PLAIN

    def note_other_spelling(self) -> None:
        """Remember that a line uses other escapes."""
        self.words[_SPELLING] = _MIXED

    @property
    def retired(self) -> bool:
        """True when a larger or newer table has replaced this one."""
        return self.words[INDEXED] == _RETIRED

    def retire(self) -> None:
        """Tell every process that still maps this table to open its successor."""
        self.words[INDEXED] = _RETIRED

    def find(self, key_hash: int) -> list[int] | None:
        """Offsets of the lines whose key has this hash; None, the usual case, when there is none.

        Raises DamagedTableError when no slot is free, which a sound table never allows.
        """
        words, mask = self.words, self._mask
        slot = key_hash & mask
        value = words[_HEADER_WORDS + slot * 2]
        if not value:
            return None
        found: list[int] | None = None
        while value:
            if value == key_hash:
                offset = words[_HEADER_WORDS + slot * 2 + 1] - 1
                found = [offset] if found is None else [*found, offset]
            slot = (slot + 1) & mask
            if slot == key_hash & mask:
                raise DamagedTableError(self.path)
            value = words[_HEADER_WORDS + slot * 2]
        return found

    def insert(self, key_hash: int, offset: int) -> bool:
        """Add a key; True when the table should grow.

        The hash is stored last: a reader in another process, or a crash in between, sees the slot as empty.
        """
        words, mask = self.words, self._mask
        slot = key_hash & mask
        while words[_HEADER_WORDS + slot * 2]:
            slot = (slot + 1) & mask
            if slot == key_hash & mask:
                raise DamagedTableError(self.path)
        at = _HEADER_WORDS + slot * 2
        words[at + 1] = offset + 1
        words[at] = key_hash
        used = words[_USED] + 1
        words[_USED] = used
        return used * 3 >= mask * 2

    def grown(self) -> Self:
        """A larger table with the same content, already in the place of this one, which is retired.

        Where there is no room for the file, the larger table lives in this process: the entry is written already.
        """
        larger = self._larger()
        larger._fill_from(self.words)
        larger.indexed = self.indexed
        larger.words[_SPELLING] = self.words[_SPELLING]
        self.retire()
        if larger.path is not None and self.path is not None:
            larger.publish(self.path)
        return larger

    def _fill_from(self, smaller: memoryview) -> None:
        # Everybody waits for the lock meanwhile; plain lists take a quarter of the time of as many inserts.
        hashes, places = smaller[_HEADER_WORDS::2].tolist(), smaller[_HEADER_WORDS + 1 :: 2].tolist()
        slots, last = array("Q", bytes(16 * (self._mask + 1))), 2 * self._mask + 1
        for value, place in zip(hashes, places, strict=True):
            if value:
                slot = 2 * value & last
                while slots[slot]:
                    slot = slot + 2 & last
                slots[slot] = value
                slots[slot + 1] = place
        self.words[_HEADER_WORDS:] = memoryview(slots)
        self.words[_USED] = len(hashes) - hashes.count(0)

    def _larger(self) -> Self:
        capacity = self.words[_CAPACITY] * _GROWTH
        if self.path is None:
            return type(self).create(None, self.owner, capacity)
        try:
            return type(self).create(f"{self.path}.new", self.owner, capacity)
        except StoreError as error:
            logger.warning("an index cannot grow on disk and is kept in memory: %s", error)
            return type(self).create(None, self.owner, capacity)

    def publish(self, path: str) -> None:
        """Rename a table that was built under a temporary name to its final one."""
        assert self.path is not None
        try:
            os.rename(self.path, path)
        except OSError as error:
            store_error(error, path)
        self.path = path

    def close(self) -> None:
        """Unmap the file."""
        self.words.release()
        if self._descriptor_map is not None:
            self._descriptor_map.close()


def _problem(words: memoryview, size: int) -> str | None:
    if not _ours(words[0]):
        return "foreign"
    if words[0] >> _VERSION_SHIFT > _VERSION:
        return "newer"
    capacity = words[_CAPACITY]
    whole = capacity and capacity & (capacity - 1) == 0 and size == _HEADER_BYTES + capacity * 16
    return None if whole and words[_USED] < capacity else "damaged"


def _allocate(path: str, size: int) -> mmap.mmap:
    try:
        if os.path.lexists(path):
            os.unlink(path)
        descriptor = open_append(path)
    except OSError as error:
        store_error(error, path)
    try:
        os.posix_fallocate(descriptor, 0, size)
        return mmap.mmap(descriptor, size)
    except OSError as error:
        os.unlink(path)
        store_error(error, path)
    finally:
        os.close(descriptor)
