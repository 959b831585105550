"""Checks whether a program can be started, and says what to do if not."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

__all__ = ["Obstacle", "obstacle"]


class Obstacle(NamedTuple):
    """Why a program cannot be started; ``option`` is the setting to change."""

    option: Literal["command", "cwd"]
    sentence: str
    hint: str


def obstacle(program: str, cwd: Path | None, env: Mapping[str, str]) -> Obstacle | None:
    """Why ``program`` cannot be started in ``cwd`` with ``env``; None when it can.

    A name without a slash is looked up in the ``PATH`` of ``env``, as the system does.
    """
    if cwd is not None and not cwd.is_dir():
        return Obstacle("cwd", f"There is no directory {cwd}.", "Create it, or correct `cwd` of the responder.")
    if "/" not in program:
        path = env.get("PATH", os.defpath)
        if shutil.which(program, path=path) is not None:
            return None
        if shutil.which(program, os.F_OK, path=path) is None:
            return Obstacle("command", f"There is no program {program}.", "Install it, or give its full path.")
    else:
        found = (cwd or Path.cwd()) / program
        if not found.is_file():
            return Obstacle("command", f"There is no program {found}.", "Correct the path, or install it there.")
        if os.access(found, os.X_OK):
            return None
    return Obstacle("command", f"{program} may not be run.", "Make the file executable: chmod +x.")
