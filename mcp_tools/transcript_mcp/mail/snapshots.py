"""What the archive of a project holds: the files of its last commit, for reading only."""

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pygit2
from pygit2.enums import RepositoryOpenFlag, SortMode

from nanobot_transcript.errors import ArchiveError
from transcript_mcp.mail.layout import MailStore

__all__ = ["Snapshot", "slugs", "take"]

_EXACTLY: Final = RepositoryOpenFlag.NO_SEARCH | RepositoryOpenFlag.NO_DOTGIT


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files of a project's last commit: git's name of their content by path. Empty before the first commit."""

    slug: str
    files: dict[str, str]
    _repository: pygit2.Repository | None

    def text(self, path: str) -> str:
        """The content of one of ``files``. Raises ArchiveError when it is no text or git cannot read it."""
        return self._text(self.files[path], path)

    def unreadable(self) -> set[str]:
        """The paths whose content git has lost: each is looked up, none is taken for granted."""
        readable: dict[str, bool] = {}
        for content in self.files.values():
            if content not in readable:
                readable[content] = self._is_readable(content)
        return {path for path, content in self.files.items() if not readable[content]}

    def restore(self, path: str, data: bytes) -> bool:
        """Bring back the content of one of ``files``, which ``data`` is; False when git does not take it."""
        assert self._repository is not None
        content = self.files[path]
        loose = Path(self._repository.path) / "objects" / content[:2] / content[2:]
        try:
            loose.unlink(missing_ok=True)  # git takes a damaged one for the object
            self._repository.create_blob(data)
        except (pygit2.GitError, OSError):
            return False
        return self._is_readable(content)

    def _is_readable(self, content: str) -> bool:
        assert self._repository is not None
        try:
            self._repository.odb.read_header(pygit2.Oid(hex=content))
        except (pygit2.GitError, KeyError, ValueError):
            return False
        return True

    def history(self, folder: str) -> Iterator[tuple[str, str]]:
        """Each content that a file of a folder ever had in a commit, the oldest first: name and text.

        The text is empty where git has lost it. Raises ArchiveError when commits or folders cannot be read.
        """
        if self._repository is None:
            return
        try:
            yield from self._history(self._repository, folder)
        except (pygit2.GitError, KeyError, ValueError) as error:
            raise ArchiveError(
                f"The history of {folder} of {self.slug} cannot be read: {error}.", hint="`git fsck` says what is lost."
            ) from error

    def _history(self, repository: pygit2.Repository, folder: str) -> Iterator[tuple[str, str]]:
        known: dict[str, str] = {}
        before = None
        for commit in repository.walk(repository.head.target, SortMode.TOPOLOGICAL | SortMode.REVERSE):
            if folder not in commit.tree:
                continue
            tree = commit.tree[folder]
            if not isinstance(tree, pygit2.Tree) or tree.id == before:
                continue
            before = tree.id
            for entry in tree:
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
    return sorted(place.name for place in folder.iterdir() if _is_folder(store.repo(place.name) / ".git"))


def take(store: MailStore, slug: str) -> Snapshot:
    """What the archive of a project holds now. Raises ArchiveError when git cannot read it."""
    git = store.repo(slug) / ".git"
    if not _is_folder(git):
        return Snapshot(slug, {}, None)
    pygit2.settings.owner_validation = False  # nothing of it is run
    try:
        repository = pygit2.Repository(str(git), _EXACTLY)
        if repository.head_is_unborn:
            return Snapshot(slug, {}, None)
        return Snapshot(slug, dict(_files(repository.head.peel(pygit2.Tree), "")), repository)
    except (pygit2.GitError, KeyError, ValueError, OSError) as error:
        raise ArchiveError(
            f"The repository {git.parent} cannot be read: {error}.", hint="`git fsck` says what is damaged."
        ) from error


def _files(tree: pygit2.Tree, above: str) -> Iterator[tuple[str, str]]:
    for entry in tree:
        path = f"{above}{entry.name}"
        if isinstance(entry, pygit2.Tree):
            yield from _files(entry, f"{path}/")
        elif isinstance(entry, pygit2.Blob):
            yield path, str(entry.id)


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
