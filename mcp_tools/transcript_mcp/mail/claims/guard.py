"""Installs the guard in a code repository, and uninstalls it: one file under each name of ``HOOKS``.

An existing hook is kept beside the guard, runs before it, and is restored when the guard is removed. Files that are not
ours, or that somebody has changed, are never overwritten or removed.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from nanobot_transcript.errors import GuardError
from nanobot_transcript.files.lock import exclusive
from transcript_mcp.mail.agents import projects
from transcript_mcp.mail.claims import code_repo, guard_file, guards
from transcript_mcp.mail.claims.code_repo import CodeRepo
from transcript_mcp.mail.claims.guard_hook import EARLIER
from transcript_mcp.mail.store import MailStore

__all__ = [
    "HOOKS",
    "GuardWay",
    "Installed",
    "Uninstalled",
    "hub_address",
    "install_guard",
    "token_file_for",
    "uninstall_guard",
]

HOOKS: Final = ("pre-commit", "pre-merge-commit", "pre-applypatch", "post-rewrite")
"""The guard's file names; the first is the one that a normal commit runs."""
_LOCKING: Final = 10.0
_Known: TypeAlias = dict[tuple[str, str], dict[str, str]]
"""A guard's entries for its projects, by ``_identity``."""
_HUBS: Final = ("/mcp/mail", "/mcp")
"""Paths that clients append to a hub's address."""


@dataclass(frozen=True, slots=True)
class GuardWay:
    """How a guard gets the claims. ``hub``: the address of a hub to ask. ``token_file``: a file with the hub's token.

    By default an installed guard keeps its way; a new one asks the hub ``otherwise``, or reads the store's database.
    """

    hub: str = ""
    token_file: str = ""
    otherwise: str = ""


@dataclass(frozen=True, slots=True)
class Installed:
    """An installed guard. ``hook``: its file ``pre-commit``; the other names of ``HOOKS`` are beside it.

    ``projects``: the keys of all projects that it guards in this repository. ``earlier``: the first kept hook that runs
    before one of its files, None without any. ``hub``: the one that it asks about the project. ``note``, ``hub`` and
    ``token_file`` may be empty.
    """

    hook: str
    projects: Sequence[str]
    earlier: str | None
    note: str
    hub: str = ""
    token_file: str = ""


@dataclass(frozen=True, slots=True)
class Uninstalled:
    """The result of uninstalling. ``removed`` is False when there was no guard. ``restored``: an earlier hook is back
    in its place.
    """

    hook: str
    removed: bool
    restored: bool


def install_guard(
    store: MailStore, project_key: str, code_repo_path: str | Path, way: GuardWay | None = None
) -> Installed:
    """Make the repository's commits respect the claims of a project, in addition to projects that it guards already.

    ``code_repo_path``: any folder of the work tree; all work trees of the repository are guarded. Idempotent. A guard
    that asks a hub needs no mail in ``store``, only a folder for its log. Raises GuardError.
    """
    key, repo, way = projects.checked_key(project_key), code_repo.find(code_repo_path), way or GuardWay()
    store = MailStore(store.root.expanduser().resolve())
    below, above = code_repo.project_place(key, repo)
    entry = {
        "log": str(store.root / "guard-bypass.log"),
        "key": key,
        "repository": str(repo.common) if repo.shares_hooks else "",
        "below": below,
        "above": above,
    }
    hooks = _hooks(repo)
    if way.hub or way.otherwise:
        _make(store.root)
    with _changing(store.root, hooks[0]):
        found = {hook: _guarded(hook) for hook in hooks}
        others = [hook for hook in hooks if found[hook] is None and os.path.lexists(hook)]
        for hook in others:
            _refuse_two(hook)
        known = _merged(found.values())
        entry = _source(store, way, _identity(entry), known) | entry
        standing = [*(each for each in known.values() if _identity(each) != _identity(entry)), entry]
        hooks[0].parent.mkdir(parents=True, exist_ok=True)
        for hook in hooks:
            if hook in others:
                hook.rename(_earlier(hook))  # a symbolic link stays one
            _write(hook, standing)
        ours = [each["key"] for each in standing if guards.is_of(each, store)]
        guards.note(store, guards.GuardPlace(str(hooks[0]), str(repo.top), ours))
    keys = [each["key"] for each in standing if each["repository"] == entry["repository"]]
    earlier = next((str(_earlier(hook)) for hook in hooks if os.path.lexists(_earlier(hook))), None)
    asks = entry.get("hub", ""), entry.get("token_file", "")
    return Installed(str(hooks[0]), keys, earlier, _note(hooks[0], repo), *asks)


def hub_address(url: str) -> str:
    """A hub's address as guards store it, without a client's ``/mcp/mail`` at the end. Raises GuardError."""
    address = url.strip().rstrip("/")
    for end in _HUBS:
        address = address.removesuffix(end)
    try:
        parts = urlsplit(address)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_one = False
    # No user and password, which would be secrets in the hook, and no query or fragment.
    if is_one and not set(address) & set("@?#\\ ") and address.isascii() and address.isprintable():
        return address
    raise GuardError(f"{url} is not the address of a hub.", hint="Write it like http://127.0.0.1:8765.")


def uninstall_guard(store: MailStore, code_repo_path: str | Path) -> Uninstalled:
    """Remove the guard from a repository and restore the earlier hooks. Raises GuardError."""
    store, repo = MailStore(store.root.expanduser().resolve()), code_repo.find(code_repo_path)
    hooks = _hooks(repo)
    if not any(os.path.lexists(hook) for hook in hooks):
        return Uninstalled(str(hooks[0]), removed=False, restored=False)
    with _changing(store.root, hooks[0]):
        found = {hook: _guarded(hook) for hook in hooks}
        known = list(_merged(found.values()).values())
        left = [each for each in known if each["repository"] not in ("", str(repo.common))]
        if len(left) == len(known):
            return Uninstalled(str(hooks[0]), removed=False, restored=False)
        restored = False
        for hook in hooks:
            if found[hook] is not None and left:
                _write(hook, left)
            elif found[hook] is not None or not os.path.lexists(hook):
                restored = _give_back(hook) or restored
        if not left:
            guards.forget(store, str(hooks[0]))
    return Uninstalled(str(hooks[0]), removed=True, restored=restored)


