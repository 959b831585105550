"""Opens a project's repository: creates it atomically, and repairs what a kill or a power cut left behind.

Only for the process that holds the archiver's lock.
"""

import logging
import os
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

import pygit2
from pygit2.enums import RepositoryOpenFlag

from nanobot_transcript.errors import ArchiveError, UnsafePathError

__all__ = [
    "EXACTLY",
    "branch",
    "is_elsewhere",
    "keep_aside",
    "loose_objects",
    "open_repository",
    "packs",
]

_BRANCH: Final = "main"
_REFERENCE_LOCK: Final = 1.0
_INDEX_LOCK: Final = 10.0
_MAKING: Final = "repo.making"
EXACTLY: Final = RepositoryOpenFlag.NO_SEARCH | RepositoryOpenFlag.NO_DOTGIT
_SETTINGS: Final = {
    "core.autocrlf": "false",  # no conversion of line ends, whatever the user's own settings are
    "core.logAllRefUpdates": "false",  # the history itself is the log
    "core.quotePath": "false",  # `git log` shows Chinese names unescaped
    "gc.auto": "0",  # the archiver packs in idle time
}

logger = logging.getLogger(__name__)


def open_repository(folder: Path) -> pygit2.Repository:
    """The repository in the existing ``folder``; created if there is none, repaired if it is incomplete.

    Raises UnsafePathError when ``.git`` is a link or a file, and ArchiveError, pygit2.GitError or OSError otherwise.
    """
    # A mounted volume may belong to another user. Safe, because no hook or filter of the repository is run.
    pygit2.settings.owner_validation = False
    git = folder / ".git"
    try:
        found = git.lstat()
    except FileNotFoundError:
        return _made(folder)
    if not stat.S_ISDIR(found.st_mode):
        raise UnsafePathError(f"{git} is not a folder.", hint="Move it away; the archive creates its own.")
    _remove_stale_locks(git)
    _remove_empty_files(git)
    try:
        repository = pygit2.Repository(str(git), EXACTLY)
    except pygit2.GitError:
        return _mended(folder)
    if _is_headless(repository):
        _adopt_newest(repository)
    return repository


def branch(repository: pygit2.Repository) -> pygit2.Reference | None:
    """The branch with the history; None before the first commit.

    That is HEAD's branch, under whatever name. While a person has an older commit checked out, or a new branch without
    commits, it is ``main``, else the newest branch, so that the history neither forks nor starts again.
    """
    if not repository.head_is_detached and not repository.head_is_unborn:
        return repository.head
    own = repository.references.get(f"refs/heads/{_BRANCH}")
    found = [own] if own is not None else [repository.branches.local[name] for name in repository.branches.local]
    newest = max(found, key=lambda each: each.peel(pygit2.Commit).commit_time, default=None)
    return newest if newest is not None or repository.head_is_unborn else repository.head


def is_elsewhere(repository: pygit2.Repository) -> bool:
    """True while a person has something else checked out than the branch with the history."""
    return branch(repository) is not None and (repository.head_is_detached or repository.head_is_unborn)


def keep_aside(folder: Path) -> Path:
    """Move the repository in ``folder`` aside, so that a new one is created. Returns its new path."""
    aside = next(path for n in range(1, 10_000) if not os.path.lexists(path := folder.parent / f"repo.broken-{n}"))
    (folder / ".git").rename(aside)
    return aside


def _remove_stale_locks(git: Path) -> None:
    """Remove git's lock files that must be left from a killed process.

    Git holds the lock of a reference only for an instant; a person's ``git`` may hold that of the index a bit longer.
    """
    now = time.time()
    for path, limit in _locks(git):
        with suppress(FileNotFoundError):
            if abs(now - path.lstat().st_mtime) > limit:
                path.unlink()
                logger.warning("%s was left behind by a killed process; removed.", path)


