"""Agents with mailboxes for tests: folders, a configuration, and the front door as each agent's process has it."""

import json
from pathlib import Path
from typing import Any

from transcript_mcp.filebox import ConfigSource, FileBox, FileBoxOptions, Hooks, Mailbox

__all__ = ["NOW", "SEPARATOR", "Office", "plant", "tree"]

NOW = 1751271322.616
"""2025-06-30T08:15:22.616Z, the seed's own example."""

SEPARATOR = "\u2501" * 102


class Office:
    """Some agents, each with a folder below ``base``, known to each other by a ``.filebox`` in each folder."""

    def __init__(self, base: Path, *names: str, shared: bool = False) -> None:
        self.base = base
        self.home = base / "home"
        self.home.mkdir(parents=True, exist_ok=True)
        self.roots = {name: base / ("shared" if shared else name) for name in names}
        self.shared = shared
        self.now = NOW
        for name, root in self.roots.items():
            root.mkdir(exist_ok=True)
            self.configure(root, current=name)

    def configure(self, folder: Path, current: str = "", **more: Any) -> Path:
        """Write the configuration with all agents into a folder."""
        file = folder / ".filebox"
        agents = {name: str(root) for name, root in self.roots.items()}
        document = {"current_agent": current} if current else {}
        file.write_text(json.dumps({**document, "agents": agents, **more}), encoding="utf-8")
        return file

    def filebox(self, agent: str, hooks: Hooks | None = None, **options: Any) -> FileBox:
        """The front door as in a process whose working directory is the agent's folder."""
        source = ConfigSource(cwd=self.roots[agent], home=self.home)
        return FileBox(source, FileBoxOptions(**options), hooks=hooks or Hooks(), clock=self.tick)

    def mailbox(self, agent: str, **options: Any) -> Mailbox:
        """The mailbox of an agent, in a process of its own as far as caches go."""
        return self.filebox(agent, **options).mailbox(agent)

    def tick(self) -> float:
        """The time, one second later at each look."""
        self.now += 1.0
        return self.now

    def folder(self, agent: str, box: str) -> Path:
        """Where a box lies."""
        below = (agent,) if self.shared else ()
        return self.roots[agent].joinpath("docs", "mailbox", *below, box)

    def files(self, agent: str, box: str) -> list[str]:
        """Everything that lies in a box, as the operating system lists it."""
        folder = self.folder(agent, box)
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []

    def text(self, agent: str, box: str, name: str) -> str:
        """A file as it lies on the disk."""
        return (self.folder(agent, box) / name).read_bytes().decode()

    def everywhere(self, agent: str) -> list[tuple[str, str]]:
        """(box, file name) of all mails of an agent."""
        return [(box, name) for box in ("inbox", "outbox", "done", "cancel") for name in self.files(agent, box)]


def plant(
    folder: Path, name: str, *, message_id: str, timestamp: str, title: str = "planted", text: str = "text", **more: str
) -> Path:
    """Put a mail into a box as another program would."""
    sender, receiver = more.get("sender", "dev_agent"), more.get("receiver", "qa_agent")
    kind = more.get("type", "BR")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(
        (
            f"# {kind}: {title}\n\n**Format Version:** 1.0\n**Message ID:** {message_id}\n**Sender:** {sender}\n"
            f"**Receiver:** {receiver}\n**Timestamp:** {timestamp}\n**Original Sender:** {sender}\n"
            f"**Current Owner:** {receiver}\n\n===== MESSAGE THREAD =====\n\n"
            f"## {timestamp} - {sender} to {receiver} ({kind})\n\n{text}"
        ).encode()
    )
    return path


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path there."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
