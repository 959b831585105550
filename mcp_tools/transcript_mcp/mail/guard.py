"""Putting the pre-commit guard into a code repository, and taking it out again.

What lies there already is kept beside it, runs before it, and comes back with its end. A file that is not ours, or that
somebody has changed, is never overwritten or removed.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nanobot_transcript.errors import GuardError
from nanobot_transcript.store.jsonl.lock import exclusive
from transcript_mcp.mail import code_repo, guard_file, projects
from transcript_mcp.mail.code_repo import CodeRepo
from transcript_mcp.mail.guard_hook import EARLIER
from transcript_mcp.mail.layout import MailStore

__all__ = ["Installed", "Uninstalled", "install_guard", "uninstall_guard"]

_NAME: Final = "pre-commit"
_LOCKING: Final = 10.0


@dataclass(frozen=True, slots=True)
class Installed:
    """A guard that stands. ``projects`` are the keys of all projects that it guards in this repository.

    ``earlier`` is the hook that runs before it, None without one. ``note`` may be empty.
    """

    hook: str
    projects: Sequence[str]
    earlier: str | None
    note: str


@dataclass(frozen=True, slots=True)
class Uninstalled:
    """What became of a guard. ``removed`` is False when there was none; ``restored`` says that the hook that had been
    there before is back in its place."""

    hook: str
    removed: bool
    restored: bool


def install_guard(store: MailStore, project_key: str, code_repo_path: str | Path) -> Installed:
    """Let the repository's commits respect the claims of a project, beside those of projects that it guards already.

    ``code_repo_path`` is any folder of the work tree; all work trees of the repository are guarded. Doing it again is
    fine. Raises GuardError.
    """
    key, repo = projects.checked_key(project_key), code_repo.find(code_repo_path)
    root = store.root.expanduser().resolve()
    if not (root / store.database.name).is_file():
        raise GuardError(f"There is no mail store in {root}.", hint="Register an agent in the project first.")
    below, above = code_repo.project_place(key, repo)
    entry = {
        "database": str(root / store.database.name),
        "log": str(root / "guard-bypass.log"),
        "key": key,
        "repository": str(repo.common) if repo.shares_hooks else "",
        "below": below,
        "above": above,
    }
    hook = _hook(repo)
    with _changing(root, hook):
        found = _guarded(hook)
        kept = [known for known in found or () if _identity(known) != _identity(entry)]
        hook.parent.mkdir(parents=True, exist_ok=True)
        if found is None and os.path.lexists(hook):
            _set_aside(hook)
        _write(hook, [*kept, entry])
    keys = [known["key"] for known in (*kept, entry) if known["repository"] == entry["repository"]]
    earlier = hook.with_name(EARLIER)
    return Installed(str(hook), keys, str(earlier) if os.path.lexists(earlier) else None, _note(hook, repo))


def uninstall_guard(store: MailStore, code_repo_path: str | Path) -> Uninstalled:
    """Take the guard out of a repository and give the hook that had been there before its place back.

    Raises GuardError.
    """
    repo = code_repo.find(code_repo_path)
    hook = _hook(repo)
    earlier = hook.with_name(EARLIER)
    if not os.path.lexists(hook):
        return Uninstalled(str(hook), removed=False, restored=False)
    with _changing(store.root.expanduser().resolve(), hook):
        found = _guarded(hook)
        left = [known for known in found or () if known["repository"] not in ("", str(repo.common))]
        if not found or len(left) == len(found):
            return Uninstalled(str(hook), removed=False, restored=False)
        restored = not left and os.path.lexists(earlier)
        if left:
            _write(hook, left)
        elif restored:
            earlier.replace(hook)
        else:
            hook.unlink()
    return Uninstalled(str(hook), removed=True, restored=restored)


def _hook(repo: CodeRepo) -> Path:
    """The file that the guard is. husky makes the folder that git looks into anew; its users' hooks lie above it."""
    folder = repo.hooks
    if folder.name == "_" and (folder / "h").is_file():
        folder = folder.parent
    if os.path.lexists(folder) and not folder.is_dir():
        raise GuardError(
            f"Hooks are switched off here: {folder} is no folder.",
            hint="`git config core.hooksPath` shows what git was told; unset it or name a folder.",
        )
    return folder / _NAME


def _guarded(hook: Path) -> list[dict[str, str]] | None:
    """The projects of the guard that lies there; None when there is no file or it is somebody else's."""
    if not os.path.lexists(hook) or hook.is_symlink():
        return None
    if not hook.is_file():
        raise GuardError(f"{hook} is no file.", hint="Move it away and try again.")
    try:
        return guard_file.parse(hook.read_bytes().decode("utf-8", "surrogateescape"))
    except guard_file.ChangedGuardError as error:
        raise GuardError(
            f"The guard {hook} was changed by hand; it is left as it is.", hint="Move it away and try again."
        ) from error


def _identity(entry: dict[str, str]) -> tuple[str, ...]:
    return entry["database"], entry["key"], entry["repository"]


def _set_aside(hook: Path) -> None:
    earlier = hook.with_name(EARLIER)
    if os.path.lexists(earlier):
        raise GuardError(
            f"{hook} and {earlier} are both hooks of somebody else.",
            hint="Join them into one pre-commit hook, remove the other, and try again.",
        )
    hook.rename(earlier)  # a link stays a link


def _write(hook: Path, guarded: Sequence[dict[str, str]]) -> None:
    """As a whole or not at all."""
    text = guard_file.render(guarded).encode("utf-8", "surrogateescape")
    descriptor, name = tempfile.mkstemp(prefix=".pre-commit-", dir=hook.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            os.fchmod(file.fileno(), 0o755)
        Path(name).replace(hook)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def _changing(root: Path, hook: Path) -> Iterator[None]:
    """One at a time changes hooks; what the disk refuses is a GuardError."""
    lock = exclusive(str(root / "guard.lock"), _LOCKING, "a pre-commit guard") if root.is_dir() else nullcontext()
    with lock:
        try:
            yield
        except OSError as error:
            raise GuardError(
                f"{hook} cannot be read or written: {error.strerror or error}.", hint="Check who may write there."
            ) from error


def _note(hook: Path, repo: CodeRepo) -> str:
    if hook.resolve().is_relative_to(repo.top) and not hook.resolve().is_relative_to(repo.common):
        return (
            "The hook lies in the work tree and holds paths of this machine: keep it out of commits. Another work tree "
            "has hooks of its own: install it there, too."
        )
    if repo.shares_hooks:
        return "The hooks' folder serves other repositories, too; the guard looks at this one only."
    return ""
