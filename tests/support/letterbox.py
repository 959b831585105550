"""A mail store with two projects whose people write to each other, and a clock that tests turn."""

from pathlib import Path
from typing import Any

from nanobot_transcript.sql.location import Shelf
from transcript_mcp.mail.archive import jobs
from transcript_mcp.mail.mail import AgentMail
from transcript_mcp.mail.store import MailStore
from transcript_mcp.mail.values import Agent, Draft, MailOptions, Sent

__all__ = ["BACKEND", "FRONTEND", "Letterbox"]

BACKEND = "/abs/path/backend"
FRONTEND = "/abs/path/frontend"


class Letterbox:
    """``mail`` with GreenCastle and RedStone at home in the backend's project, BlueLake in the frontend's."""

    def __init__(self, root: Path, options: MailOptions | None = None, *, engine: Any = None) -> None:
        """With an ``engine``, its tables are there."""
        self.time = 1_761_232_934.5  # 2025-10-23T15:22:14.5Z
        self.root = root
        self.places = MailStore.on(Shelf(root, engine))
        self.options = options
        self.mail = self.opened()
        self.tokens: dict[str, str] = {}
        self.green = self.new(BACKEND, "GreenCastle")
        self.red = self.new(BACKEND, "RedStone")
        self.blue = self.new(FRONTEND, "BlueLake")

    def opened(self) -> AgentMail:
        """Another front of the same store, as another process has it."""
        return AgentMail(self.places, self.options, clock=lambda: self.time)

    def new(self, project: str, name: str) -> Agent:
        """Register somebody."""
        made = self.mail.register_agent(project, name, "codex-cli", "gpt5-codex", "Auth refactor")
        self.tokens[name] = made.token or ""
        return made.agent

    def send(self, to: Any = ("RedStone",), subject: str = "Plan", body: str = "text", **fields: Any) -> Sent:
        """Send from GreenCastle in the backend's project."""
        return self.mail.send(BACKEND, self.green, Draft(subject, body, to=to, **fields))

    def archived(self, project: str = BACKEND) -> dict[str, str]:
        """What the archive is to hold by path, from all jobs of a project."""
        files: dict[str, str] = {}
        for job in self.jobs(project):
            files.update(job.files)
        return files

    def jobs(self, project: str = BACKEND) -> list[jobs.ArchiveJob]:
        """The jobs of a project."""
        project_id = self.mail.project(project).id
        return self.mail.reader.read(lambda db: jobs.waiting(db, project_id, 100_000), [])

    def count(self, table: str) -> int:
        """Rows of a table."""
        return self.mail.reader.read(lambda db: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0], 0)
