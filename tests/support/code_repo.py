"""A repository of code that agents commit to."""

import itertools
import os
import subprocess
from pathlib import Path

from support.waiting import PATIENCE

_CHANGES = itertools.count()


class Repo:
    """A code repository in which commits are made by somebody."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def git(self, *arguments: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run git; ``environment`` comes on top of one without identities."""
        home = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder.parent),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_EDITOR": "true",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
        }
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            env={**home, **environment},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0 or not check, done.stderr
        return done

    def write(self, *paths: str, text: str = "") -> None:
        """Change files and put them into the next commit."""
        change = next(_CHANGES)
        for path in paths:
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text or f"change {change}\n", encoding="utf-8")
        self.git("add", "--", *paths)

    def commit(self, agent: str | None = "BlueLake", *options: str, **environment: str) -> tuple[bool, str]:
        """Commit what is staged as an agent; whether it passed, and what was said."""
        named = {"AGENT_NAME": agent} if agent else {}
        done = self.git("commit", "-m", "work", *options, check=False, **named, **environment)
        return done.returncode == 0, done.stderr

    def hook(self, name: str = "pre-commit") -> Path:
        """The path of a hook."""
        return self.folder / ".git" / "hooks" / name