def token_file_for(store: MailStore, hub: str, code_repo_path: str | Path) -> str:
    """The token file that a repository's guard uses for this hub; empty for none. Raises GuardError."""
    hooks = _hooks(code_repo.find(code_repo_path))
    with _changing(store.root, hooks[0]):
        return _token_file(_merged(_guarded(hook) for hook in hooks), hub)


def _hooks(repo: CodeRepo) -> list[Path]:
    """The guard's files, in the order of ``HOOKS``."""
    folder = _folder(repo)
    return [folder / name for name in HOOKS]


def _folder(repo: CodeRepo) -> Path:
    """The folder for the guard. husky recreates git's hooks folder (``_``); users' hooks are in the folder above."""
    folder = repo.hooks
    if folder.name == "_" and (folder / "h").is_file():
        folder = folder.parent
    if os.path.lexists(folder) and not folder.is_dir():
        raise GuardError(
            f"Hooks are switched off here: {folder} is not a folder.",
            hint="`git config core.hooksPath` shows the setting; unset it or set it to a folder.",
        )
    return folder


def _guarded(hook: Path) -> list[dict[str, str]] | None:
    """The projects of the guard in a file; None when there is no file, or a foreign one."""
    if not os.path.lexists(hook) or hook.is_symlink():
        return None
    if not hook.is_file():
        raise GuardError(f"{hook} is not a file.", hint="Move it away and try again.")
    try:
        guard = guard_file.parse(hook.read_bytes().decode("utf-8", "surrogateescape"))
    except guard_file.ChangedGuardError as error:
        raise GuardError(
            f"The guard {hook} was changed by hand, so it is left alone.", hint="Move it away and try again."
        ) from error
    return None if guard is None else guard.guarded


def _merged(found: Iterable[list[dict[str, str]] | None]) -> _Known:
    """The projects in all files of a guard, which may differ after an interrupted installation."""
    merged: _Known = {}
    for entry in (entry for entries in found for entry in entries or ()):
        merged.setdefault(_identity(entry), entry)
    return merged


def _identity(entry: Mapping[str, str]) -> tuple[str, str]:
    """Identifies an entry: a project is guarded once per repository, wherever the claims come from."""
    return entry["key"], entry["repository"]


def _source(store: MailStore, way: GuardWay, identity: tuple[str, str], known: _Known) -> dict[str, str]:
    """The source of a project's claims; ``known``: the guard's existing entries."""
    stood = known.get(identity, {}).get("hub", "")
    told = way.hub or ("" if stood else way.otherwise)
    hub = hub_address(told) if told else stood
    if hub:
        # An empty ``database`` stays, because earlier versions expect the key in every entry.
        return {"database": "", "hub": hub, "token_file": way.token_file or _token_file(known, hub)}
    if way.token_file:
        raise GuardError("This guard reads the database and sends no token.", hint="Name the hub, too: --hub URL")
    if not store.database.is_file():
        raise GuardError(f"There is no mail store in {store.root}.", hint="Register an agent in the project first.")
    return {"database": str(store.database)}


def _token_file(known: _Known, hub: str) -> str:
    return next((each["token_file"] for each in known.values() if each.get("hub") == hub and each["token_file"]), "")


def _make(root: Path) -> None:
    """Create the mail's folder if needed: it has the list of guards and their log."""
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        hint = "Set mail.store to a folder that you may write to."
        raise GuardError(f"{root} cannot be created: {error.strerror}.", hint=hint) from error


def _earlier(hook: Path) -> Path:
    return hook.with_name(f"{hook.name}{EARLIER}")


def _refuse_two(hook: Path) -> None:
    if os.path.lexists(_earlier(hook)):
        raise GuardError(
            f"{hook} and {_earlier(hook)} are both hooks from somebody else.",
            hint=f"Join them into one {hook.name} hook, remove the other, and try again.",
        )


def _give_back(hook: Path) -> bool:
    """Replace the guard by the earlier hook; without one, remove it and return False."""
    if os.path.lexists(_earlier(hook)):
        _earlier(hook).replace(hook)
        return True
    hook.unlink(missing_ok=True)
    return False


def _write(hook: Path, guarded: Sequence[dict[str, str]]) -> None:
    """Write the guard atomically."""
    text = guard_file.render(guarded).encode("utf-8", "surrogateescape")
    descriptor, name = tempfile.mkstemp(prefix=f".{hook.name}-", dir=hook.parent)
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
    """Hold the lock for changing hooks. Turns OSError into GuardError."""
    lock = exclusive(str(root / "guard.lock"), _LOCKING, "a pre-commit guard") if root.is_dir() else nullcontext()
    with lock:
        try:
            yield
        except OSError as error:
            raise GuardError(
                f"{hook} cannot be read or written: {error.strerror or error}.", hint="Check the permissions."
            ) from error


def _note(hook: Path, repo: CodeRepo) -> str:
    if hook.resolve().is_relative_to(repo.top) and not hook.resolve().is_relative_to(repo.common):
        return (
            "The hooks are in the work tree and contain paths of this machine: keep them out of commits. "
            "Other work trees have their own hooks: install the guard there, too."
        )
    if repo.shares_hooks:
        return "Other repositories use this hooks folder, too; the guard checks only this one."
    return ""
