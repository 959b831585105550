"""Where guards stand, so that outdated ones can be named: ``guards.json`` in the mail store.

A guard holds the code that it was installed with, and asks where it was told to, until somebody installs it again. What
an earlier version installed was not noted; it is looked for where most are, among the hooks of the project's own
repository.
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
    """A guard that was installed: the path of its hook ``pre-commit``, its work tree, the keys of its projects."""

    hook: str
    work_tree: str
    projects: list[str]


@dataclass(frozen=True, slots=True)
class Outdated:
    """A guard whose rules are older than those of this version, or that reads a database which mail has left.

    ``project`` is one of those that it guards, ``hub`` the one that it asks about it, empty for none.
    """

    hook: str
    work_tree: str
    project: str
    rules: int
    hub: str = ""
    is_left: bool = False

    @property
    def told(self) -> str:
        """What is wrong with it, in a sentence."""
        if self.is_left:
            return f"The guard {self.hook} reads a database that mail has left, and blocks nothing."
        return f"The guard {self.hook} has rules of version {self.rules}; {guard_file.RULES} is the newest."

    @property
    def command(self) -> str:
        """What renews it, on the command line."""
        key, tree = shlex.quote(self.project), shlex.quote(self.work_tree)
        hub = f" --hub {shlex.quote(self.hub)}" if self.hub else ""
        return f"cd {tree} && nanobot-transcript mail guard install --project {key}{hub}"

    @property
    def call(self) -> str:
        """What renews it, as a tool is called."""
        arguments = {"project_key": self.project, "code_repo_path": self.work_tree}
        return f"install_precommit_guard {json.dumps(arguments, ensure_ascii=False)}"


def note(store: MailStore, standing: GuardPlace) -> None:
    """Note a guard that was installed; those whose hook is gone are forgotten. Raises OSError."""
    others = (each for each in _noted(store) if each.hook != standing.hook and os.path.lexists(each.hook))
    _write(store, [*others, standing])


def forget(store: MailStore, hook: str) -> None:
    """Note that a guard was taken out. Raises OSError."""
    known = _noted(store)
    left = [each for each in known if each.hook != hook]
    if len(left) < len(known):
        _write(store, left)


def is_of(entry: Mapping[str, str], store: MailStore) -> bool:
    """True when a guard's project reads this store's database, or asks a hub, wherever that has its mail."""
    return "hub" in entry or entry["database"] == str(store.root.expanduser().resolve() / store.database.name)


def outdated(store: MailStore, keys: Iterable[str], *, elsewhere: bool = False, in_file: bool = True) -> list[Outdated]:
    """The guards of these projects whose rules are older than those of this version.

    With ``elsewhere`` also those that ask a hub about other projects; unless the mail is ``in_file``, also those that
    still read the file. Never raises OSError.
    """
    wanted = set(keys)
    noted = (each for each in _noted(store) if elsewhere or wanted.intersection(each.projects))
    # Where the two are one hook, what was noted says which work tree it is.
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
    except (ValueError, TypeError, KeyError, RecursionError):  # none was noted, or somebody has changed the file
        return []


def _write(store: MailStore, standing: Iterable[GuardPlace]) -> None:
    # No text of its own for what is no text: a path may hold any bytes.
    write_whole(str(store.guards), json.dumps([asdict(each) for each in standing]).encode("ascii"))


def _text(path: str, most: int) -> str:
    """The beginning of a file, empty when there is none; a pipe or a device does not hold anybody up."""
    try:
        with os.fdopen(to_read(path), "rb") as file:
            return file.read(most).decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return ""
