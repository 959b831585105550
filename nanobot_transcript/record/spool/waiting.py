"""What waits in a spool directory, of all processes, for the person who runs them."""

from dataclasses import dataclass
from pathlib import Path

from nanobot_transcript.errors import StoreError
from nanobot_transcript.record.spool.folder import Folder
from nanobot_transcript.record.spool.slot import folders_in, slots_in

__all__ = ["Waiting", "waiting_in"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """``lines`` and ``bytes`` that are not handed on, ``oldest_ms`` when the first of them was received (ms; None
    without one), ``error`` why they are not, if that is known, and how many lines were ``refused`` for good.
    """

    lines: int = 0
    bytes: int = 0
    oldest_ms: float | None = None
    error: str = ""
    refused: int = 0


def waiting_in(spool_dir: str | Path) -> Waiting:
    """Read what there is, and change nothing; also while processes use it. Raises StoreErrors."""
    lines = size = refused = 0
    oldest: list[float] = []
    errors: list[str] = []
    for slot in slots_in(Path(spool_dir).expanduser()):
        for path in folders_in(slot):
            folder = Folder(path)
            for key in folder.chats():
                count, length = folder.behind(key)
                lines, size = lines + count, size + length
                first = folder.first(key)
                if first is not None:
                    oldest.append(first.get("rts", first["ts"]))
            folder.close()
        errors += _trouble(slot / "trouble")
        refused += _refused(slot / "refused")
    return Waiting(lines, size, min(oldest, default=None), errors[0] if errors else "", refused)


def _trouble(path: Path) -> list[str]:
    try:
        return [path.read_text(encoding="utf-8")]
    except OSError:
        return []


def _refused(path: Path) -> int:
    if not path.is_dir():
        return 0
    folder = Folder(path)
    try:
        return sum(folder.behind(key)[0] for key in folder.chats())
    except StoreError:
        return 0
    finally:
        folder.close()
