"""The primary dies with its Patroni, ten times: what was acknowledged is there, once, and all go on with another."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.engine_work import Work, assert_held_by_one
from support.patroni import LACKING, Nodes, is_installed, started_nodes
from support.places import open_record
from support.procs import until
from support.spawning import SpawnAction
from support.transcripts import acknowledged

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

FAILOVERS = 10
DIRECT = 4
SPOOLED = 2
WITHIN = 45.0
"""Seconds after which every writer has written again."""
PACE = 0.01
"""Seconds between two messages of a writer: three servers share the machine with all of them."""


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    if not is_installed():
        pytest.skip(LACKING)
    with started_nodes() as started:
        yield started


class Others:
    """Processes that live, look at who lives, and claim."""

    def __init__(self, place: str, folder: Path, spawn_on: SpawnAction) -> None:
        self.place, self.spans = place, folder / "spans"
        self.claims = [folder / f"claims{number}" for number in range(3)]
        self.living = [spawn_on("live_on", place=place) for _ in range(3)]
        self.names = [each.line()["id"] for each in self.living]
        self.looking = [spawn_on("look_on", place=place, others=self.names) for _ in range(2)]
        self.claiming = [
            worker
            for number, ack in enumerate(self.claims)
            for worker in (
                spawn_on("claim_on", place=place, holder=f"Agent{number}", ttl=1.0, notes=str(self.spans)),
                spawn_on("claim_each_on", place=place, holder=f"Agent{number}", notes=str(ack)),
            )
        ]
        for worker in (*self.living, *self.looking, *self.claiming):
            worker.go()

    def claimed(self) -> dict[str, Any]:
        """Stop who claims, and see that nothing was given to two."""
        for worker in self.claiming:
            worker.stop()
        given = Counter(name for ack in self.claims for name in acknowledged(ack))
        assert [name for name, times in given.items() if times > 1] == []
        return {"claims": len(given), "given_twice": 0, "leases": assert_held_by_one(self.spans), "held_by_two": 0}

    def lived(self) -> dict[str, Any]:
        """Stop who looks; nobody has looked dead. Who is killed soon does."""
        told = [each.stop() for each in self.looking]
        assert [each["dead"] for each in told] == [dict.fromkeys(self.names, 0)] * 2
        self.living[0].kill()
        since = Seconds()
        with open_record(self.place) as record:
            until(lambda: not record.processes.alive(self.names[0]), "it is seen to have ended")
        return {"looks": sum(each["looks"] for each in told), "seen_as_dead": 0, "killed_is_seen_after_s": since.passed}


class Seconds:
    """Since a moment."""

    def __init__(self) -> None:
        self._began: float = time.monotonic()

    @property
    def passed(self) -> float:
        return round(time.monotonic() - self._began, 1)


def test_no_failover_costs_what_was_acknowledged_and_writers_go_on_soon(
    nodes: Nodes, tmp_path: Path, spawn_on: SpawnAction, soak_row: Any
) -> None:
    place = f"{nodes.url}#failover"
    work = Work(place, tmp_path, spawn_on, writers=DIRECT, spooled=SPOOLED, pause=PACE)
    others = Others(place, tmp_path, spawn_on)
    waited: list[float] = []
    for number in range(1, FAILOVERS + 1):
        work.goes_on(1)
        dying = nodes.primary()
        dying.kill()
        since = Seconds()
        following, taken_over = nodes.primary(), since.passed
        work.goes_on(1)
        waited.append(since.passed)
        dying.start()
        nodes.become_whole()
        soak_row(
            failover=number,
            died=dying.name,
            promoted=f"{following.name} after {taken_over} s",
            writers_went_on_after_s=waited[-1],
            whole_again_after_s=since.passed,
        )
    soak_row(**work.ends())
    soak_row(**others.claimed())
    soak_row(**others.lived())
    assert max(waited) <= WITHIN
