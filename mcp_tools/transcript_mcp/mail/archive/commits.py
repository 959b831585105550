"""Jobs become commits: trees are built from the last commit's, without git's index.

The index would be read and written whole for each commit; a tree costs what the changed folders hold. People still
find every file in the folder, and ``refresh_index`` lets ``git status`` agree with it.
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
"""Bytes that an entry of a folder takes in git, compressed: most of it is a hash."""

_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_NO_SUCH_NAME: Final = frozenset({errno.EINVAL, errno.EILSEQ, errno.ENAMETOOLONG})

_Folder: TypeAlias = dict[str, "pygit2.Oid | _Folder"]
_Tip: TypeAlias = "tuple[pygit2.Reference, pygit2.Commit]"

logger = logging.getLogger(__name__)


def commit_message(summaries: Sequence[str]) -> str:
    """One change is told in the first line; several are counted there, and follow one by one."""
    lines = ["".join(char if char.isprintable() else " " for char in summary).strip() for summary in summaries]
    if len(lines) == 1:
        return f"{lines[0]}\n"
    return "\n".join([f"{len(lines)} changes", "", *(f"- {line}" for line in lines)]) + "\n"


class ProjectRepository:
    """The repository of one project; for the process that holds the archiver's lock, and one thread of it.

    ``objects`` counts what was handed to git so far, and ``weight`` about how many bytes that makes on the disk. Every
    method raises ArchiveError when git or the disk refuses; nothing is lost then, and the same call may be made again.
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
        """True while git's files are open."""
        return self._repository is not None

    def close(self) -> None:
        """Release git's files; they are opened again when they are needed."""
        self._tree.close()
        self._may_be_known = True
        if self._repository is not None:
            self._repository.free()
            self._repository = None

    def commit(self, jobs: Sequence[ArchiveJob]) -> str:
        """Bring the files of the jobs into the folder and into one commit; its name (sha).

        The last job that writes a file decides. Jobs whose files are in the last commit already make no new one, and
        are not told again: the last commit's name is the answer. That is looked into once after opening. A path that
        leads elsewhere, and a name that git takes from nobody, is logged once and left out: what can never be done
        must not hold up the rest.
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
        """Let git's index agree with the last commit, so that ``git status`` finds nothing to tell."""
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
        """Let the branch point at the commit, when everything in it is on the disk; fails when somebody moved it."""
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
        """The changed files as nested folders; every file lies in the work tree and in git's objects.

        While a person looks at something else the work tree is theirs: new files would be in git's way back.
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
            logger.error("%s: %s It is in git all the same.", self.slug, _loggable(error))
        except OSError as error:
            if error.errno not in _NO_SUCH_NAME:
                raise
            logger.error(
                "%s: %s can have no file: %s. It is in git all the same.", self.slug, _loggable(path), error.strerror
            )

    def _taken(self, repository: pygit2.Repository, path: str, base: pygit2.Tree | None) -> pygit2.Oid | None:
        """A file that lies in the work tree; None when it is in the last commit already or cannot be taken."""
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
            repository.TreeBuilder().insert("content", content, mode)  # fails, too, unless it is the name
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
    """The number of what the operating system refused: git's library has it in its sentence alone."""
    return next((number for number in (*_NO_ROOM, *_FORBIDDEN) if os.strerror(number) in sentence), None)


def _tip(repository: pygit2.Repository) -> "_Tip | None":
    """The branch and its commit; None before the first one."""
    found = branch(repository)
    return None if found is None else (found, found.peel(pygit2.Commit))


def _how_many_are_in(tree: pygit2.Tree, jobs: Sequence[ArchiveJob]) -> int:
    """How many of the jobs, from the first on, a commit has together: a killed process had done them."""
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
    """Everything written so far, on the disk: one call for hundreds of small files."""
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
    with suppress(FileNotFoundError):  # packed away by somebody's `git gc`
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


_syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)


def _loggable(value: object) -> str:
    """A text that every log can write: halves of characters would end the line with an error."""
    return str(value).encode("utf-8", "backslashreplace").decode()
