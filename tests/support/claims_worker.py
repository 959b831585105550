"""What a test of claims lets another process do: ``python -m support.claims_worker ACTION '{"option": ...}'``."""

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.worker import ready, say

from transcript_mcp.mail.claims.ledger import Claims
from transcript_mcp.mail.mail import AgentMail
from transcript_mcp.mail.values import Agent

# Written by hand: what each pattern covers of the files that there are.
COVERED = {
    "src/**": ["src/a/x.py", "src/a/y.py", "src/b/x.py"],
    "src/a": ["src/a/x.py", "src/a/y.py"],
    "src/*/x.py": ["src/a/x.py", "src/b/x.py"],
    "**/x.py": ["src/a/x.py", "src/b/x.py"],
    "src/?/y.py": ["src/a/y.py"],
    "src/b/x.py": ["src/b/x.py"],
    "docs/*.md": ["docs/i.md"],
    "docs": ["docs/i.md"],
}


def claim_once(store: str, project: str, agent: str, pattern: str) -> bool:
    """Claim one pattern together with everybody else; True when it was granted."""
    claims, me = _open(store, project, agent)
    ready()
    return bool(claims.claim(me.project_id, me, [pattern]).granted)


def claim_and_release(store: str, project: str, agent: str, held: str, rounds: int) -> dict[str, int]:
    """Claim, work, release, again and again. Who works on a file makes a mark that nobody else may find."""
    claims, me = _open(store, project, agent)
    luck = random.Random(agent)
    counted = {"granted": 0, "refused": 0, "met": 0}
    ready()
    for _ in range(rounds):
        pattern = luck.choice(list(COVERED))
        if not claims.claim(me.project_id, me, [pattern]).granted:
            counted["refused"] += 1
            continue
        counted["granted"] += 1
        marks = [Path(held, path.replace("/", "-")) for path in COVERED[pattern]]
        counted["met"] += sum(not _made(mark) for mark in marks)
        claims.renew(me.project_id, me)  # takes long enough for the others to come
        for mark in marks:
            mark.unlink(missing_ok=True)
        claims.release(me.project_id, me)
    return counted


def open_and_close(store: str, project: str, agent: str, rounds: int) -> int:
    """Write, and close the database each time; how often."""
    mail = AgentMail(store)
    me = mail.register_agent(project, agent).agent
    claims = Claims(mail.database, time.time)
    ready()
    for _ in range(rounds):
        claims.claim(me.project_id, me, ["docs"])
        claims.release(me.project_id, me)
        mail.close()
    return rounds


def _open(store: str, project: str, agent: str) -> tuple[Claims, Agent]:
    mail = AgentMail(store)
    return Claims(mail.database, time.time), mail.register_agent(project, agent).agent


def _made(mark: Path) -> bool:
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


ACTIONS: dict[str, Callable[..., Any]] = {
    "claim_once": claim_once,
    "claim_and_release": claim_and_release,
    "open_and_close": open_and_close,
}


if __name__ == "__main__":
    say(ACTIONS[sys.argv[1]](**json.loads(sys.argv[2])))
