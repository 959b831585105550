"""``Marks`` as small files in ``.state/cursors``, each named by a hash of its name and replaced as a whole."""

import json
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from nanobot_transcript.coordination.contract import KeptMark, digest_of, is_id
from nanobot_transcript.errors import StoreError
from nanobot_transcript.files.descriptors import to_read
from nanobot_transcript.files.layout import STATE_FOLDER, make_folders
from nanobot_transcript.files.os_errors import store_error
from nanobot_transcript.files.replace import write_whole

__all__ = ["FileMarks"]

logger = logging.getLogger(__name__)

_VERSION: Final = 1
_LARGEST: Final = 1 << 20
_NAMED: Final = re.compile(r"(?:(.+)-)?([0-9a-f]{32})(?:\.json)?")
# Fixed by earlier versions: marks of sessions have no prefix, and those of private chats a folder of their own. Those
# of moves, one per chat, are in a folder so that listing the others stays quick.
_NAMES: Final = {"session": ("", ".json"), "private": ("private/", ""), "moved": ("moved/", ".json")}


class FileMarks:
    """Below the record in ``base_dir``. Creates nothing before something is put."""

    def __init__(self, base_dir: str | Path) -> None:
        self._base: Path = Path(base_dir).expanduser()
        self._folder: Path = self._base / STATE_FOLDER / "cursors"

    @property
    def blocking(self) -> bool:
        """False: it takes microseconds."""
        return False

    def get(self, kind: str, *name: str) -> dict[str, Any] | None:
        """See ``Marks.get``."""
        return self.find(kind, digest_of(kind, name))

    def put(self, kind: str, document: dict[str, Any], *name: str) -> None:
        """See ``Marks.put``."""
        self.keep(KeptMark(kind, digest_of(kind, name), document))

    def keep(self, mark: KeptMark) -> None:
        """``put`` with the digest of a name."""
        path, document = self._place(mark.kind, mark.digest), mark.document or {}
        known = (self._read(path) or {}).get("v", _VERSION)
        if known != _VERSION:
            return  # a newer version has written it, and may run again
        body = json.dumps({"v": _VERSION} | document, ensure_ascii=True, separators=(",", ":"))
        try:
            make_folders(self._base, path.parent)
            write_whole(str(path), body.encode("ascii"))
        except OSError as error:
            store_error(error, str(path))

    def has(self, kind: str, *name: str) -> bool:
        """See ``Marks.has``."""
        return os.path.lexists(self._place(kind, digest_of(kind, name)))

    def each(self, kind: str) -> Iterator[dict[str, Any]]:
        """See ``Marks.each``."""
        for path in self._files(kind):
            try:
                document = self._read(path)
            except StoreError as error:  # the other marks are still good
                logger.warning("%s", error)
                continue
            if document is not None and document.get("v") == _VERSION:
                yield document

    def kept(self) -> Iterator[KeptMark]:
        """Every mark except those of kind ``moved``; the one that was put last comes last."""
        for _, path in sorted(self._stamped()):
            found = _NAMED.fullmatch(path.name)
            is_private = path.parent != self._folder
            if found is None or is_private == path.name.endswith(".json"):
                continue
            kind, document = "private" if is_private else found[1] or "session", self._read(path)
            if document is not None:
                version = document.pop("v", None)
                yield KeptMark(kind, found[2], document if version == _VERSION else None)
            elif is_private:  # its existence says everything
                yield KeptMark(kind, found[2], {})

    def find(self, kind: str, digest: str) -> dict[str, Any] | None:
        """``get`` with the digest of a name."""
        document = self._read(self._place(kind, digest))
        return document if document is not None and document.get("v") == _VERSION else None

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

    def _place(self, kind: str, digest: str) -> Path:
        prefix, suffix = _NAMES.get(kind, (f"{kind}-", ".json"))
        return self._folder / f"{prefix}{digest}{suffix}"

    def _stamped(self) -> Iterator[tuple[int, Path]]:
        """Every file that may be a mark, with the time of its last change."""
        for folder in (self._folder, self._folder / "private"):
            try:
                paths = list(folder.iterdir())
            except FileNotFoundError:
                continue
            except OSError as error:
                store_error(error, str(folder))
            for path in paths:
                try:
                    yield path.stat(follow_symlinks=False).st_mtime_ns, path
                except FileNotFoundError:
                    continue

    def _files(self, kind: str) -> list[Path]:
        prefix, suffix = _NAMES.get(kind, (f"{kind}-", ".json"))
        found = self._folder.glob(f"{prefix}*{suffix}")
        return [path for path in found if is_id(path.name.removeprefix(prefix).removesuffix(suffix))]

    def _read(self, path: Path) -> dict[str, Any] | None:
        """The document of any version; None when there is none, or it cannot be understood."""
        try:
            with os.fdopen(to_read(str(path)), "rb") as file:
                document = json.loads(file.read(_LARGEST))
        except (FileNotFoundError, ValueError, RecursionError):
            return None
        except OSError as error:
            store_error(error, str(path))
        return document if isinstance(document, dict) else None
