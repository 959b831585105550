"""Small private files in the store's hidden folder: folders 0700, files 0600, replaced as a whole, no links."""

import json
import os
from pathlib import Path
from typing import Any, Final

from nanobot_transcript.files.descriptors import to_read
from nanobot_transcript.files.replace import write_whole

__all__ = ["make_folder", "read_json", "write_json"]

_LARGEST: Final = 1 << 20


def make_folder(base: Path, folder: Path) -> None:
    """Create ``folder``, which lies in ``base``, and what is missing above it. Raises OSError."""
    base.parent.mkdir(parents=True, exist_ok=True)
    for path in (base, *reversed([p for p in (folder, *folder.parents) if base in p.parents])):
        path.mkdir(mode=0o700, exist_ok=True)
        if path != base and path.is_symlink():
            raise NotADirectoryError(f"{path} is a symbolic link")


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a file; None when there is none, or nothing that can be understood. Raises OSError."""
    try:
        descriptor = to_read(str(path))
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        body = file.read(_LARGEST)
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Replace the file by ``document``. The folder exists, and one process writes this file. Raises OSError."""
    write_whole(str(path), json.dumps(document, ensure_ascii=True).encode("ascii"))
