"""Opening a project's repository: made at one stroke, and mended after whatever a kill or a power cut left behind.

Only the process that holds the archiver's lock may call this.
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
    "BRANCH",
    "branch",
    "is_elsewhere",
    "keep_aside",
    "loose_objects",
    "open_repository",
    "packs",
    "remove_stale_locks",
]

BRANCH: Final = "main"
_REFERENCE_LOCK: Final = 1.0
_INDEX_LOCK: Final = 10.0
_MAKING: Final = "repo.making"
_EXACTLY: Final = RepositoryOpenFlag.NO_SEARCH | RepositoryOpenFlag.NO_DOTGIT
_SETTINGS: Final = {
    "core.autocrlf": "false",  # files are kept byte by byte, whatever the user's own settings are
    "core.logAllRefUpdates": "false",  # the history itself is the log
    "core.quotePath": "false",  # Chinese names are shown as they are
    "gc.auto": "0",  # the archiver packs in idle time
}

logger = logging.getLogger(__name__)


def open_repository(folder: Path) -> pygit2.Repository:
    """The repository in ``folder``, which exists. Made when there is none, mended when it is half-made.

    Raises UnsafePathError when ``.git`` is a link or a file, and ArchiveError, pygit2.GitError or OSError otherwise.
    """
    pygit2.settings.owner_validation = False  # a mounted volume may belong to somebody else; no hook of it is run
    git = folder / ".git"
    try:
        found = git.lstat()
    except FileNotFoundError:
        return _made(folder)
    if not stat.S_ISDIR(found.st_mode):
        raise UnsafePathError(f"{git} is not a folder.", hint="Move it away; the archive creates its own.")
    remove_stale_locks(git)
    _remove_empty_files(git)
    try:
        repository = pygit2.Repository(str(git), _EXACTLY)
    except pygit2.GitError:
        return _mended(folder)
    if _is_headless(repository):
        _adopt_newest(repository)
    return repository


def branch(repository: pygit2.Repository) -> pygit2.Reference | None:
    """The branch with the history; None before the first commit.

    It is the one that HEAD names, whatever a person calls it. While somebody looks at an older commit, or has begun a
    branch without commits, HEAD names none: then it is ``main``, else the newest, so that history neither forks nor
    begins anew.
    """
    if not repository.head_is_detached and not repository.head_is_unborn:
        return repository.head
    own = repository.references.get(f"refs/heads/{BRANCH}")
    found = [own] if own is not None else [repository.branches.local[name] for name in repository.branches.local]
    newest = max(found, key=lambda each: each.peel(pygit2.Commit).commit_time, default=None)
    return newest if newest is not None or repository.head_is_unborn else repository.head


def is_elsewhere(repository: pygit2.Repository) -> bool:
    """True while the folder shows something else than the branch with the history: a person looks at it."""
    return branch(repository) is not None and (repository.head_is_detached or repository.head_is_unborn)


def keep_aside(folder: Path) -> Path:
    """Move the repository in ``folder`` out of the way, beside it, so that a new one is made; where it lies now."""
    aside = next(path for n in range(1, 10_000) if not os.path.lexists(path := folder.parent / f"repo.broken-{n}"))
    (folder / ".git").rename(aside)
    return aside


def remove_stale_locks(git: Path) -> None:
    """Remove git's lock files that nobody can hold any more.

    Who writes a reference holds its lock for an instant; the index is held by a person's ``git`` for a little longer.
    """
    now = time.time()
    for path, limit in _locks(git):
        with suppress(FileNotFoundError):
            if abs(now - path.lstat().st_mtime) > limit:
                path.unlink()
                logger.warning("%s was left behind by a killed process; removed.", path)


def loose_objects(git: Path) -> Iterator[os.DirEntry[str]]:
    """The files of objects that are in no pack."""
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
    """Made beside its place and moved there, so that a kill leaves no half of it."""
    making = folder.parent / _MAKING
    if making.exists():
        shutil.rmtree(making)
    repository = pygit2.init_repository(str(making), initial_head=BRANCH)
    for name, value in _SETTINGS.items():
        repository.config[name] = value
    repository.free()
    os.rename(making / ".git", folder / ".git")  # noqa: PTH104 - says what happens
    making.rmdir()
    return pygit2.Repository(str(folder / ".git"), _EXACTLY)


def _mended(folder: Path) -> pygit2.Repository:
    """What lacks its head or its settings gets them anew; what has no object either is kept aside."""
    git = folder / ".git"
    if not (git / "objects").is_dir() or not (packs(git) or any(True for _ in loose_objects(git))):
        aside = keep_aside(folder)
        logger.warning("%s was incomplete and empty; it is kept as %s.", git, aside)
        return _made(folder)
    repository = pygit2.init_repository(str(folder), initial_head=BRANCH)
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
    """Let the branch begin at the newest commit there is: a repository with a history must not begin a second one.

    A commit is written after everything in it, so each one found is whole.
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
    """After a power cut a file may be there without its bytes, and git would take an object's for the object."""
    objects = (Path(entry.path) for entry in loose_objects(git)) if (git / "objects").is_dir() else ()
    for path in (git / "HEAD", *objects):
        with suppress(FileNotFoundError):
            if path.lstat().st_size == 0:
                path.unlink()
                logger.warning("%s was empty; removed.", path)
