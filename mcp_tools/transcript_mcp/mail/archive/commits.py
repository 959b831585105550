"""Makes commits from archive jobs. Trees are built from those of the last commit, without git's index.

The index would be read and written as a whole for each commit; this way a commit only costs the changed folders. Files
are written to the work tree, too, and ``refresh_index`` makes ``git status`` agree with it.
"""

import ctypes
import errno
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, TypeAlias

import pygit2
from pygit2.enums import FileMode

from nanobot_transcript.errors import ArchiveError, UnsafePathError
from nanobot_transcript.files.descriptors import root_folder
from transcript_mcp.mail.archive.jobs import ArchiveJob
from transcript_mcp.mail.archive.repository import branch, is_elsewhere, open_repository
from transcript_mcp.mail.archive.worktree import WorkTree, split
from transcript_mcp.mail.store import MailStore

__all__ = ["AUTHOR", "ProjectRepository", "commit_message"]

AUTHOR: Final = ("nanobot-transcript", "agent-mail@localhost")

_ENTRY: Final = 32
"""Bytes of an entry in a tree object, compressed: most of it is a hash."""

_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_NO_SUCH_NAME: Final = frozenset({errno.EINVAL, errno.EILSEQ, errno.ENAMETOOLONG})

_Folder: TypeAlias = dict[str, "pygit2.Oid | _Folder"]
_Tip: TypeAlias = "tuple[pygit2.Reference, pygit2.Commit]"

logger = logging.getLogger(__name__)


def commit_message(summaries: Sequence[str]) -> str:
    """The summary of one change, or the number of changes followed by all summaries."""
    lines = ["".join(char if char.isprintable() else " " for char in summary).strip() for summary in summaries]
    if len(lines) == 1:
        return f"{lines[0]}\n"
    return "\n".join([f"{len(lines)} changes", "", *(f"- {line}" for line in lines)]) + "\n"


