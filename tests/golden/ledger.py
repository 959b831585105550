"""The snapshots of a checkout, and which line of the changelog explains how each of them came to be."""

import difflib
import hashlib
import json
import re
from pathlib import Path
from typing import Final

__all__ = ["Ledger", "UnexplainedError"]

_COMMAND: Final = 'make golden LINE="the beginning of the line in CHANGELOG.md that tells users"'


class UnexplainedError(Exception):
    """No line of the changelog tells users of a difference."""


class Ledger:
    """The files in ``tests/golden/snapshots`` below ``root``, and the one that says what explains them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "tests" / "golden" / "snapshots"
        self._explained = self.folder / "explained.json"

    def path_of(self, name: str) -> Path:
        """Where a snapshot lies, as seen from the checkout."""
        return (self.folder / f"{name}.txt").relative_to(self.root)

    def stored(self, name: str) -> str:
        """A snapshot as it was written down; empty where there is none."""
        path = self.root / self.path_of(name)
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def recorded(self) -> dict[str, dict[str, str]]:
        """By the name of a snapshot: the digest that it had, and the line that explains it."""
        return json.loads(self._explained.read_text(encoding="utf-8")) if self._explained.exists() else {}

    def line(self, words: str) -> str:
        """The one line under “Unreleased” that begins so. Raises UnexplainedError."""
        _, _, after = self._changelog().partition("## [Unreleased]")
        unreleased = re.split(r"^## ", after, maxsplit=1, flags=re.MULTILINE)[0]
        begun = " ".join(words.split()).removeprefix("- ")
        found = [each for each in _lines(unreleased) if begun and each.startswith(begun)]
        if len(found) == 1:
            return found[0]
        which = f"{len(found)} lines begin with “{begun}”." if begun else "A difference needs its line."
        raise UnexplainedError(f"{which} Tell users of it under “Unreleased” in CHANGELOG.md, then: {_COMMAND}")

    def unsettled(self, name: str, text: str) -> bool:
        """True for a snapshot that differs, was changed by hand, or whose line is not in the changelog any more."""
        entry = self.recorded().get(name, {})
        return self.stored(name) != text or entry.get("sha256") != _digest(text) or not self.is_explained(name)

    def is_explained(self, name: str) -> bool:
        """True while the line that explains a snapshot stands in the changelog."""
        return self.recorded().get(name, {}).get("line") in _lines(self._changelog())

    def settle(self, name: str, text: str, line: str) -> None:
        """Write a snapshot and the line that explains it. Raises UnexplainedError when the line told of another."""
        entry = self.recorded().get(name, {})
        if entry.get("line") == line and entry.get("sha256") != _digest(text):
            raise UnexplainedError(
                f"That line explains {self.path_of(name)} as it was. Tell of this difference in a line of its own, or "
                "add to that one. While you work on the same change, take the snapshots back with git first."
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.root / self.path_of(name)).write_text(text, encoding="utf-8")
        self._record({**self.recorded(), name: {"sha256": _digest(text), "line": line}})

    def drop(self, name: str) -> None:
        """Remove a snapshot of what there is no more."""
        (self.root / self.path_of(name)).unlink(missing_ok=True)
        self._record({other: entry for other, entry in self.recorded().items() if other != name})

    def difference(self, name: str, text: str) -> str:
        """What differs, line by line, and what to do about it."""
        old, new = self.stored(name).splitlines(), text.splitlines()
        lines = difflib.unified_diff(old, new, str(self.path_of(name)), "this checkout", lineterm="", n=1)
        return "\n".join([*lines, f"If that is meant: {_COMMAND}"])

    def _changelog(self) -> str:
        return (self.root / "CHANGELOG.md").read_text(encoding="utf-8")

    def _record(self, entries: dict[str, dict[str, str]]) -> None:
        text = json.dumps(dict(sorted(entries.items())), indent=1, ensure_ascii=False)
        self._explained.write_text(f"{text}\n", encoding="utf-8")


def _lines(text: str) -> list[str]:
    """The bullets of a changelog, each on one line."""
    found = re.findall(r"^- (.*?)(?=^- |^#|^$|\Z)", text, re.MULTILINE | re.DOTALL)
    return [" ".join(each.split()) for each in found]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
