"""Many processes want the same files at once."""

import itertools
import time
from pathlib import Path

from support.claims_worker import COVERED
from support.spawning import spawning

from transcript_mcp.mail.claims.ledger import Claims
from transcript_mcp.mail.mail import AgentMail

PROJECT = "/abs/path/backend"
AGENTS = [f"Agent{number}" for number in range(16)]


def test_of_sixteen_that_claim_overlapping_globs_at_once_one_gets_them(tmp_path: Path) -> None:
    store = tmp_path / "store"
    meeting = itertools.cycle([pattern for pattern, paths in COVERED.items() if "src/a/x.py" in paths])
    with spawning("support.claims_worker") as spawn:
        workers = [
            spawn("claim_once", store=store, project=PROJECT, agent=agent, pattern=next(meeting)) for agent in AGENTS
        ]
        for worker in workers:
            worker.go()
        granted = [worker.result() for worker in workers]
    assert sum(granted) == 1
    mail = AgentMail(store)
    [claim] = Claims(mail.database, time.time).list_claims()
    assert claim.agent == AGENTS[granted.index(True)]
    mail.close()


def test_two_never_work_on_one_file_however_often_claims_change_hands(tmp_path: Path) -> None:
    store, held = tmp_path / "store", tmp_path / "held"
    held.mkdir()
    with spawning("support.claims_worker") as spawn:
        workers = [
            spawn("claim_and_release", store=store, project=PROJECT, agent=agent, held=held, rounds=25)
            for agent in AGENTS
        ]
        for worker in workers:
            worker.go()
        counted = [worker.result(120) for worker in workers]
    assert sum(each["met"] for each in counted) == 0
    assert sum(each["granted"] for each in counted) > 0
    assert sum(each["granted"] + each["refused"] for each in counted) == 16 * 25
