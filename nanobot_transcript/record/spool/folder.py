"""One folder of a spool: a transcript store, and how far its lines have been handed on.

Besides the files of every store, ``.state/sent`` holds a position for each chat. ``.state/address`` names the record
the lines were written for, as far as that is known before the record was ever reached; ``.state/record`` is its
identity, written for good when the first line is handed on.
"""

import logging
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import InvalidCursorError, StoreError
from nanobot_transcript.files.descriptors import open_read
from nanobot_transcript.files.layout import Layout, make_folders, stem_of
from nanobot_transcript.files.os_errors import store_error
from nanobot_transcript.files.replace import write_whole
from nanobot_transcript.files.usage import folder_size
from nanobot_transcript.store.contract import DEFAULT_SEGMENT_BYTES
from nanobot_transcript.store.jsonl.backend import FsyncPolicy, JsonlBackend
from nanobot_transcript.store.jsonl.cursor import START, SegmentPosition, format_cursor, parse_cursor
from nanobot_transcript.store.jsonl.segments import Segments
from nanobot_transcript.store.jsonl.session_keys import key_of
from nanobot_transcript.store.lines.codec import decode, encode
from nanobot_transcript.store.lines.ops import is_erasure_mark

__all__ = ["Batch", "Folder", "store_in"]

_BATCH_LINES: Final = 100
_BATCH_BYTES: Final = 4 << 20
_PER_CHAT: Final = 24 << 10
"""Bytes that the files of one more chat take up, even when nearly empty."""
_LOCK_TIMEOUT: Final = 2.0
_LONGEST: Final = 4096
_GONE: Final = ".gone"

logger = logging.getLogger(__name__)


class Batch(NamedTuple):
    """Lines of one chat, the position behind them, and whether there are more."""

    lines: list[Entry]
    place: SegmentPosition
    more: bool


