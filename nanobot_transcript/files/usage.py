"""How much disk space a folder or a database takes up."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["database_size", "folder_size"]

_MOST_FILES: Final = 50_000
_DEEPEST: Final = 6


def folder_size(folder: Path) -> tuple[int, int]:
    """Bytes and number of the files below a folder; of very many files only those seen first."""
    size = count = 0
    waiting = [(str(folder), 0)]
    while waiting:
        place, depth = waiting.pop()
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if depth < _DEEPEST:
                            waiting.append((entry.path, depth + 1))
                    elif entry.is_file(follow_symlinks=False):
                        size, count = size + entry.stat(follow_symlinks=False).st_size, count + 1
        except OSError:
            continue
        if count >= _MOST_FILES:
            break
    return size, count


def database_size(path: Path) -> tuple[int, int]:
    """Bytes and number of the files of an SQLite database; zero when there is none."""
    sizes: list[int] = []
    for ending in ("", "-wal", "-shm"):
        with suppress(OSError):
            sizes.append(Path(f"{path}{ending}").stat().st_size)
    return sum(sizes), len(sizes)
