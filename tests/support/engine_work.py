"""Processes that work with a record in a database while a test does something to it, and what is judged in the end."""

from itertools import pairwise
from pathlib import Path
from typing import Any

from support.places import open_record
from support.procs import Worker, until
from support.spawning import SpawnAction
from support.transcripts import acknowledged, assert_intact
from support.worker import KEY

__all__ = ["Work", "assert_held_by_one"]


class Work:
    """Writers and a follower in processes of their own. Those that are ``spooled`` write by way of a spool."""

    def __init__(
        self,
        place: str,
        folder: Path,
        spawn_on: SpawnAction,
        *,
        writers: int = 3,
        spooled: int = 0,
        pause: float = 0.0,
    ) -> None:
        self.place = place
        self.acks = [folder / f"acks{number}" for number in range(writers)]
        self.spooled = [folder / f"spooled{number}" for number in range(spooled)]
        self.followed = folder / "followed"
        with open_record(place) as record:
            record.store.append(KEY, "user", "om_first|" + "|om_first", "on_ada", "om_first")

        def writing(ack: Path, **options: Any) -> Worker:
            return spawn_on("write_on", place=place, prefix=f"{ack.name}_", ack=str(ack), pause=pause, **options)

        self.follower = spawn_on("follow_on", place=place, ack=str(self.followed))
        self.writers = [
            *map(writing, self.acks),
            *(writing(ack, spool=str(folder / "spool")) for ack in self.spooled),
        ]
        for worker in (self.follower, *self.writers):
            worker.go()

    def acknowledged(self) -> list[str]:
        """All ids that any writer has noted."""
        return [message_id for ack in (*self.acks, *self.spooled) for message_id in acknowledged(ack)]

    def goes_on(self, more: int = 5) -> None:
        """Return when each writer that has no spool has written more."""
        before = [ack.stat().st_size if ack.exists() else 0 for ack in self.acks]
        for ack, size in zip(self.acks, before, strict=True):
            until(lambda ack=ack, size=size: _lines_behind(ack, size) > more, "a writer went on")

    def ends(self) -> dict[str, Any]:
        """Stop the writers, let the follower come to the end, and judge what there is."""
        told = [writer.stop() for writer in self.writers]
        acked = self.acknowledged()
        with open_record(self.place) as record:
            record.store.append(KEY, "user", "om_last|" + "|om_last", "on_ada", "om_last")
            entries = assert_intact(record.store, KEY, [*acked, "om_first", "om_last"])
            in_order = [entry["message_id"] for entry in record.store.scan(KEY)]
            until(lambda: "om_last" in acknowledged(self.followed), "the follower came to the end")
            assert record.store.verify(KEY).duplicates == 0
        self.follower.stop()
        # What a killed writer had asked for may come behind that.
        followed, last = acknowledged(self.followed), in_order.index("om_last")
        assert followed[:last] == in_order[1 : last + 1], "each entry once and in order"
        return {
            "acknowledged": len(acked),
            "entries": entries,
            "lost": 0,
            "doubled": 0,
            "found_there": sum(one["found_there"] for one in told),
            "refused": sum(one["refused"] for one in told),
            "longest_s": max(one["longest"] for one in told),
            "kinds": sorted({kind for one in told for kind in one["kinds"]}),
        }


def _lines_behind(path: Path, size: int) -> int:
    if not path.exists():
        return 0
    with path.open("rb") as file:
        file.seek(size)
        return file.read().count(b"\n")


def assert_held_by_one(notes: Path) -> int:
    """Of what ``claim_on`` has noted, nothing was held by two at once, and tokens grow; how often it was held."""
    lines = [line.split() for line in notes.read_text().splitlines()]
    spans = sorted((float(began), float(ended), int(token)) for token, began, ended, _ in lines)
    both = [pair for pair in pairwise(spans) if pair[0][1] > pair[1][0]]
    assert both == []
    tokens = [token for *_, token in spans]
    assert tokens == sorted(set(tokens))
    return len(tokens)
