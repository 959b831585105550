"""Reads the archive of a project: the files of its last commit, and their history."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pygit2

from nanobot_transcript.errors import ArchiveError
from transcript_mcp.mail.archive.repository import EXACTLY, branch
from transcript_mcp.mail.store import MailStore

__all__ = ["LastCommit", "slugs", "take"]


@dataclass(frozen=True, slots=True)
class LastCommit:
    """The files of a project's last commit: blob ids by path. Empty before the first commit."""

    slug: str
    files: dict[str, str]
    _repository: pygit2.Repository | None

    def text(self, path: str) -> str:
        """The text of one of ``files``. Raises ArchiveError when it is not UTF-8 or git cannot read it."""
        return self._text(self.files[path], path)

    def unreadable(self) -> set[str]:
        """The paths whose blobs are lost. Looks up every blob."""
        readable: dict[str, bool] = {}
        for content in self.files.values():
            if content not in readable:
                readable[content] = self._is_readable(content)
        return {path for path, content in self.files.items() if not readable[content]}

    def restore(self, path: str, data: bytes) -> bool:
        """Restore the blob of one of ``files`` from its content ``data``; False when that fails."""
        assert self._repository is not None
        content = self.files[path]
        loose = Path(self._repository.path) / "objects" / content[:2] / content[2:]
        try:
            loose.unlink(missing_ok=True)  # git would keep a damaged file, thinking that the object exists
            self._repository.create_blob(data)
        except (pygit2.GitError, OSError):
            return False
        return self._is_readable(content)

    def _is_readable(self, content: str) -> bool:
        assert self._repository is not None
        return _is_readable(self._repository, pygit2.Oid(hex=content))

    def history_is_whole(self, folder: str) -> bool:
        """False when commits or versions of the folder are missing, as in a shallow clone."""
        return self._repository is None or all(tree is not None for tree in _versions(self._repository, folder))

    def history(self, folder: str) -> Iterator[tuple[str, str]]:
        """All versions of the files in a folder, from readable commits, the oldest first: name and text.

        The text is empty where the blob is lost.
        """
        known: dict[str, str] = {}
        for tree in _versions(self._repository, folder) if self._repository is not None else ():
            for entry in tree or ():
                name, content = str(entry.name), str(entry.id)
                if known.get(name) != content:
                    known[name] = content
                    yield name, self._text(content, f"{folder}/{name}") if self._is_readable(content) else ""

    def _text(self, content: str, path: str) -> str:
        assert self._repository is not None
        try:
            blob = self._repository[content]
            assert isinstance(blob, pygit2.Blob)
            return blob.data.decode()
        except (pygit2.GitError, KeyError, UnicodeDecodeError) as error:
            raise ArchiveError(
                f"{path} of {self.slug} cannot be read: {error}.", hint="`git fsck` says what is damaged."
            ) from error


def slugs(store: MailStore) -> list[str]:
    """The projects that have a repository."""
    folder = store.root / "projects"
    if not folder.is_dir():
        return []
    return sorted(place.name for place in folder.iterdir() if os.path.lexists(store.repo(place.name) / ".git"))


def take(store: MailStore, slug: str) -> LastCommit:
    """The current archive of a project. Raises ArchiveError when git cannot read it."""
    git = store.repo(slug) / ".git"
    if not os.path.lexists(git):
        return LastCommit(slug, {}, None)
    if not stat.S_ISDIR(git.lstat().st_mode):
        raise ArchiveError(f"{git} is not a folder.", hint="A link, or a clone stored elsewhere, is not the archive.")
    pygit2.settings.owner_validation = False  # as in repository.open_repository
    try:
        repository = pygit2.Repository(str(git), EXACTLY)
        found = branch(repository)
        if found is None:
            return LastCommit(slug, {}, None)
        return LastCommit(slug, dict(_files(found.peel(pygit2.Tree), "")), repository)
    except (pygit2.GitError, KeyError, ValueError, OSError) as error:
        raise ArchiveError(
            f"The repository {git.parent} cannot be read: {error}.", hint="`git fsck` says what is damaged."
        ) from error


def _versions(repository: pygit2.Repository, folder: str) -> Iterator[pygit2.Tree | None]:
    """The versions of a folder, the oldest first; None where git cannot read it."""
    found, before = branch(repository), None
    for oid in _commits(repository, found.peel(pygit2.Commit)) if found is not None else ():
        try:
            root = repository[oid].peel(pygit2.Tree)
            tree = root[folder] if folder in root else None  # noqa: SIM401 - a tree has no `get`
        except (pygit2.GitError, KeyError, ValueError):
            yield None
            continue
        if isinstance(tree, pygit2.Tree) and tree.id != before:
            before = tree.id
            yield tree if _is_readable(repository, tree.id) else None


def _is_readable(repository: pygit2.Repository, oid: pygit2.Oid) -> bool:
    try:
        repository.odb.read_header(oid)
    except (pygit2.GitError, KeyError, ValueError):
        return False
    return True


def _commits(repository: pygit2.Repository, tip: pygit2.Commit) -> list[pygit2.Oid]:
    """All commits up to the tip, parents first, including lost ones, but not those before a lost one."""
    ordered: list[pygit2.Oid] = []
    seen: set[pygit2.Oid] = set()
    waiting = [(tip.id, False)]
    while waiting:
        oid, is_done = waiting.pop()
        if is_done:
            ordered.append(oid)
        elif oid not in seen:
            seen.add(oid)
            waiting.append((oid, True))
            waiting.extend((parent, False) for parent in _parents(repository, oid))
    return ordered


def _parents(repository: pygit2.Repository, oid: pygit2.Oid) -> Sequence[pygit2.Oid]:
    try:
        commit = repository.get(oid)
    except (pygit2.GitError, ValueError):  # damaged
        return ()
    return cast("list[pygit2.Oid]", commit.parent_ids) if isinstance(commit, pygit2.Commit) else ()


def _files(tree: pygit2.Tree, above: str) -> Iterator[tuple[str, str]]:
    for entry in tree:
        path = f"{above}{entry.name}"
        if isinstance(entry, pygit2.Tree):
            yield from _files(entry, f"{path}/")
        elif isinstance(entry, pygit2.Blob):
            yield path, str(entry.id)