class Folder:
    """Only its own process writes to it and hands its lines on.

    ``waiting`` are the chats that may have lines to hand on, in the order of their turns, each with the earliest moment
    (``time.monotonic``); ``sending`` is the chat being handed on, ``writers`` the number of threads about to write.
    These change under the spool's lock.
    """

    def __init__(
        self, base: Path, fsync: FsyncPolicy = "never", fsync_interval: float = 1.0, *, address: str = ""
    ) -> None:
        """``address`` is that of the record this process writes for; see ``FarBackend.address``."""
        self.base: Path = base
        self.lines: JsonlBackend = store_in(base, fsync, fsync_interval)
        self._layout: Layout = Layout(base)
        self._sent: Path = self._layout.state / "sent"
        self._note: Path = self._layout.state / "record"
        self._address_note: Path = self._layout.state / "address"
        self._address: str = address
        self._places: dict[str, SegmentPosition] = {}
        self._chats: set[str] = set()
        self._record: str = _read(self._note)
        self.meant_for: str = _read(self._address_note)
        """The address of the record it was written for; empty when an earlier version did not note it."""
        self.is_elsewhere: bool = self.meant_for not in ("", address)
        """The lines were written for another address. It may be an earlier address of this record; asking the record
        tells.
        """
        self.size: int = folder_size(base)[0]
        self.born: float = time.monotonic()
        self.writers: int = 0
        self.sending: str | None = None
        self.foreign: bool = False
        """The lines belong to another record than the one reached now."""
        self.waiting: dict[str, float] = dict.fromkeys(self._found(), 0.0)

    def _found(self) -> Iterator[str]:
        for stem, paths in self._layout.files().items():
            key = key_of(self._layout, stem)
            if key is not None:
                self._chats.add(key)
                yield key
            elif any(map(_holds_something, paths)):
                self.foreign = True
                logger.error("%s has lost its session key; it is kept and not handed on", paths[0])

    @property
    def is_done(self) -> bool:
        """True when nothing waits in it and nobody is writing. Under the spool's lock."""
        return not (self.waiting or self.sending is not None or self.writers or self.foreign)

    @property
    def is_ours(self) -> bool:
        """True unless its lines are known, or must be assumed, to belong to another record."""
        return not (self.foreign or self.is_elsewhere)

    def waits(self, session_key: str) -> bool:
        """True when lines of a chat of this record may be waiting. Under the spool's lock."""
        return self.is_ours and (session_key in self.waiting or session_key == self.sending)

    def grow(self, session_key: str, entry: Entry) -> int:
        """Count a line that is about to be written; returns its bytes."""
        grown = len(encode(entry))
        if session_key not in self._chats:
            self._chats.add(session_key)
            grown += _PER_CHAT
        self.size += grown
        return grown

    def has(self, session_key: str) -> bool:
        """True when something of a chat was written here, handed on or not."""
        return session_key in self._chats

    def chats(self) -> list[str]:
        """The chats of which something was written here."""
        return sorted(self._chats)

    # -- what is to be handed on

    def batch(self, session_key: str) -> Batch:
        """The next lines of a chat."""
        place, size = self.place(session_key), 0
        lines: list[Entry] = []
        for after, entry, length in self._behind(session_key, place):
            if len(lines) >= _BATCH_LINES or (lines and size + length > _BATCH_BYTES):
                return Batch(lines, place, more=True)
            place, size = after, size + length
            if entry is not None:
                lines.append(entry)
        return Batch(lines, place, more=False)

    def tail(self, session_key: str) -> Iterator[Entry]:
        """All lines of a chat that are not handed on."""
        for _, entry, _ in self._behind(session_key, self.place(session_key)):
            if entry is not None:
                yield entry

    def first(self, session_key: str) -> Entry | None:
        """The line that has waited longest in a chat."""
        return next(islice(self.tail(session_key), 1), None)

    def behind(self, session_key: str) -> tuple[int, int]:
        """How many lines of a chat wait, and their bytes."""
        count = size = 0
        for _, entry, length in self._behind(session_key, self.place(session_key)):
            count, size = count + (entry is not None), size + length
        return count, size

    def _behind(self, session_key: str, place: SegmentPosition) -> Iterator[tuple[SegmentPosition, Entry | None, int]]:
        """(position behind it, the line, its bytes); None for a line that must not be handed on."""
        for segment, offset, line in Segments(self._layout, stem_of(session_key)).forward(place):
            entry = decode(line)
            known = entry if entry is not None and not is_erasure_mark(entry) else None
            yield SegmentPosition(segment.number, offset + len(line) + 1), known, len(line)

    def place(self, session_key: str) -> SegmentPosition:
        """Up to where a chat was handed on."""
        place = self._places.get(session_key)
        if place is None:
            place = self._places[session_key] = self._noted(stem_of(session_key))
        return place

    def move(self, session_key: str, place: SegmentPosition) -> None:
        """Note that everything before a position was handed on. If that cannot be written, lines are handed on twice,
        which is harmless.
        """
        if place == self._places.get(session_key):
            return
        self._places[session_key] = place
        stem = stem_of(session_key)
        try:
            make_folders(self.base, self._sent)
            _write_over(self._sent / stem, format_cursor(stem, place))
        except (OSError, StoreError) as error:
            logger.warning(
                "%s: progress cannot be saved, some lines may be handed on twice (harmless): %s", self.base, error
            )

    def _noted(self, stem: str) -> SegmentPosition:
        try:
            return parse_cursor(stem, _read(self._sent / stem).strip())
        except InvalidCursorError:
            return START

    # -- whose it is

    def begin(self) -> None:
        """Note which record the lines will be for, before there are any. Raises StoreError kinds."""
        self._write(self._address_note, self._address)
        self.meant_for = self._address

    @property
    def is_never_ours(self) -> bool:
        """True when that is certain without asking the record: the lines were written for another address, and no
        record at that address was ever reached.
        """
        return self.is_elsewhere and not self._record and not self._last_there()

    def is_for(self, identity: str) -> bool:
        """True when its lines are for this record, as far as the notes tell; ``identity`` is empty while unknown."""
        if self._record and identity:
            return self._record == identity
        return not self.is_elsewhere or (bool(identity) and self._last_there() == identity)

    def belongs_to(self, identity: str) -> bool:
        """True when its lines may be handed on to this record; from then on they belong to it alone. Raises StoreError
        kinds.
        """
        if not self.is_for(identity):
            return False
        if not self._record:
            self._write(self._note, identity)
            self._record = identity
            if not self.is_elsewhere:
                self._remember(identity)
        self.is_elsewhere = False
        return True

    def _last_there(self) -> str:
        """The identity last seen at the address the lines were written for, by any process with the same spool. That
        record may be restored under another address while lines wait that were written when it was away.
        """
        return _read(self._seen_at(self.meant_for)) if self.meant_for else ""

    def _remember(self, identity: str) -> None:
        seen = self._seen_at(self._address)
        if self._address and _read(seen) != identity:
            make_folders(self.base.parents[1], seen.parent)
            self._write_note(seen, identity)

    def _seen_at(self, address: str) -> Path:
        return (
            self.base.parents[1] / "records" / blake2b(address.encode("utf-8", "replace"), digest_size=16).hexdigest()
        )

    @property
    def notes(self) -> list[Path]:
        """The files that say whose the lines are."""
        return [note for note in (self._note, self._address_note) if note.exists()]

    def _write(self, note: Path, text: str) -> None:
        make_folders(self.base, self._layout.state)
        self._write_note(note, text)

    def _write_note(self, note: Path, text: str) -> None:
        try:
            write_whole(str(note), text.encode())
        except OSError as error:
            store_error(error, str(note))

    # -- its end

    def close(self) -> None:
        """Release files."""
        self.lines.close()

    def drop(self) -> None:
        """Remove it with everything in it."""
        self.close()
        gone = self.base.with_name(self.base.name + _GONE)
        with suppress(FileNotFoundError):  # nothing was ever written
            self.base.rename(gone)  # renamed first, so that a half-removed folder is not taken for waiting lines
            shutil.rmtree(gone)


def store_in(base: Path, fsync: FsyncPolicy, fsync_interval: float) -> JsonlBackend:
    """A transcript store of a spool."""
    return JsonlBackend(
        base,
        fsync=fsync,
        fsync_interval=fsync_interval,
        segment_bytes=DEFAULT_SEGMENT_BYTES,
        lock_timeout=_LOCK_TIMEOUT,
    )


def _holds_something(path: str) -> bool:
    try:
        return Path(path).stat().st_size > 0
    except OSError:  # its process is removing it
        return False


def _read(path: Path) -> str:
    """The text of a short note; empty when there is none."""
    descriptor = open_read(str(path))
    if descriptor is None:
        return ""
    try:
        return os.pread(descriptor, _LONGEST, 0).decode("utf-8", "replace")
    finally:
        os.close(descriptor)


def _write_over(path: Path, text: str) -> None:
    """Write in one call, which a kill cannot divide. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.pwrite(descriptor, text.encode().ljust(64), 0)
    finally:
        os.close(descriptor)
