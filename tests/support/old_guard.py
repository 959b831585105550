"""A guard as the first version installed it: without the version of its rules, as ``pre-commit`` alone."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from transcript_mcp.mail.claims import guard_file
from transcript_mcp.mail.store import MailStore

_MARK = "# agent-mail-guard sha256="


def first_version(*guarded: Mapping[str, str]) -> str:
    """The text of a guard of the first version."""
    head, _, rest = guard_file.render(guarded).partition(_MARK)
    body = rest.partition("\n")[2]
    body = body.replace(f"# agent-mail-guard rules={guard_file.RULES}\n", "", 1)
    return f"{head}{_MARK}{hashlib.sha256(body.encode()).hexdigest()}\n{body}"


def install_first_version(store: MailStore, key: str, hooks: Path) -> Path:
    """Put such a guard of a project into a folder of hooks."""
    root = os.path.realpath(store.root)
    project = {"database": f"{root}/{store.database.name}", "log": f"{root}/guard-bypass.log", "key": key}
    hooks.mkdir(parents=True, exist_ok=True)
    hook = hooks / "pre-commit"
    hook.write_text(first_version({**project, "repository": "", "below": "", "above": ""}), encoding="utf-8")
    hook.chmod(0o755)
    return hook
