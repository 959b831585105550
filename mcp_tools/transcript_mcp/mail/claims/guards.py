"""The list of installed guards, ``guards.json`` in the mail store, for finding outdated ones.

A guard contains the code and the address that it was installed with, until it is installed again. Earlier versions kept
no list; their guards are searched in the usual place, the hooks of the project's own repository.
"""

import json
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from nanobot_transcript.files.descriptors import to_read
from nanobot_transcript.files.replace import write_whole
from transcript_mcp.mail.claims import guard_file
from transcript_mcp.mail.store import MailStore

__all__ = ["GuardPlace", "Outdated", "forget", "is_of", "note", "outdated"]

_LARGEST: Final = 4_000_000
_USUAL: Final = ".git/hooks/pre-commit"


@dataclass(frozen=True, slots=True)
class GuardPlace:
    """An installed guard: the path of its hook ``pre-commit``, its work tree, and the keys of its projects."""

    hook: str
    work_tree: str
    projects: list[str]


@dataclass(frozen=True, slots=True)
class Outdated:
    """A guard with older rules than this version's, or one that reads a database which is not in use any more.

    ``project``: one of its projects. ``hub``: the one that it asks about it, empty for none.
    """

    hook: str
    work_tree: str
    project: str
    rules: int
    hub: str = ""
    is_left: bool = False

    @property
    def problem(self) -> str:
        """What is wrong with it, in a sentence."""
        if self.is_left:
            return f"The guard {self.hook} reads a database that mail has left, and blocks nothing."
        return f"The guard {self.hook} has rules of version {self.rules}; {guard_file.RULES} is the newest."

    @property
    def command(self) -> str:
        """The command that updates it."""
        key, tree = shlex.quote(self.project), shlex.quote(self.work_tree)
        hub = f" --hub {shlex.quote(self.hub)}" if self.hub else ""
        return f"cd {tree} && nanobot-transcript mail guard install --project {key}{hub}"

    @property
    def call(self) -> str:
        """The tool call that updates it."""
        arguments = {"project_key": self.project, "code_repo_path": self.work_tree}
        return f"install_precommit_guard {json.dumps(arguments, ensure_ascii=False)}"


def note(store: MailStore, standing: GuardPlace) -> None:
    """Add an installed guard to the list, and drop those whose hook is gone. Raises OSError."""
    others = (each for each in _noted(store) if each.hook != standing.hook and os.path.lexists(each.hook))
    _write(store, [*others, standing])


def forget(store: MailStore, hook: str) -> None:
    """Remove a guard from the list. Raises OSError."""
    known = _noted(store)
    left = [each for each in known if each.hook != hook]
    if len(left) < len(known):
        _write(store, left)


def is_of(entry: Mapping[str, str], store: MailStore) -> bool:
    """True when an entry reads this store's database, or asks a hub, whatever store that has."""
    return "hub" in entry or entry["database"] == str(store.root.expanduser().resolve() / store.database.name)


def outdated(store: MailStore, keys: Iterable[str], *, elsewhere: bool = False, in_file: bool = True) -> list[Outdated]:
    """The guards of these projects whose rules are older than this version's.

    With ``elsewhere`` also those that ask a hub about other projects. Unless mail is ``in_file``, also those that still
    read a file. Never raises OSError.
    """
    wanted = set(keys)
    noted = (each for each in _noted(store) if elsewhere or wanted.intersection(each.projects))
    # If both name the same hook, the list's entry wins, because it knows the work tree.
    standing = {os.path.realpath(each.hook): each for each in (*_usual(wanted), *noted)}
    suspect = [each for each in standing.values() if not in_file or _has_old_rules(each.hook)]

    def is_meant(entry: Mapping[str, str]) -> bool:
        return is_of(entry, store) and (entry["key"] in wanted or (elsewhere and "hub" in entry))

    found = (_looked_at(each, is_meant, in_file=in_file) for each in suspect)
    return [each for each in found if each is not None]


def _usual(keys: Iterable[str]) -> Iterator[GuardPlace]:
    return (GuardPlace(f"{key}/{_USUAL}", key, [key]) for key in sorted(keys) if key.startswith("/"))


def _has_old_rules(hook: str) -> bool:
    rules = guard_file.rules(_text(hook, guard_file.HEAD_LENGTH))
    return rules is not None and rules < guard_file.RULES


def _looked_at(
    standing: GuardPlace, is_meant: Callable[[Mapping[str, str]], bool], *, in_file: bool
) -> Outdated | None:
    try:
        guard = guard_file.parse(_text(standing.hook, _LARGEST))
    except guard_file.ChangedGuardError:
        return None
    if guard is None:
        return None
    ours = [each for each in guard.guarded if is_meant(each)]
    left = [] if in_file else [each for each in ours if "hub" not in each]
    named = next(iter(left or ours), None)
    if named is None or not (left or guard.rules < guard_file.RULES):
        return None
    found = standing.hook, standing.work_tree, named["key"], guard.rules
    return Outdated(*found, hub=named.get("hub", ""), is_left=bool(left))


def _noted(store: MailStore) -> list[GuardPlace]:
    try:
        found: Any = json.loads(_text(str(store.guards), _LARGEST))
        return [GuardPlace(str(each["hook"]), str(each["work_tree"]), list(each["projects"])) for each in found]
    except (ValueError, TypeError, KeyError, RecursionError):  # no list yet, or a damaged one
        return []


def _write(store: MailStore, standing: Iterable[GuardPlace]) -> None:
    # ASCII with escapes, because a path may contain any bytes (as lone surrogates).
    write_whole(str(store.guards), json.dumps([asdict(each) for each in standing]).encode("ascii"))


def _text(path: str, most: int) -> str:
    """The beginning of a file, empty when there is none. Does not block on a pipe or a device."""
    try:
        with os.fdopen(to_read(path), "rb") as file:
            return file.read(most).decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return ""
