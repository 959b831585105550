"""Asks git about the repository that agents write code in: its work tree, its git folder and its hooks folder."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nanobot_transcript.errors import GuardError

__all__ = ["CodeRepo", "find", "project_place"]

_TIMEOUT: Final = 20.0
# If git started this server, as from a hook, these variables would point git to that other repository.
_OF_OTHERS: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE")


@dataclass(frozen=True, slots=True)
class CodeRepo:
    """A work tree. Paths are absolute and without links, except ``hooks``, which need not exist.

    ``top``: the work tree's folder. ``common``: the git folder, shared by all work trees of the repository. ``hooks``:
    where git looks for hooks.
    """

    top: Path
    common: Path
    hooks: Path

    @property
    def shares_hooks(self) -> bool:
        """True when the hooks folder is outside of the git folder, so that other repositories may use it, too."""
        return not self.hooks.resolve().is_relative_to(self.common)


def find(path: str | Path) -> CodeRepo:
    """The work tree that contains this folder. Raises GuardError."""
    folder = Path(path).expanduser()
    if not folder.is_absolute():
        raise GuardError(f"{path} is not an absolute path.", hint="Give the absolute path of the code repository.")
    if not folder.is_dir():
        raise GuardError(f"There is no folder {path}.", hint="Give the absolute path of the code repository.")
    top = Path(_git(folder, "--show-toplevel")).resolve()
    common, hooks = _git(top, "--git-common-dir"), _git(top, "--git-path", "hooks")
    return CodeRepo(top, (top / common).resolve(), top / hooks)


def project_place(key: str, repo: CodeRepo) -> tuple[str, str]:
    """The path of the project's folder in the work tree, and of the work tree in the project's folder, with ``/``.

    Both are empty when the folders are the same or unrelated.
    """
    folder = Path(key)
    if not folder.is_absolute() or not folder.is_dir():
        return "", ""
    folder = folder.resolve()
    if repo.top.is_relative_to(folder):
        return "", _relative(repo.top, folder)
    try:
        own = find(folder)
    except GuardError:
        return "", ""
    return (_relative(folder, own.top) if own.common == repo.common else ""), ""


def _relative(path: Path, base: Path) -> str:
    relative = path.relative_to(base).as_posix()
    return "" if relative == "." else relative


def _git(folder: Path, *questions: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in _OF_OTHERS}
    command = ["git", "-C", str(folder), "rev-parse", *questions]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, check=False, timeout=_TIMEOUT)
    except FileNotFoundError as error:
        raise GuardError("git is not installed on this machine.", hint="Install git.") from error
    except subprocess.TimeoutExpired as error:
        raise GuardError(f"git does not answer about {folder}.", hint="Try again; is its disk reachable?") from error
    if done.returncode:
        said = os.fsdecode(done.stderr).strip().partition("\n")[0]
        raise GuardError(f"{folder} is not in a work tree of git: {said}", hint="Give a folder of the code repository.")
    return os.fsdecode(done.stdout).removesuffix("\n")
