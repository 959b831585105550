"""The text of the guard: one file that is both a shell script and a Python program, the same under every name.

The shell part finds a Python and starts it without site packages (``-I -S``): that halves its start, and nothing from
the work tree or the environment is imported. A checksum shows whether somebody has changed the file, and a number gives
the version of its rules.
"""

import ast
import hashlib
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from transcript_mcp.mail.claims import guard_hook, guard_hub, patterns
from transcript_mcp.mail.claims.guard_hook import EARLIER

__all__ = ["HEAD_LENGTH", "RULES", "ChangedGuardError", "Guard", "parse", "render", "rules"]

RULES: Final = 2
"""The version of the rules in a rendered guard. Raise it with every change to what a guard lets pass: in ``patterns``,
``guard_hub`` or ``guard_hook``, or in the names under which it is installed.
"""
HEAD_LENGTH: Final = 500
"""Characters of a guard's text that are enough for ``rules``."""

_MARK: Final = "# agent-mail-guard sha256="
_SETTINGS: Final = "GUARDED = "
_HEAD: Final = "#!/bin/sh\n''':'\n"
_RULES: Final = "# agent-mail-guard rules="
_FUTURE: Final = "from __future__ import annotations"
_OWN_IMPORT: Final = "from transcript_mcp."
_SHELL: Final = """\
# Agent Mail: no commit into files that another agent has claimed. Do not edit: uninstall_precommit_guard takes it out.
for python in {pythons}; do
  command -v "$python" >/dev/null 2>&1 && exec "$python" -I -S "$0" "$@"
done
echo "Agent Mail: there is no Python; claims were not checked. 找不到 Python，未检查占用情况。" >&2
if [ -x "$0{earlier}" ]; then exec "$0{earlier}" "$@"; fi
exit 0
'''
"""


class ChangedGuardError(ValueError):
    """The file is a guard, but was changed by somebody."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The contents of a guard: the version of its rules, and its projects."""

    rules: int
    guarded: list[dict[str, str]]


def render(guarded: Sequence[Mapping[str, str]]) -> str:
    """The hook's text for these projects; the inverse of ``parse``."""
    body = "\n".join(
        [
            f"{_RULES}{RULES}",
            _SHELL.format(pythons=" ".join(_pythons()), earlier=EARLIER) + _FUTURE,
            f"{_SETTINGS}{[dict(project) for project in guarded]!a}",
            _source(patterns),
            *([_source(guard_hub)] if any("hub" in project for project in guarded) else []),
            _source(guard_hook),
            "sys.exit(main(GUARDED, sys.argv))\n",
        ]
    )
    return f"{_HEAD}{_MARK}{_digest(body)}\n{body}"


def parse(text: str) -> Guard | None:
    """The guard in a text; None for a foreign hook. Raises ChangedGuardError."""
    mark, _, body = text.removeprefix(_HEAD).partition("\n")
    if not (text.startswith(_HEAD) and mark.startswith(_MARK)):
        if _MARK in text:
            raise ChangedGuardError
        return None
    if mark != f"{_MARK}{_digest(body)}":
        raise ChangedGuardError
    line = next(line for line in body.split("\n") if line.startswith(_SETTINGS))
    guarded: list[dict[str, Any]] = ast.literal_eval(line.removeprefix(_SETTINGS))
    return Guard(rules(text[:HEAD_LENGTH]) or 1, guarded)


def rules(head: str) -> int | None:
    """The version of the rules of a guard that begins with ``head``, even if somebody has changed it.

    1 for guards without a version; None for a foreign hook.
    """
    if not head.startswith(f"{_HEAD}{_MARK}"):
        return None
    line = head[len(_HEAD) :].split("\n", 2)[1:2]
    number = line[0].removeprefix(_RULES) if line and line[0].startswith(_RULES) else ""
    return int(number) if number.isascii() and number.isdigit() else 1


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode("utf-8", "surrogateescape")).hexdigest()


def _pythons() -> list[str]:
    """The commands to try: the interpreter that runs this, without its virtual environment, then ``python3``.

    ``python3`` on the path may be a shim (pyenv, asdf) that takes longer than the whole guard.
    """
    own = os.path.realpath(sys.executable)
    is_usable = Path(own).name.startswith("python") and own.isprintable() and "\\" not in own
    return [*([shlex.quote(own)] if is_usable else []), "python3"]


def _source(module: ModuleType) -> str:
    """A module's source without imports of our own modules, whose source is in the same file, and of __future__, which
    is at its top.
    """
    lines = Path(str(module.__file__)).read_text(encoding="utf-8").split("\n")
    return "\n".join(line for line in lines if line != _FUTURE and not line.startswith(_OWN_IMPORT))
