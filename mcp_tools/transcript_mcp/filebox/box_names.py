"""The names in a box, read again only when the folder has changed."""

import os
import time
from typing import Final, NamedTuple

from transcript_mcp.filebox.file_names import suffix_of_name
from transcript_mcp.filebox.folders import MailboxFolder
from transcript_mcp.filebox.values import Box

__all__ = ["Listing", "Moves"]

_TICK: Final = 100_000_000  # ns; no clock of a file system that counts fractions of a second ticks more slowly
_COARSE_TICK: Final = 2_000_000_000
_SECOND: Final = 1_000_000_000


class Moves(NamedTuple):
    """Names that came or whose file is another one now, and names that went."""

    came: set[str]
    went: set[str]


class Listing:
    """Every mail of a box with the inode of its file: regular files that end in ``.md`` and are not hidden."""

    def __init__(self, mailbox: MailboxFolder, box: Box) -> None:
        self._mailbox: Final = mailbox
        self._box: Final = box
        self._version: object = None
        self._joined: str | None = None  # one text is searched faster than ten thousand
        self.inodes: Final[dict[str, int]] = {}
        self.odd: Final[set[str]] = set()
        """Names that do not tell the id of their mail."""

    def version(self) -> object:
        """Changes whenever a file comes or goes; costs one look at the folder."""
        with self._mailbox.looked_at(self._box) as folder:
            return _version(os.fstat(folder)) if folder is not None else None

    def refresh(self) -> Moves:
        """Look again. Raises MailboxUnavailableError and ConfigError."""
        with self._mailbox.looked_at(self._box) as folder:
            if folder is None:
                self._version = None
                return self._change({}, set(self.inodes))
            found = os.fstat(folder)
            if (now := _version(found)) == self._version:
                return Moves(set(), set())
            try:
                moves = self._read(folder)
            except OSError as error:
                self._mailbox.failed(f"look into {self._box}", error)
            self._version = now if _has_settled(found.st_mtime_ns) else None
            return moves

    def ending(self, suffix: str) -> set[str]:
        """The names that end so, as of the last look."""
        if self._joined is None:
            self._joined = "\n".join(["", *self.inodes, ""])
        found, at, wanted = set[str](), 0, f"{suffix}\n"
        while (at := self._joined.find(wanted, at)) >= 0:
            name = self._joined[self._joined.rindex("\n", 0, at) + 1 : at + len(suffix)]
            if name in self.inodes:
                found.add(name)
            at += len(wanted)
        return found

    def _read(self, folder: int) -> Moves:
        seen, came = set[str](), dict[str, int]()
        with os.scandir(folder) as found:
            for entry in found:
                name = entry.name
                if not name.endswith(".md") or name[0] == ".":
                    continue
                inode = entry.inode()
                if self.inodes.get(name) != inode:
                    if not entry.is_file(follow_symlinks=False):
                        continue
                    came[name] = inode
                seen.add(name)
        return self._change(came, self.inodes.keys() - seen)

    def _change(self, came: dict[str, int], went: set[str]) -> Moves:
        """In place: names that stay are not kept in memory a second time."""
        if came or went:
            for name in went:
                del self.inodes[name]
            self.inodes.update(came)
            self._joined = None
        self.odd.difference_update(went)
        self.odd.update(name for name in came if suffix_of_name(name) is None)
        return Moves(set(came), went)


def _version(folder: os.stat_result) -> tuple[int, int]:
    return folder.st_ino, folder.st_mtime_ns


def _has_settled(changed_ns: int) -> bool:
    """False as long as somebody could write within the same tick of the clock, so that it would not show."""
    tick = _TICK if changed_ns % _SECOND else _COARSE_TICK
    return changed_ns < time.time_ns() - tick
