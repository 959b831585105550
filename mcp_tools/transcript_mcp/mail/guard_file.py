"""The text of the pre-commit guard: one file that is a shell script to git and a program to Python.

The shell part looks for a Python and starts it without its site packages, which takes half the time and keeps out
whatever a work tree or an environment would slip in. A checksum tells whether somebody has changed the file.
"""

import ast
import hashlib
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from transcript_mcp.mail import guard_hook, matching
from transcript_mcp.mail.guard_hook import EARLIER

__all__ = ["ChangedGuardError", "parse", "render"]

_MARK: Final = "# agent-mail-guard sha256="
_SETTINGS: Final = "GUARDED = "
_HEAD: Final = "#!/bin/sh\n''':'\n"
_FUTURE: Final = "from __future__ import annotations"
_OWN_IMPORT: Final = "from transcript_mcp."
_SHELL: Final = """\
# Agent Mail: no commit into files that another agent has claimed. Do not edit: uninstall_precommit_guard takes it out.
for python in {pythons}; do
  command -v "$python" >/dev/null 2>&1 && exec "$python" -I -S "$0" "$@"
done
echo "Agent Mail: there is no Python; claims were not checked. 找不到 Python，未检查占用情况。" >&2
if [ -x "${{0%/*}}/{earlier}" ]; then exec "${{0%/*}}/{earlier}" "$@"; fi
exit 0
'''
"""


class ChangedGuardError(ValueError):
    """The file is a guard that somebody has changed."""


def render(guarded: Sequence[Mapping[str, str]]) -> str:
    """The hook's text for these projects; ``parse`` gives them back."""
    body = "\n".join(
        [
            _SHELL.format(pythons=" ".join(_pythons()), earlier=EARLIER) + _FUTURE,
            f"{_SETTINGS}{[dict(project) for project in guarded]!a}",
            _source(matching),
            _source(guard_hook),
            "sys.exit(main(GUARDED, sys.argv))\n",
        ]
    )
    return f"{_HEAD}{_MARK}{_digest(body)}\n{body}"


def parse(text: str) -> list[dict[str, str]] | None:
    """The projects that a guard's text is for; None when the text is somebody else's.

    Raises ChangedGuardError.
    """
    mark, _, body = text.removeprefix(_HEAD).partition("\n")
    if not (text.startswith(_HEAD) and mark.startswith(_MARK)):
        if _MARK in text:
            raise ChangedGuardError
        return None
    if mark != f"{_MARK}{_digest(body)}":
        raise ChangedGuardError
    line = next(line for line in body.split("\n") if line.startswith(_SETTINGS))
    guarded: list[dict[str, Any]] = ast.literal_eval(line.removeprefix(_SETTINGS))
    return guarded


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode("utf-8", "surrogateescape")).hexdigest()


def _pythons() -> list[str]:
    """The Python that runs this, without its virtual environment, as long as it is there; else what the path has.

    What the path has may be a script that looks for a Python, and takes longer than the whole guard.
    """
    own = os.path.realpath(sys.executable)
    is_usable = Path(own).name.startswith("python") and own.isprintable() and "\\" not in own
    return [*([shlex.quote(own)] if is_usable else []), "python3"]


def _source(module: ModuleType) -> str:
    """A module's text without what stands at the top of the file, or beside it in the file."""
    lines = Path(str(module.__file__)).read_text(encoding="utf-8").split("\n")
    return "\n".join(line for line in lines if line != _FUTURE and not line.startswith(_OWN_IMPORT))
