"""Packs repositories: git writes each new object to a file of its own, and a pack holds them in a tenth of the space.

A separate process does it, so that archiving goes on meanwhile: ``git`` if it is installed, else this module.
"""

import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pygit2

from transcript_mcp.mail.archive.commits import ProjectRepository
from transcript_mcp.mail.archive.parent import end_with_parent
from transcript_mcp.mail.archive.repository import loose_objects, packs

__all__ = ["Repacking", "main"]

_LOOSE: Final = 6700
"""Git's own default for too many loose objects (``gc.auto``)."""
_WEIGHT: Final = 64 << 20
"""Bytes of loose objects that are too many: each commit writes a new tree of a large folder."""
_BUSY_TIMES: Final = 4
_PACKS: Final = 20
_DAY: Final = 86_400.0
_AFTER_A_FAILURE: Final = 3600.0
_LEFT_BEHIND: Final = 3600.0
_SMALL_STEP: Final = ["repack", "-d", "-l", "-q"]
_WHOLE: Final = ["gc", "--quiet"]

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Count:
    """A count of ``loose`` objects with ``size`` bytes, when the repository's own counters were ``objects`` and
    ``weight``. ``packed``: time of the last packing, in seconds since 1970.
    """

    loose: int = 0
    size: int = 0
    objects: int = 0
    weight: int = 0
    packed: float = 0.0
    not_before: float = 0.0


@dataclass(frozen=True, slots=True)
class _Running:
    process: "subprocess.Popen[bytes]"
    repository: ProjectRepository


class Repacking:
    """At most one repack at a time, over all repositories of a store.

    Packs when there are more than ``loose`` loose objects, or more than ``weight`` bytes of them, and no mail arrives;
    with four times as much at any time.
    """

    def __init__(self, loose: int = _LOOSE, weight: int = _WEIGHT, git: str = "git") -> None:
        self._loose: int = loose
        self._weight: int = weight
        self._git: str | None = shutil.which(git)
        self._counts: dict[str, _Count] = {}
        self._running: _Running | None = None

    @property
    def is_running(self) -> bool:
        """True from the start of a repack until ``look`` has noticed its end."""
        return self._running is not None

    def look(self) -> None:
        """Check whether the repack has ended."""
        if self._running is None or self._running.process.poll() is None:
            return
        repository, code = self._running.repository, self._running.process.returncode
        self._running = None
        count = self._counted(repository)
        if code != 0:
            logger.warning("Packing %s ended with %d; trying again in an hour.", repository.folder, code)
            count.not_before = time.time() + _AFTER_A_FAILURE

    def start_if_due(self, repository: ProjectRepository, *, quiet: bool) -> bool:
        """Start packing if needed, or count loose objects; False when there was nothing to do.

        Without ``quiet`` only if there are so many that the file system suffers.
        """
        if self._running is not None:
            return False
        count = self._counts.get(repository.slug)
        if count is None and quiet:
            self._counted(repository)
            return True
        count = count or _Count(packed=time.time())
        loose = count.loose + repository.objects - count.objects
        size = count.size + repository.weight - count.weight
        now = time.time()
        daily = quiet and loose > 0 and now - count.packed > _DAY
        if now < count.not_before or not (daily or self._too_much(loose, size, 1 if quiet else _BUSY_TIMES)):
            return False
        count = self._counted(repository)
        if not daily and not self._too_much(count.loose, count.size, 1):
            return True  # fewer than our counters say: many objects existed already
        self._start(repository, whole=daily or len(packs(repository.folder / ".git")) >= _PACKS)
        return True

    def close(self) -> None:
        """Kill a running repack; that leaves git's repository intact."""
        if self._running is not None:
            self._running.process.kill()
            self._running.process.wait()
            self._running = None

    def _too_much(self, loose: int, size: int, times: int) -> bool:
        return loose > self._loose * times or size > self._weight * times

    def _counted(self, repository: ProjectRepository) -> _Count:
        git = repository.folder / ".git"
        made = [path.stat().st_mtime for path in [*packs(git), git / "description"] if path.exists()]
        sizes = [_size(entry) for entry in loose_objects(git)] if (git / "objects").is_dir() else []
        before = self._counts.get(repository.slug, _Count())
        count = _Count(
            loose=len(sizes),
            size=sum(sizes),
            objects=repository.objects,
            weight=repository.weight,
            packed=max(made, default=0.0),
            not_before=before.not_before,
        )
        self._counts[repository.slug] = count
        return count

    def _start(self, repository: ProjectRepository, *, whole: bool) -> None:
        git = repository.folder / ".git"
        _remove_half_made(git)
        if self._git is None:
            command = [sys.executable, "-P", "-m", "transcript_mcp.mail.archive.packs", str(git)]
        else:
            command = [self._git, *(_WHOLE if whole else _SMALL_STEP)]
        # Without the user's GIT_* variables and configuration, which are for their own repositories.
        own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        settings = {"GIT_DIR": str(git), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
        process = subprocess.Popen(
            command,
            cwd=git,
            env={**own, **settings},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            preexec_fn=_begin,  # noqa: PLW1509 - this process has one thread
        )
        self._running = _Running(process, repository)


def main(git: str) -> None:
    """Put the loose objects into one pack. Existing packs stay; only ``git`` merges them."""
    repository = pygit2.Repository(git)
    files = {
        pygit2.Oid(hex=Path(entry.path).parent.name + entry.name): entry.path for entry in loose_objects(Path(git))
    }

    def choose(builder: pygit2.PackBuilder) -> None:
        for oid in files:
            builder.add(oid)

    repository.pack(pack_delegate=choose, n_threads=1)
    packed = pygit2.OdbBackendPack(str(Path(git) / "objects"))
    for oid, path in files.items():
        if packed.exists(oid):
            Path(path).unlink()


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:
        return 0


def _begin() -> None:
    end_with_parent(signal.SIGKILL)
    os.nice(10)


def _remove_half_made(git: Path) -> None:
    """Remove temporary files of a killed repack."""
    for path in [*(git / "objects" / "pack").glob("tmp_*"), *(git / "objects" / "pack").glob(".tmp-*")]:
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > _LEFT_BEHIND:
                path.unlink()


if __name__ == "__main__":
    main(sys.argv[1])
