"""A store of Agent Mail as the archiver sees it: projects and jobs, without the mail that they come from."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.waiting import PATIENCE

from nanobot_transcript.sql.contract import Sql
from nanobot_transcript.sql.location import Shelf
from transcript_mcp.mail.archive import jobs
from transcript_mcp.mail.store import Archive, MailStore

__all__ = ["NOON", "SLUG", "MailArchive", "git", "message_files"]

SLUG = "backend-1f3a"
"""A project as the tests call it."""

NOON = 1_767_268_800.0
"""2026-01-01 12:00 UTC."""


def git(repo: Path, *arguments: str) -> str:
    """What git says; fails with its complaint."""
    command = ["git", "-C", str(repo), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, f"{arguments}: {done.stderr}"
    return done.stdout


def message_files(message_id: str, sender: str = "GreenCastle", *receivers: str, body: str = "text") -> dict[str, str]:
    """The three copies of a message that was sent at noon."""
    archive, text = Archive(), f'---json\n{{"id": "{message_id}"}}\n---\n{body} of {message_id}\n'
    places = [archive.message(message_id, NOON), archive.outbox(sender, message_id, NOON)]
    places += [archive.inbox(receiver, message_id, NOON) for receiver in receivers or ("BlueLake",)]
    return dict.fromkeys(places, text)


class MailArchive:
    """A store in ``root`` with projects named by their slugs; ``address`` says where its tables are, if not there."""

    def __init__(self, root: Path, *slugs: str, address: str | None = None) -> None:
        self.store = MailStore.on(Shelf.at(root, address))
        self.database = self.store.opened(30.0)
        for slug in slugs:
            self.add_project(slug)

    def add_project(self, slug: str) -> None:
        """One more project; known ones stay."""
        self.database.write(
            lambda found: found.execute(
                "INSERT OR IGNORE INTO projects (human_key, slug, created_ts) VALUES (?, ?, ?)", (slug, slug, NOON)
            )
        )

    def enqueue(
        self, slug: str, summary: str, files: Mapping[str, str], *, present: Sequence[str] = (), now: float = NOON
    ) -> int:
        """Put down one job."""

        def work(found: Sql) -> int:
            (project_id,) = found.execute("SELECT id FROM projects WHERE slug = ?", (slug,)).fetchone()
            return jobs.enqueue(found, project_id, summary, files, now=now, present=present)

        return self.database.write(work)

    def send(self, slug: str, message_id: str, now: float = NOON) -> int:
        """Put down the job of a message."""
        return self.enqueue(slug, f"mail: {message_id}", message_files(message_id), now=now)

    def waiting(self) -> int:
        """How many jobs are not done."""
        query = "SELECT count(*) FROM archive_jobs WHERE done_ts IS NULL"
        return self.database.read(lambda found: found.execute(query).fetchone()[0], 0)

    def commit_of(self, seq: int) -> str | None:
        """The commit that a job became."""
        return self.database.read(lambda found: jobs.outcome(found, seq), None)

    def repo(self, slug: str) -> Path:
        """Where a project's files lie."""
        return self.store.repo(slug)

    def files(self, slug: str) -> set[str]:
        """The paths in the last commit."""
        listed = git(self.repo(slug), "ls-tree", "-r", "-z", "--name-only", "HEAD")
        return set(filter(None, listed.split("\0")))

    def messages(self, slug: str) -> list[str]:
        """The ids of the canonical copies in the last commit."""
        paths = self.files(slug)
        return sorted(Path(path).stem for path in paths if path.startswith("messages/"))

    def commits(self, slug: str) -> int:
        """How many commits there are."""
        return int(git(self.repo(slug), "rev-list", "--count", "HEAD"))

    def assert_sound(self, slug: str) -> None:
        """Git finds nothing wrong with the repository."""
        git(self.repo(slug), "fsck", "--full", "--strict")

    def close(self) -> None:
        """Release the database."""
        self.database.close()
