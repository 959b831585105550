"""``Marks`` as small files in ``.state/cursors``, each named by a hash of its name and replaced as a whole."""

import hashlib
import json
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from nanobot_transcript.errors import StoreError
from nanobot_transcript.files.descriptors import to_read
from nanobot_transcript.files.failures import store_error
from nanobot_transcript.files.layout import STATE_FOLDER, make_folders
from nanobot_transcript.files.replace import write_whole

__all__ = ["FileMarks"]

logger = logging.getLogger(__name__)

_VERSION: Final = 1
_LARGEST: Final = 1 << 20
_HASH: Final = re.compile(r"[0-9a-f]{32}")
# As they have always lain: the marks of sessions bear no prefix, and private chats are a folder of names.
_NAMES: Final = {"session": ("", ".json"), "private": ("private/", "")}


class FileMarks:
    """Below the record in ``base_dir``. Nothing is made before something is put."""

    def __init__(self, base_dir: str | Path) -> None:
        self._base: Path = Path(base_dir).expanduser()
        self._folder: Path = self._base / STATE_FOLDER / "cursors"

    @property
    def blocking(self) -> bool:
        """False: it takes microseconds."""
        return False

    def get(self, kind: str, *name: str) -> dict[str, Any] | None:
        """See ``Marks.get``."""
        document = self._read(self._path(kind, name))
        return document if document is not None and document.get("v") == _VERSION else None

    def put(self, kind: str, document: dict[str, Any], *name: str) -> None:
        """See ``Marks.put``."""
        path = self._path(kind, name)
        known = (self._read(path) or {}).get("v", _VERSION)
        if known != _VERSION:
            return  # a newer version has written it, and may come back
        body = json.dumps({"v": _VERSION} | document, ensure_ascii=True, separators=(",", ":"))
        try:
            make_folders(self._base, path.parent)
            write_whole(str(path), body.encode("ascii"))
        except OSError as error:
            store_error(error, str(path))

    def has(self, kind: str, *name: str) -> bool:
        """See ``Marks.has``."""
        return os.path.lexists(self._path(kind, name))

    def each(self, kind: str) -> Iterator[dict[str, Any]]:
        """See ``Marks.each``."""
        for path in self._files(kind):
            try:
                document = self._read(path)
            except StoreError as error:  # the others are there all the same
                logger.warning("%s", error)
                continue
            if document is not None and document.get("v") == _VERSION:
                yield document

    def prune(self, kind: str, keep: int) -> int:
        """See ``Marks.prune``."""
        try:
            files = sorted(self._files(kind), key=lambda path: path.stat().st_mtime_ns, reverse=True)
            for path in files[keep:]:
                path.unlink(missing_ok=True)
        except FileNotFoundError:
            return 0  # another process was quicker
        except OSError as error:
            store_error(error, str(self._folder))
        return max(0, len(files) - keep)

    def _path(self, kind: str, name: tuple[str, ...]) -> Path:
        prefix, suffix = _NAMES.get(kind, (f"{kind}-", ".json"))
        # A part may hold what parts are joined with; then they are told apart, and all other names stay as they were.
        parts = (part.replace("\1", "\1\1").replace("\0", "\1\2") for part in name)
        salted = ("private:" if kind == "private" else "") + "\0".join(parts)
        return (
            self._folder / f"{prefix}{hashlib.sha256(salted.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}{suffix}"
        )

    def _files(self, kind: str) -> list[Path]:
        prefix, suffix = _NAMES.get(kind, (f"{kind}-", ".json"))
        found = self._folder.glob(f"{prefix}*{suffix}")
        return [path for path in found if _HASH.fullmatch(path.name.removeprefix(prefix).removesuffix(suffix))]

    def _read(self, path: Path) -> dict[str, Any] | None:
        """The document of any version; None when there is none, or nothing that can be understood."""
        try:
            with os.fdopen(to_read(str(path)), "rb") as file:
                document = json.loads(file.read(_LARGEST))
        except (FileNotFoundError, ValueError, RecursionError):
            return None
        except OSError as error:
            store_error(error, str(path))
        return document if isinstance(document, dict) else None
