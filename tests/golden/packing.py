"""The golden data as it is kept: a packed folder for each room, with a neutral place in it instead of a machine's."""

import gzip
import hashlib
import io
import tarfile
from pathlib import Path
from typing import Final

__all__ = ["PLACE", "ROOMS", "pack", "unpack"]

DATA: Final = Path(__file__).resolve().parent / "data"
PLACE: Final = "/srv/golden-data"
"""Where the data was written, and what stands in those of its files that name a folder."""

WRITTEN: Final = 1_763_600_000
"""When, by the times of the files: 2025-11-20."""

ROOMS: Final = ("record", "mail", "filebox", "hub", "shop")
_NAMING: Final = ("filebox/filebox.json", "shop/.git/hooks/pre-commit")
_MARK: Final = "# agent-mail-guard sha256="


def pack(folder: Path, room: str) -> None:
    """Keep a room that was written in ``folder``; the same files make the same bytes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path in [folder / room, *sorted((folder / room).rglob("*"))]:
            entry = tar.gettarinfo(path, path.relative_to(folder).as_posix())
            entry.uid = entry.gid = 0
            entry.mtime = WRITTEN
            entry.uname = entry.gname = ""
            with path.open("rb") if entry.isreg() else io.BytesIO() as content:
                tar.addfile(entry, content)
    DATA.mkdir(exist_ok=True)
    (DATA / f"{room}.tar.gz").write_bytes(gzip.compress(packed.getvalue(), mtime=0))


def unpack(folder: Path, *rooms: str) -> Path:
    """Lay rooms down in ``folder``, as if they had been written there."""
    for room in rooms:
        with tarfile.open(DATA / f"{room}.tar.gz") as tar:
            tar.extraction_filter = lambda member, _: member  # as an argument it is unknown to Debian's Python 3.11.2
            tar.extractall(folder)
    for name in _NAMING:
        path = folder / name
        if path.exists():
            path.write_text(moved(path.read_text("utf-8"), PLACE, str(folder)), "utf-8")
    return folder


def moved(text: str, old: str, new: str) -> str:
    """A file with another folder in it; the pre-commit guard has a checksum below its head, and gets a new one."""
    text = text.replace(old, new)
    head, mark, rest = text.partition(_MARK)
    if not mark:
        return text
    body = rest.partition("\n")[2]
    return f"{head}{mark}{hashlib.sha256(body.encode()).hexdigest()}\n{body}"
