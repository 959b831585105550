"""Putting the guard into a code repository, and taking it out again: one file under each name of ``HOOKS``.

What lies there already is kept beside it, runs before it, and comes back with its end. A file that is not ours, or that
somebody has changed, is never overwritten or removed.
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
"""The hooks that the guard is, the one that commits run first."""
_LOCKING: Final = 10.0
_Known: TypeAlias = dict[tuple[str, str], dict[str, str]]
"""What a guard has of each project, by ``_identity``."""
_HUBS: Final = ("/mcp/mail", "/mcp")
"""What clients have behind a hub's address."""


@dataclass(frozen=True, slots=True)
class GuardWay:
    """How a guard gets the claims. ``hub`` is the address of a hub to ask, ``token_file`` a file with the hub's token.

    Where nothing is said, a guard that stands keeps its way; a new one asks the hub ``otherwise``, or without one reads
    the store's database.
    """

    hub: str = ""
    token_file: str = ""
    otherwise: str = ""


@dataclass(frozen=True, slots=True)
class Installed:
    """A guard that stands. ``hook`` is its file ``pre-commit``; the other names of ``HOOKS`` are beside it.

    ``projects`` are the keys of all projects that it guards in this repository. ``earlier`` is the first hook that runs
    before one of its files, None without any. ``note`` may be empty, and so may ``hub``, which it asks about the
    project that was meant, and ``token_file``.
    """

    hook: str
    projects: Sequence[str]
    earlier: str | None
    note: str
    hub: str = ""
    token_file: str = ""


@dataclass(frozen=True, slots=True)
class Uninstalled:
    """What became of a guard. ``removed`` is False when there was none; ``restored`` says that a hook that had been
    there before is back in its place."""

    hook: str
    removed: bool
    restored: bool


def install_guard(
    store: MailStore, project_key: str, code_repo_path: str | Path, way: GuardWay | None = None
) -> Installed:
    """Let the repository's commits respect the claims of a project, beside those of projects that it guards already.

    ``code_repo_path`` is any folder of the work tree; all work trees of the repository are guarded. Doing it again is
    fine. A guard that asks a hub needs no mail in ``store``, which keeps its log. Raises GuardError.
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
                hook.rename(_earlier(hook))  # a link stays a link
            _write(hook, standing)
        ours = [each["key"] for each in standing if guards.is_of(each, store)]
        guards.note(store, guards.GuardPlace(str(hooks[0]), str(repo.top), ours))
    keys = [each["key"] for each in standing if each["repository"] == entry["repository"]]
    earlier = next((str(_earlier(hook)) for hook in hooks if os.path.lexists(_earlier(hook))), None)
    asks = entry.get("hub", ""), entry.get("token_file", "")
    return Installed(str(hooks[0]), keys, earlier, _note(hooks[0], repo), *asks)


def hub_address(url: str) -> str:
    """A hub's address as guards keep it; it may end as clients write it, ``/mcp/mail``. Raises GuardError."""
    address = url.strip().rstrip("/")
    for end in _HUBS:
        address = address.removesuffix(end)
    try:
        parts = urlsplit(address)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_one = False
    # What else may stand in an address has no place in one, or would be a secret in the hook.
    if is_one and not set(address) & set("@?#\\ ") and address.isascii() and address.isprintable():
        return address
    raise GuardError(f"{url} is not the address of a hub.", hint="Write it like http://127.0.0.1:8765.")


def uninstall_guard(store: MailStore, code_repo_path: str | Path) -> Uninstalled:
    """Take the guard out of a repository and give the hooks that had been there before their places back.

    Raises GuardError.
    """
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
    """The file from which the guard of a repository takes the token of this hub; empty for none. Raises GuardError."""
    hooks = _hooks(code_repo.find(code_repo_path))
    with _changing(store.root, hooks[0]):
        return _token_file(_merged(_guarded(hook) for hook in hooks), hub)


def _hooks(repo: CodeRepo) -> list[Path]:
    """The files that the guard is, in the order of ``HOOKS``."""
    folder = _folder(repo)
    return [folder / name for name in HOOKS]


def _folder(repo: CodeRepo) -> Path:
    """Where the guard lies. husky makes the folder that git looks into anew; its users' hooks lie above it."""
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
    """The projects of the guard that lies there; None when there is no file or it is somebody else's."""
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
    """The projects of all files of a guard: an installation may have been cut off between two, after the first."""
    merged: _Known = {}
    for entry in (entry for entries in found for entry in entries or ()):
        merged.setdefault(_identity(entry), entry)
    return merged


def _identity(entry: Mapping[str, str]) -> tuple[str, str]:
    """A project is guarded once in a repository, wherever the claims come from."""
    return entry["key"], entry["repository"]


def _source(store: MailStore, way: GuardWay, identity: tuple[str, str], known: _Known) -> dict[str, str]:
    """Where the claims of a project come from; ``known`` is what the guard has had."""
    stood = known.get(identity, {}).get("hub", "")
    told = way.hub or ("" if stood else way.otherwise)
    hub = hub_address(told) if told else stood
    if hub:
        # An earlier version of ours looks for the database of every project.
        return {"database": "", "hub": hub, "token_file": way.token_file or _token_file(known, hub)}
    if way.token_file:
        raise GuardError("This guard reads the database and sends no token.", hint="Name the hub, too: --hub URL")
    if not store.database.is_file():
        raise GuardError(f"There is no mail store in {store.root}.", hint="Register an agent in the project first.")
    return {"database": str(store.database)}


def _token_file(known: _Known, hub: str) -> str:
    return next((each["token_file"] for each in known.values() if each.get("hub") == hub and each["token_file"]), "")


def _make(root: Path) -> None:
    """The folder of the mail, where there may be none: it has the list of guards, and their log."""
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
    """The earlier hook in the guard's place; False when there is none."""
    if os.path.lexists(_earlier(hook)):
        _earlier(hook).replace(hook)
        return True
    hook.unlink(missing_ok=True)
    return False


def _write(hook: Path, guarded: Sequence[dict[str, str]]) -> None:
    """As a whole or not at all."""
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
    """One at a time changes hooks; what the disk refuses is a GuardError."""
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
