"""Where the files of a record are.

``<stem>.jsonl`` is the active segment of a chat, ``<stem>.000001.jsonl`` a closed one; everything else is in the hidden
folder ``.state``. Reading creates nothing.
"""

import hashlib
import os
import re
import time
from pathlib import Path
from typing import Final

from nanobot_transcript.errors import UnsafePathError
from nanobot_transcript.files.os_errors import store_error

__all__ = ["STATE_FOLDER", "UNSAFE", "Layout", "make_folders", "stem_of"]

STATE_FOLDER: Final = ".state"
_ID_TABLE_SUFFIX: Final = ".ids"
UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]+")
"""Characters of a session key that a file name must not have."""
_CLOSED = re.compile(r"\.(\d{6,})\.jsonl\Z")
_SETTLED_NS: Final = 2_000_000_000
"""For so long after a change, a folder may change again without getting another time stamp."""


def stem_of(session_key: str) -> str:
    """A file name without ending: a readable prefix and a hash of the exact key.

    The hash keeps keys apart that differ only in case, punctuation or script, also on file systems that fold case.
    """
    digest = hashlib.sha256(session_key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    prefix = UNSAFE.sub("_", session_key)[:48].strip("_")
    return f"{prefix}-{digest}" if prefix else digest


def make_folders(base: Path, *below: Path) -> None:
    """Create ``base`` and the folders ``below`` it, with all in between, where missing: readable only by the user
    (0700).

    Folders above ``base`` get the usual mode. Raises UnsafePathError for a link below ``base``, and other StoreError
    kinds.
    """
    try:
        base.parent.mkdir(parents=True, exist_ok=True)
        base.mkdir(mode=0o700, exist_ok=True)
        for folder in below:
            place = base
            for part in folder.relative_to(base).parts:
                place /= part
                place.mkdir(mode=0o700, exist_ok=True)
                if place.is_symlink():
                    raise UnsafePathError(
                        f"{place} is a link.", hint="The store never follows links. Move it away and try again."
                    )
    except OSError as error:
        store_error(error, str(base))


class Layout:
    """The paths of one store."""

    __slots__ = ("_listing", "base", "index", "locks", "state")

    def __init__(self, base: Path) -> None:
        self.base: Final = base
        self.state: Final = base / STATE_FOLDER
        self.index: Final = self.state / "index"
        self.locks: Final = self.state / "locks"
        self._listing: tuple[tuple[int, int, int], dict[str, list[int]]] | None = None

    def create(self) -> None:
        """Create the folders (0700) where they are missing."""
        make_folders(self.base, self.index, self.locks)

    def active(self, stem: str) -> str:
        """The segment that is being written."""
        return str(self.base / f"{stem}.jsonl")

    def closed(self, stem: str, number: int) -> str:
        """A segment that is complete."""
        return str(self.base / f"{stem}.{number:06d}.jsonl")

    def ids(self, stem: str, number: int | None = None) -> str:
        """The id table of the active segment, or of a closed one."""
        middle = "" if number is None else f".{number:06d}"
        return str(self.index / f"{stem}{middle}{_ID_TABLE_SUFFIX}")

    def key_file(self, stem: str) -> str:
        """Holds the exact session key, which a file name cannot."""
        return str(self.index / f"{stem}.key")

    def journal(self, stem: str) -> str:
        """What an erasure is about to overwrite."""
        return str(self.index / f"{stem}.erase")

    def unsaid(self, stem: str) -> str:
        """Exists while an erasure is going on or done that readers have not been told about."""
        return str(self.index / f"{stem}.unsaid")

    def purged(self, stem: str) -> str:
        """Holds the time of the last purge."""
        return str(self.index / f"{stem}.purged")

    def erased(self, stem: str) -> str:
        """Holds how far recalls have been carried out on the disk."""
        return str(self.index / f"{stem}.erased")

    def lock(self, stem: str, purpose: str) -> str:
        """A lock file for work off the append path."""
        return str(self.locks / f"{stem}.{purpose}.lock")

    def listed_numbers(self, stem: str) -> list[int]:
        """Like ``closed_numbers``, for readers of many chats: one listing of the folder serves all of them while it is
        unchanged. Writers need the state at this moment and must use ``closed_numbers``.
        """
        try:
            status = os.stat(self.base)
        except OSError:
            return self.closed_numbers(stem)
        state = status.st_ino, status.st_mtime_ns, status.st_ctime_ns
        listing = self._listing
        if listing is None or listing[0] != state:
            if time.time_ns() - status.st_mtime_ns < _SETTLED_NS:
                return self.closed_numbers(stem)
            listing = self._listing = state, self._every_closed()
        return list(listing[1].get(stem, ()))

    def _every_closed(self) -> dict[str, list[int]]:
        closed: dict[str, list[int]] = {}
        for stem, paths in self.files().items():
            numbers = [int(match[1]) for path in paths if (match := _CLOSED.search(path))]
            if numbers:
                closed[stem] = sorted(numbers)
        return closed

    def closed_numbers(self, stem: str) -> list[int]:
        """Numbers of the closed segments on the disk, oldest first."""
        try:
            with os.scandir(self.base) as entries:
                ours = (entry.name for entry in entries if entry.name.startswith(stem))
                numbers = [int(match[1]) for name in ours if (match := _CLOSED.fullmatch(name, len(stem)))]
        except FileNotFoundError:
            return []
        except OSError as error:
            store_error(error, str(self.base))
        return sorted(numbers)

    def files(self) -> dict[str, list[str]]:
        """The paths of each chat's files, by stem in the order of names, from one listing of the folder."""
        try:
            names = os.listdir(self.base)
        except FileNotFoundError:
            return {}
        except OSError as error:
            store_error(error, str(self.base))
        found: dict[str, list[str]] = {}
        for name in names:
            if name.endswith(".jsonl") and not name.startswith("."):
                stem = _CLOSED.sub(".jsonl", name).removesuffix(".jsonl")
                found.setdefault(stem, []).append(str(self.base / name))
        return dict(sorted(found.items()))
