"""What git says of the repository that agents write code in: where its work tree, its own folder and its hooks lie."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nanobot_transcript.errors import GuardError

__all__ = ["CodeRepo", "find", "project_place"]

_TIMEOUT: Final = 20.0
# A server that was started by git, from a hook for example, would be answered about that repository.
_OF_OTHERS: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE")


@dataclass(frozen=True, slots=True)
class CodeRepo:
    """A work tree. All paths are absolute and without links, but ``hooks``, which need not exist.

    ``top`` is the work tree's folder, ``common`` git's own, the same for all work trees of a repository; ``hooks`` is
    where git looks for hooks.
    """

    top: Path
    common: Path
    hooks: Path

    @property
    def shares_hooks(self) -> bool:
        """True when other repositories may use the same hooks: their folder is not git's own of this repository."""
        return not self.hooks.resolve().is_relative_to(self.common)


def find(path: str | Path) -> CodeRepo:
    """The work tree that holds this folder. Raises GuardError."""
    folder = Path(path).expanduser()
    if not folder.is_absolute():
        raise GuardError(f"{path} is not an absolute path.", hint="Give the absolute path of the code repository.")
    if not folder.is_dir():
        raise GuardError(f"There is no folder {path}.", hint="Give the absolute path of the code repository.")
    top = Path(_git(folder, "--show-toplevel")).resolve()
    common, hooks = _git(top, "--git-common-dir"), _git(top, "--git-path", "hooks")
    return CodeRepo(top, (top / common).resolve(), top / hooks)


def project_place(key: str, repo: CodeRepo) -> tuple[str, str]:
    """Where a project's folder lies in the work tree, and where the work tree lies in the project's folder.

    With ``/``; both are empty when they are the same or have nothing to do with each other.
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