class ProjectRepository:
    """The repository of one project. For one thread of the process that holds the archiver's lock.

    ``objects``: the number of git objects written so far. ``weight``: their bytes on the disk, roughly. All methods
    raise ArchiveError when git or the disk fails; then nothing is lost, and the call can be repeated.
    """

    def __init__(self, store: MailStore, slug: str) -> None:
        self.slug: str = slug
        self.folder: Path = store.repo(slug)
        self.objects: int = 0
        self.weight: int = 0
        self._tree: WorkTree = WorkTree(str(store.root), split(self.folder.relative_to(store.root).as_posix()))
        self._repository: pygit2.Repository | None = None
        self._may_be_known: bool = True
        self._left_out: set[str] = set()

    @property
    def is_open(self) -> bool:
        """True while the repository is open."""
        return self._repository is not None

    def close(self) -> None:
        """Close the repository; it is opened again when needed."""
        self._tree.close()
        self._may_be_known = True
        if self._repository is not None:
            self._repository.free()
            self._repository = None

    def commit(self, jobs: Sequence[ArchiveJob]) -> str:
        """Write the files of the jobs to the work tree and into one commit. Returns the commit's id.

        The last job that writes a file wins. Jobs whose files are already in the last commit, as after a crash, make no
        new one; its id is returned. That is checked once after opening. Paths that lead out of the folder and names
        that git refuses are logged once and skipped: they must not block the other jobs.
        """
        try:
            with closing(self._tree):
                return self._commit(jobs)
        except (OSError, pygit2.GitError, UnsafePathError, KeyError, ValueError) as error:
            self.close()
            raise self._failed(error) from error
        except ArchiveError:
            self.close()
            raise

    def refresh_index(self) -> None:
        """Rewrite git's index from the last commit, so that ``git status`` shows no changes."""
        try:
            repository = self._opened()
            tip = _tip(repository)
            if tip is None or is_elsewhere(repository):
                return
            repository.index.read()
            repository.index.read_tree(tip[1].tree)
            repository.index.write()
        except (OSError, pygit2.GitError, UnsafePathError, KeyError, ValueError) as error:
            self.close()
            raise self._failed(error) from error

    def _commit(self, jobs: Sequence[ArchiveJob]) -> str:
        repository = self._opened()
        tip = _tip(repository)
        base = tip[1].tree if tip else None
        if self._may_be_known and base is not None:
            jobs = jobs[_how_many_are_in(base, jobs) :]
        tree = self._built(repository, base, self._changes(repository, jobs, base))
        if tip is not None and tip[1].tree_id == tree:
            self._may_be_known = False
            return str(tip[1].id)
        newest = max(jobs, key=lambda job: job.created_ts)
        who = pygit2.Signature(*AUTHOR, time=int(newest.created_ts), offset=0)
        parents = [tip[1].id] if tip else []
        message = commit_message([job.summary for job in jobs])
        commit = repository.create_commit(None, who, who, message, tree, parents)
        self._count(len(message))
        self._publish(repository, tip, commit)
        self._may_be_known = False
        return str(commit)

    def _publish(self, repository: pygit2.Repository, tip: "_Tip | None", commit: pygit2.Oid) -> None:
        """Move the branch to the commit, after syncing its objects to the disk. Fails if somebody else moved it."""
        _sync(self.folder)
        if tip is not None:
            name = tip[0].name
            tip[0].set_target(commit)
        else:
            name = str(repository.lookup_reference("HEAD").target)
            repository.references.create(name, commit)
        place = Path(repository.path) / name
        for path in (place, place.parent):
            _fsync(path)

    def _changes(self, repository: pygit2.Repository, jobs: Sequence[ArchiveJob], base: pygit2.Tree | None) -> _Folder:
        """The changed files as nested folders, written to the work tree and to git's objects.

        While a person has another commit checked out, the work tree is left alone: new files would block their way
        back.
        """
        changes: _Folder = {}
        is_shown = not is_elsewhere(repository)
        blobs: dict[str, pygit2.Oid] = {}
        for path, text in _last_words(jobs).items():
            try:
                names = split(path)
            except UnsafePathError as error:
                self._leave_out(path, error)
                continue
            if text not in blobs:
                content = text.encode("utf-8", "replace")
                blobs[text] = repository.create_blob(content)
                self._count(len(content) // 2)
            if is_shown:
                self._show(path, text)
            _put(changes, names, blobs[text])
        for path in sorted({path for job in jobs for path in job.present}):
            blob = self._taken(repository, path, base)
            if blob is not None:
                _put(changes, split(path), blob)
        return changes

    def _show(self, path: str, text: str) -> None:
        try:
            self._tree.write(path, text.encode("utf-8", "replace"))
        except UnsafePathError as error:
            logger.error("%s: %s It is in git nevertheless.", self.slug, _loggable(error))
        except OSError as error:
            if error.errno not in _NO_SUCH_NAME:
                raise
            logger.error(
                "%s: %s cannot be written as a file: %s. It is in git nevertheless.",
                self.slug,
                _loggable(path),
                error.strerror,
            )

    def _taken(self, repository: pygit2.Repository, path: str, base: pygit2.Tree | None) -> pygit2.Oid | None:
        """The blob of a file in the work tree; None when it is in the last commit already, or cannot be read."""
        try:
            split(path)
            if base is not None and path in base:
                return None
            content = self._tree.read(path)
            self._count(len(content))
            return repository.create_blob(content)
        except (UnsafePathError, FileNotFoundError) as error:
            logger.error("%s: %s cannot be archived: %s", self.slug, _loggable(path), _loggable(error))
            return None

    def _built(self, repository: pygit2.Repository, base: pygit2.Tree | None, changes: _Folder) -> pygit2.Oid:
        builder = repository.TreeBuilder(base) if base is not None else repository.TreeBuilder()
        for name, change in changes.items():
            if isinstance(change, dict):
                below = builder.get(name)
                tree = below if isinstance(below, pygit2.Tree) else None
                self._insert(repository, builder, name, self._built(repository, tree, change), FileMode.TREE)
            else:
                self._insert(repository, builder, name, change, FileMode.BLOB)
        self._count(len(builder) * _ENTRY)
        return builder.write()

    def _insert(
        self, repository: pygit2.Repository, builder: pygit2.TreeBuilder, name: str, content: pygit2.Oid, mode: FileMode
    ) -> None:
        try:
            builder.insert(name, content, mode)
        except (pygit2.GitError, ValueError) as error:
            # If a valid name fails, too, the object or the disk is the problem, and the error is raised.
            repository.TreeBuilder().insert("content", content, mode)
            self._leave_out(name, error)

    def _leave_out(self, name: str, error: Exception) -> None:
        if name not in self._left_out:
            self._left_out.add(name)
            logger.error("%s: %s cannot be archived and is skipped: %s", self.slug, _loggable(name), _loggable(error))

    def _count(self, size: int) -> None:
        self.objects += 1
        self.weight += size

    def _opened(self) -> pygit2.Repository:
        if self._repository is None:
            self._tree.make()
            self._repository = open_repository(self.folder)
        return self._repository

    def _failed(self, error: Exception) -> ArchiveError:
        return ArchiveError(f"{self.folder}: {error}", hint=getattr(error, "hint", "") or _way_out(error))


def _way_out(error: Exception) -> str:
    number = getattr(error, "errno", None) or _told_by_git(str(error))
    if number in _NO_ROOM:
        return "Free space or raise the quota; archiving then continues by itself."
    if number in _FORBIDDEN:
        return "Correct the permissions of the folder; archiving then continues by itself."
    return "`git fsck` and `nanobot-transcript mail doctor` say what is wrong; archiving then continues by itself."


def _told_by_git(sentence: str) -> int | None:
    """The errno of an operating system error: libgit2 only reports its text."""
    return next((number for number in (*_NO_ROOM, *_FORBIDDEN) if os.strerror(number) in sentence), None)


def _tip(repository: pygit2.Repository) -> "_Tip | None":
    """The branch and its commit; None before the first commit."""
    found = branch(repository)
    return None if found is None else (found, found.peel(pygit2.Commit))


def _how_many_are_in(tree: pygit2.Tree, jobs: Sequence[ArchiveJob]) -> int:
    """How many of the first jobs are completely in the last commit, because a killed process had committed them."""
    known, other = 0, set[str]()
    for number, job in enumerate(jobs, 1):
        for path, text in job.files.items():
            if _content(tree, path) == pygit2.hash(text.encode("utf-8", "replace")):
                other.discard(path)
            else:
                other.add(path)
        other.update(path for path in job.present if _content(tree, path) is None)
        if not other:
            known = number
    return known


def _content(tree: pygit2.Tree, path: str) -> pygit2.Oid | None:
    try:
        return tree[path].id
    except (KeyError, ValueError):
        return None


def _last_words(jobs: Iterable[ArchiveJob]) -> Mapping[str, str]:
    words: dict[str, str] = {}
    for job in jobs:
        words.update(job.files)
    return words


def _put(folder: _Folder, names: Sequence[str], blob: pygit2.Oid) -> None:
    for name in names[:-1]:
        below = folder.get(name)
        if not isinstance(below, dict):
            below = folder[name] = {}
        folder = below
    folder[names[-1]] = blob


def _sync(folder: Path) -> None:
    """Sync everything written so far to the disk: one syncfs for hundreds of small files."""
    descriptor = root_folder(folder)
    try:
        if _syncfs is None:
            os.sync()
        elif _syncfs(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(folder))
    finally:
        os.close(descriptor)


def _fsync(path: Path) -> None:
    with suppress(FileNotFoundError):  # `git gc` has packed the ref
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


_syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)


def _loggable(value: object) -> str:
    """The text with lone surrogates escaped: they would make the log's encoder fail."""
    return str(value).encode("utf-8", "backslashreplace").decode()
