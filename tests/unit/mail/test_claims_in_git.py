"""Claims in the archive: every state that a claim had is in git, and a rebuilt database has the same holders."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.mail_archive import git

from transcript_mcp.mail.archive import jobs
from transcript_mcp.mail.archive.rebuild import rebuild
from transcript_mcp.mail.archive.rounds import Archiving
from transcript_mcp.mail.claims.ledger import Claims
from transcript_mcp.mail.mail import AgentMail
from transcript_mcp.mail.store import Archive

BACKEND = "/abs/path/backend"
PATH = "src/api.py"
FILE = Archive.claim(PATH)


class Desk:
    """Two agents who work on the same file."""

    def __init__(self, root: Path) -> None:
        self.now = 1_767_268_800.0
        self.mail = AgentMail(root, clock=self.tick)
        self.claims = Claims(self.mail.database, self.tick)
        self.green = self.mail.register_agent(BACKEND, "GreenCastle").agent
        self.blue = self.mail.register_agent(BACKEND, "BlueLake").agent
        self.repo = self.mail.places.repo(self.mail.project(BACKEND).slug)

    def tick(self) -> float:
        self.now += 0.25
        return self.now

    def hand_over(self) -> None:
        """GreenCastle claims, renews and releases the file, BlueLake claims it."""
        project = self.green.project_id
        assert self.claims.claim(project, self.green, [PATH], 86_400).granted
        assert self.claims.renew(project, self.green, ttl_seconds=86_400).renewed
        assert self.claims.release(project, self.green).released
        assert self.claims.claim(project, self.blue, [PATH], 86_400).granted

    def archive(self) -> None:
        archiving = Archiving(self.mail.places, self.mail.database, self.tick)
        for _ in range(10):
            if not self.mail.database.read(jobs.has_waiting, False):
                break
            archiving.round(until=float("inf"))
        archiving.close()
        assert not self.mail.database.read(jobs.has_waiting, False)

    def rebuild(self) -> None:
        self.mail.close()
        rebuild(self.mail.places)

    def all_claims(self) -> list[tuple[str, float, float | None]]:
        found = self.claims.list_claims(active_only=False)
        return sorted((claim.agent, claim.created_ts, claim.released_ts) for claim in found)

    def holders(self) -> list[str]:
        return [claim.agent for claim in self.claims.list_claims()]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "store")
    yield made
    made.mail.close()


def test_every_state_of_a_claim_is_in_git_though_all_of_them_waited_together(desk: Desk) -> None:
    desk.hand_over()
    desk.archive()
    commits = git(desk.repo, "log", "--reverse", "--format=%H", "--", FILE).split()
    states = [git(desk.repo, "show", f"{commit}:{FILE}") for commit in commits]
    assert ['"GreenCastle"' in state for state in states] == [True, True, True, False]
    assert ['"released": null' in state for state in states] == [True, True, False, True]


def test_a_released_claim_does_not_come_back_when_the_database_is_made_anew(desk: Desk) -> None:
    desk.hand_over()
    desk.archive()
    before = desk.all_claims()
    desk.rebuild()
    assert desk.holders() == ["BlueLake"]
    assert desk.all_claims() == before


def test_a_claim_whose_release_is_not_in_git_ended_when_the_next_one_took_its_file(desk: Desk) -> None:
    desk.claims.claim(desk.green.project_id, desk.green, [PATH], 86_400)
    desk.archive()
    lost = desk.claims.release(desk.green.project_id, desk.green).job
    desk.mail.database.write(lambda db: db.execute("DELETE FROM archive_jobs WHERE seq = ?", (lost,)))
    desk.claims.claim(desk.green.project_id, desk.blue, [PATH], 86_400)
    desk.archive()
    (began,) = [claim.created_ts for claim in desk.claims.list_claims()]
    desk.rebuild()
    assert desk.holders() == ["BlueLake"]
    assert [released for agent, _, released in desk.all_claims() if agent == "GreenCastle"] == [began]
