"""Transcripts as a whole, for moving them: every line as it stands, and many lines at once."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import InvalidCursorError, StoreError
from nanobot_transcript.files.layout import Layout, stem_of
from nanobot_transcript.store.contract import Line, Standing
from nanobot_transcript.store.jsonl import maintenance, session_keys
from nanobot_transcript.store.jsonl.chatlog import ChatLog
from nanobot_transcript.store.jsonl.cursor import START, format_cursor, parse_cursor
from nanobot_transcript.store.jsonl.duplicates import Copies
from nanobot_transcript.store.jsonl.erasure import is_json
from nanobot_transcript.store.jsonl.fsync import Syncer
from nanobot_transcript.store.jsonl.ops import JsonlOps
from nanobot_transcript.store.jsonl.reader import lines_with
from nanobot_transcript.store.jsonl.segments import Segments
from nanobot_transcript.store.lines.codec import decode
from nanobot_transcript.store.lines.ids import id_keys
from nanobot_transcript.store.lines.ops import is_op

__all__ = ["JsonlBulk"]

_PATIENCE: Final = 10.0
"""Seconds that a batch waits for the lock of a transcript."""
_PURGED: Final = ".purged"


@dataclass(eq=False, slots=True)
class JsonlBulk:
    """The transcripts of a folder, for moving them out or in. For one thread."""

    _layout: Layout
    _segment_bytes: int
    _syncer: Syncer
    _open: tuple[str, ChatLog] | None = field(default=None, init=False)

    # -- what there is

    def standings(self) -> Iterator[Standing]:
        """How far each transcript goes, including chats of which only a purge is known."""
        files = self._layout.files()
        for stem in sorted({*files, *self._purged_stems()}):
            key = session_keys.key_of(self._layout, stem)
            if key is not None:
                yield self._standing(key, files.get(stem, []))

    def nameless(self) -> list[str]:
        """The files of transcripts whose session key is lost."""
        files = self._layout.files().items()
        lost = [paths for stem, paths in files if session_keys.key_of(self._layout, stem) is None]
        return [path for paths in lost for path in paths if _holds_something(path)]

    def end(self, session_key: str) -> str:
        """The cursor behind the last line."""
        segments = self._segments(session_key)
        return format_cursor(segments.stem, segments.end())

    def start(self, session_key: str) -> str:
        """The cursor in front of the first line."""
        return format_cursor(self._segments(session_key).stem, START)

    # -- out

    def lines(self, session_key: str, after: str | None, upto: str | None = None) -> Iterator[Line]:
        """Every line behind a cursor, up to another one. Lines that were blanked by an erasure are left out."""
        segments = self._segments(session_key)
        stem, copies, ops = segments.stem, Copies(segments), JsonlOps(segments).since(START)
        stop = parse_cursor(stem, upto) if upto is not None else None
        try:
            for segment, offset, line in segments.forward(START if after is None else parse_cursor(stem, after)):
                if stop is not None and (segment.number, offset) >= stop:
                    return
                cursor = f"c1.{stem[-6:]}.{segment.number:x}.{offset + len(line) + 1:x}"
                entry = decode(line)
                if entry is None:
                    if line.strip():
                        yield Line(cursor, None, _flaw(line))
                elif not is_op(entry) and copies.is_copy(segment, offset, entry, ops):
                    yield Line(cursor, None, "copy")
                else:
                    yield Line(cursor, entry)
        finally:
            copies.release()

    def bodies(self, session_key: str, after: str) -> Iterator[tuple[str, bytes]]:
        """The bytes of every line behind a cursor that is not blank, with the cursor behind it."""
        segments = self._segments(session_key)
        stem = segments.stem
        for segment, offset, line in segments.forward(parse_cursor(stem, after)):
            if body := line.rstrip(b" "):
                yield f"c1.{stem[-6:]}.{segment.number:x}.{offset + len(line) + 1:x}", body

    def line_at(self, session_key: str, cursor: str) -> Entry | None:
        """The line that ends at a cursor; None when it is gone. Raises InvalidCursorError when the cursor lies within a
        line: erasing never moves a line, so the cursor belongs to another file.
        """
        segments = self._segments(session_key)
        place = parse_cursor(segments.stem, cursor)
        for segment, offset, block in segments.backward(place):
            if (segment.number, offset + len(block)) != place:
                return None
            if not block.endswith(b"\n"):
                raise InvalidCursorError(f"{cursor} is a place in another transcript.")
            return decode(block[:-1].rpartition(b"\n")[2])
        return None

    def hidden(self, session_key: str) -> set[str]:
        """Every id of the messages that were recalled or redacted."""
        ops = JsonlOps(self._segments(session_key)).since(START)
        return ops.together(ops.hidden)

    def knows(self, session_key: str, message_id: str, key: str) -> bool:
        """True when the index has a line about a message under this key."""
        found = lines_with(self._segments(session_key), message_id)
        return any(key in id_keys(entry) for _, entry in found)

    # -- in

    def extend(self, session_key: str, lines: Sequence[bytes], behind: str) -> tuple[int, str] | None:
        """Append whole lines, without their ends, unchanged; None when somebody else has written behind the cursor.

        Returns for how many of them there was room in the segment, and the cursor behind them.
        """
        segments = self._segments(session_key)
        place = parse_cursor(segments.stem, behind)

        def is_last() -> bool:
            return not any(decode(line) is not None for _, _, line in segments.forward(place))

        count, end = self._log(session_key, segments.stem).extend([line + b"\n" for line in lines], is_last)
        return (count, format_cursor(segments.stem, end)) if count else None

    def note_purge(self, session_key: str, moment_ms: float) -> None:
        """Note that something was purged at a moment, unless a later purge is known."""
        segments = self._segments(session_key)
        self._layout.create()
        session_keys.remember(self._layout, segments.stem, session_key)
        maintenance.remember_purge(segments, moment_ms)

    def note_write(self, session_key: str, moment_ms: float) -> None:
        """Set the time of the last write."""
        path, moment_ns = self._layout.active(self._segments(session_key).stem), int(moment_ms * 1_000_000)
        if moment_ns > 0 and os.path.lexists(path):
            os.utime(path, ns=(moment_ns, moment_ns), follow_symlinks=False)

    def _log(self, session_key: str, stem: str) -> ChatLog:
        if self._open is None or self._open[0] != session_key:
            log = ChatLog(self._layout, session_key, stem, self._segment_bytes, _PATIENCE, self._syncer)
            self._open = session_key, log
        return self._open[1]

    def _segments(self, session_key: str) -> Segments:
        return Segments(self._layout, stem_of(session_key))

    def _standing(self, session_key: str, paths: Sequence[str]) -> Standing:
        size, written = 0, 0.0
        for path in paths:
            try:
                status = os.lstat(path)
            except FileNotFoundError:
                continue
            size, written = size + status.st_size, max(written, status.st_mtime)
        try:
            end, purged = self.end(session_key), maintenance.purged_at(self._segments(session_key))
        except StoreError:
            end, purged = "", 0.0
        return Standing(session_key, end, size, written * 1000, purged)

    def _purged_stems(self) -> list[str]:
        try:
            names = os.listdir(self._layout.index)
        except OSError:
            return []
        return [name.removesuffix(_PURGED) for name in names if name.endswith(_PURGED)]


def _flaw(line: bytes) -> str:
    return "torn" if line.lstrip().startswith(b"{") and not is_json(line) else "foreign"


def _holds_something(path: str) -> bool:
    try:
        return os.lstat(path).st_size > 0
    except OSError:
        return False