def loose_objects(git: Path) -> Iterator[os.DirEntry[str]]:
    """The files of loose objects."""
    for folder in (git / "objects").iterdir():
        if len(folder.name) == 2:
            with os.scandir(folder) as entries:
                yield from (entry for entry in entries if len(entry.name) == 38)


def packs(git: Path) -> list[Path]:
    """The packs of a repository."""
    return sorted((git / "objects" / "pack").glob("pack-*.pack"))


def _locks(git: Path) -> Iterator[tuple[Path, float]]:
    yield git / "index.lock", _INDEX_LOCK
    yield git / "gc.pid.lock", _INDEX_LOCK
    for name in ("HEAD.lock", "packed-refs.lock", "config.lock"):
        yield git / name, _REFERENCE_LOCK
    for path in (git / "refs").rglob("*.lock"):
        yield path, _REFERENCE_LOCK


def _made(folder: Path) -> pygit2.Repository:
    """Create a repository beside its place and rename it, so that a kill leaves no incomplete one."""
    making = folder.parent / _MAKING
    if making.exists():
        shutil.rmtree(making)
    repository = pygit2.init_repository(str(making), initial_head=_BRANCH)
    for name, value in _SETTINGS.items():
        repository.config[name] = value
    repository.free()
    os.rename(making / ".git", folder / ".git")  # noqa: PTH104 - says what happens
    making.rmdir()
    return pygit2.Repository(str(folder / ".git"), EXACTLY)


def _mended(folder: Path) -> pygit2.Repository:
    """Rebuild a missing HEAD and settings; a repository without any objects is moved aside instead."""
    git = folder / ".git"
    if not (git / "objects").is_dir() or not (packs(git) or any(True for _ in loose_objects(git))):
        aside = keep_aside(folder)
        logger.warning("%s was incomplete and empty; it is kept as %s.", git, aside)
        return _made(folder)
    repository = pygit2.init_repository(str(folder), initial_head=_BRANCH)
    for name, value in _SETTINGS.items():
        repository.config[name] = value
    if _is_headless(repository):
        _adopt_newest(repository)
    logger.warning("%s was damaged; its head and settings were rebuilt.", git)
    return repository


def _is_headless(repository: pygit2.Repository) -> bool:
    """True when the branch cannot be read or does not exist, as before the first commit."""
    try:
        found = branch(repository)
        return found is None or found.target is None
    except pygit2.GitError:
        return True


def _adopt_newest(repository: pygit2.Repository) -> None:
    """Point the branch to the newest commit found: a repository with a history must not start a second one.

    A commit is written after its trees and blobs, so every commit found is complete.
    """
    objects = cast("Iterable[pygit2.Oid]", repository.odb)
    commits = [found for oid in objects if isinstance(found := repository.get(oid), pygit2.Commit)]
    parents = {parent for commit in commits for parent in cast("list[pygit2.Oid]", commit.parent_ids)}
    tips = [commit for commit in commits if commit.id not in parents]
    if not tips:
        if packs(Path(repository.path)):
            raise ArchiveError(
                f"{repository.path} has lost its history.", hint="Restore it from a backup, or move it away."
            )
        return
    newest = max(tips, key=lambda commit: commit.commit_time)
    name = repository.lookup_reference("HEAD").target
    assert isinstance(name, str)
    with suppress(FileNotFoundError):
        (Path(repository.path) / name).unlink()
    repository.references.create(name, newest.id)
    logger.warning("%s had no branch; it continues from commit %s.", repository.path, newest.id)


def _remove_empty_files(git: Path) -> None:
    """After a power cut a file may be empty, and git would take an empty object file for the object."""
    objects = (Path(entry.path) for entry in loose_objects(git)) if (git / "objects").is_dir() else ()
    for path in (git / "HEAD", *objects):
        with suppress(FileNotFoundError):
            if path.lstat().st_size == 0:
                path.unlink()
                logger.warning("%s was empty; removed.", path)
