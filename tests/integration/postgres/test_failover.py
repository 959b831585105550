"""The primary dies with its Patroni, ten times: what was acknowledged is there, once, and all go on with another."""

import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.patroni import LACKING, Nodes, is_installed, started_nodes
from support.places import open_record
from support.procs import Worker, until
from support.spawning import SpawnAction
from support.transcripts import acknowledged, assert_intact
from support.worker import KEY

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


class Bots:
    """Processes that write, follow, live, look at who lives, and claim."""

    def __init__(self, place: str, folder: Path, spawn_on: SpawnAction) -> None:
        self.place = place
        with open_record(place) as record:
            record.store.append(KEY, "user", "om_first|" + "|om_first", "on_ada", "om_first")
        self.direct = [folder / f"direct{number}" for number in range(DIRECT)]
        self.spooled = [folder / f"spooled{number}" for number in range(SPOOLED)]
        self.followed, self.spans = folder / "followed", folder / "spans"
        self.claims = [folder / f"claims{number}" for number in range(3)]
        self.living = [spawn_on("live_on", place=place) for _ in range(3)]
        self.names = [each.line()["id"] for each in self.living]
        self.looking = [spawn_on("look_on", place=place, others=self.names) for _ in range(2)]
        self.follower = spawn_on("follow_on", place=place, ack=str(self.followed))
        self.writers = [
            *(self._writer(spawn_on, ack) for ack in self.direct),
            *(self._writer(spawn_on, ack, spool=str(folder / "spool")) for ack in self.spooled),
        ]
        self.holding = [
            spawn_on("claim_on", place=place, holder=f"Agent{n}#{n}", ttl=1.0, notes=str(self.spans)) for n in range(3)
        ]
        self.claiming = [
            spawn_on("claim_each_on", place=place, holder=f"Agent{n}#{n}", notes=str(ack))
            for n, ack in enumerate(self.claims)
        ]
        for worker in (*self.living, *self.looking, self.follower, *self.writers, *self.holding, *self.claiming):
            worker.go()

    def _writer(self, spawn_on: SpawnAction, ack: Path, **options: Any) -> Worker:
        return spawn_on("write_on", place=self.place, prefix=f"{ack.name}_", ack=str(ack), pause=PACE, **options)

    def go_on(self) -> None:
        """Return when each of those that write without a spool has written more."""
        before = [_size(ack) for ack in self.direct]
        for ack, size in zip(self.direct, before, strict=True):
            until(lambda ack=ack, size=size: _size(ack) > size, "a writer went on")

    def written(self) -> dict[str, Any]:
        """Stop who writes and who follows, and judge what there is."""
        told = [writer.stop() for writer in self.writers]
        acked = [message_id for ack in (*self.direct, *self.spooled) for message_id in acknowledged(ack)]
        with open_record(self.place) as record:
            record.store.append(KEY, "user", "om_last|" + "|om_last", "on_ada", "om_last")
            entries = assert_intact(record.store, KEY, [*acked, "om_first", "om_last"])
            in_order = [entry["message_id"] for entry in record.store.scan(KEY)]
            until(lambda: "om_last" in acknowledged(self.followed)[-1:], "the follower came to the end")
            assert record.store.verify(KEY).duplicates == 0
        self.follower.stop()
        assert acknowledged(self.followed) == in_order[1:], "each entry once and in order"
        refused, longest = sum(each["refused"] for each in told), max(each["longest"] for each in told)
        return {"acknowledged": len(acked), "lost": 0, "doubled": 0, "entries": entries} | {
            "refused": refused,
            "longest_s": longest,
        }

    def claimed(self) -> dict[str, Any]:
        """Stop who claims, and see that nothing was given to two."""
        for worker in (*self.holding, *self.claiming):
            worker.stop()
        lines = [line.split() for line in self.spans.read_text().splitlines()]
        spans = sorted((float(began), float(ended), int(token)) for token, began, ended, _ in lines)
        assert [pair for pair in pairwise(spans) if pair[0][1] > pair[1][0]] == []
        tokens = [token for *_, token in spans]
        assert tokens == sorted(set(tokens))
        given = Counter(name for ack in self.claims for name in acknowledged(ack))
        assert [name for name, times in given.items() if times > 1] == []
        return {"claims": len(given), "given_twice": 0, "leases": len(spans), "held_by_two": 0}

    def lived(self) -> dict[str, Any]:
        """Stop who looks; nobody has looked dead. Who is killed soon does."""
        told = [each.stop() for each in self.looking]
        assert [each["dead"] for each in told] == [dict.fromkeys(self.names, 0)] * 2
        self.living[0].kill()
        began = time.monotonic()
        with open_record(self.place) as record:
            until(lambda: not record.processes.alive(self.names[0]), "it is seen to have ended")
        seen = round(time.monotonic() - began, 1)
        return {"looks": sum(each["looks"] for each in told), "seen_as_dead": 0, "killed_is_seen_after_s": seen}


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


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
    bots = Bots(f"{nodes.url}#failover", tmp_path, spawn_on)
    waited: list[float] = []
    for number in range(1, FAILOVERS + 1):
        bots.go_on()
        dying = nodes.primary()
        dying.kill()
        since = Seconds()
        following, taken_over = nodes.primary(), since.passed
        bots.go_on()
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
    soak_row(**bots.written())
    soak_row(**bots.claimed())
    soak_row(**bots.lived())
    assert max(waited) <= WITHIN
