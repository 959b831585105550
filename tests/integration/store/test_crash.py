"""SIGKILL at any moment: what was acknowledged is there, once and whole."""

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.procs import Worker, until
from support.sizes import short_and_full
from support.transcripts import (
    acknowledged,
    assert_intact,
    body,
    data_files,
    disk_lines,
    occurs_on_disk,
)
from support.waiting import PATIENCE

from nanobot_transcript import GroupTranscriptStore

KEY = "feishu:oc_shared"
MakeStore = Callable[..., GroupTranscriptStore]
SpawnWorker = Callable[..., Worker]
SoakRow = Callable[..., None]


def _size(base_dir: Path) -> int:
    try:
        return sum(path.stat().st_size for path in data_files(base_dir))
    except FileNotFoundError:
        return -1


def kill_while_it_writes(worker: Worker, base_dir: Path, delay: float) -> None:
    """Kill as soon as the transcript is seen growing by more than a page, which is in the middle of a large write."""
    time.sleep(delay)
    deadline = time.monotonic() + PATIENCE
    last = _size(base_dir)
    while (now := _size(base_dir)) - last <= 4096:
        last = now
        assert time.monotonic() < deadline
    worker.kill()


@pytest.mark.parametrize("kills", short_and_full(5, 80))
def test_writers_killed_during_large_appends_lose_nothing(
    make_store: MakeStore, base_dir: Path, tmp_path: Path, spawn: SpawnWorker, soak_row: SoakRow, kills: int
) -> None:
    store = make_store()
    store.append(KEY, "user", body("om_first", 10), "on_ada", "om_first")
    dice = random.Random(kills)
    small, large = tmp_path / "small", tmp_path / "large"
    bystander = spawn("append_forever", place=base_dir, size=50, prefix="s", ack=small, pause=0.001)
    reader = spawn("read_in_circles", place=base_dir)
    bystander.go()
    reader.go()
    for _ in range(kills):
        victim = spawn("append_forever", place=base_dir, size=2_000_000, prefix="L", ack=large)
        victim.go()
        kill_while_it_writes(victim, base_dir, dice.uniform(0, 0.03))
    until(lambda: len(acknowledged(small)) > 20, "the bystander went on")
    bystander.kill()
    assert reader.stop()["rounds"] > 0
    acked = acknowledged(small) + acknowledged(large)
    entries = assert_intact(store, KEY, acked)
    lines = disk_lines(base_dir)
    assert max(lines.ids.values()) == 1
    assert store.verify(KEY).duplicates == 0
    fresh = make_store()
    assert not any(fresh.append(KEY, "user", "again", "on_ada", message_id) for message_id in acked[::7])
    soak_row(kills=kills, torn_tails=lines.broken + lines.unfinished, entries=entries, lost=0, doubled=0)
    if kills >= 60:
        assert lines.broken + lines.unfinished >= 3


@pytest.mark.parametrize("kills", short_and_full(6, 60))
def test_writers_killed_during_rotation_lose_nothing(
    make_store: MakeStore, base_dir: Path, tmp_path: Path, spawn: SpawnWorker, soak_row: SoakRow, kills: int
) -> None:
    """With segments of 1 kB every fourth append rotates, so kills fall between its steps."""
    options = {"segment_bytes": 1000}
    dice = random.Random(kills)
    notes = [tmp_path / f"acks{number}" for number in range(2)]
    for _ in range(kills):
        workers = [
            spawn("append_forever", place=base_dir, size=50, prefix=f"w{n}_", ack=ack, store=options)
            for n, ack in enumerate(notes)
        ]
        for worker in workers:
            worker.go()
        time.sleep(dice.uniform(0, 0.02))
        for worker in workers:
            worker.kill()
    acked = [message_id for ack in notes for message_id in acknowledged(ack)]
    store = make_store(**options)
    entries = assert_intact(store, KEY, acked)
    assert not any(store.append(KEY, "user", "again", "on_ada", message_id) for message_id in acked)
    report = store.verify(KEY)
    assert (report.duplicates, report.entries) == (0, entries)
    soak_row(kills=2 * kills, segments=report.segments, entries=entries, lost=0, doubled=0)


@pytest.mark.parametrize("kills", short_and_full(5, 60))
@pytest.mark.parametrize("how", ["redact", "recall"])
def test_a_killed_erasure_damages_nothing_else(
    make_store: MakeStore,
    base_dir: Path,
    tmp_path: Path,
    spawn: SpawnWorker,
    soak_row: SoakRow,
    kills: int,
    how: str,
) -> None:
    count = 20 * kills
    store = make_store(segment_bytes=300_000)
    for number in range(count):
        store.append(KEY, "user", body(f"om_{number}", 5000), "on_ada", f"om_{number}")
    targets = [f"om_{number}" for number in range(0, count, 2)]
    stay = {f"om_{number}" for number in range(1, count, 2)}
    dice = random.Random(kills)
    ack = tmp_path / "acks"
    maintainer = spawn("maintain", place=base_dir, pause=0.02)
    if how == "recall":
        maintainer.go()
    for _ in range(kills):
        done = set(acknowledged(ack))
        left = [target for target in targets if target not in done]
        worker = spawn("hide", place=base_dir, ids=left, how=how, ack=ack)
        worker.go()
        enough = min(len(done) + dice.randrange(2), len(targets))  # a redaction takes longer than the pause
        until(lambda enough=enough: len(acknowledged(ack)) >= enough, "a message was hidden")
        time.sleep(dice.uniform(0, 0.03))
        worker.kill()
        if how == "recall":
            maintainer.kill()
            maintainer = spawn("maintain", place=base_dir, pause=0.001)
            maintainer.go()
        assert {entry["message_id"] for entry in make_store().scan(KEY)} >= stay
    maintainer.kill()
    hidden = acknowledged(ack)
    assert hidden
    if how == "recall":
        make_store().maintain([KEY])
    for message_id in hidden:
        assert occurs_on_disk(base_dir, f"{message_id}|x") == []
    shown = {entry["message_id"] for entry in make_store().scan(KEY)}
    assert shown >= stay
    assert not shown & set(hidden)
    assert_intact(store, KEY, stay)
    report = make_store().verify(KEY)
    assert (report.duplicates, report.torn_lines, report.foreign_lines) == (0, 0, 0)
    soak_row(kills=kills, hidden=len(hidden), others=len(stay), damaged=0)


@pytest.mark.parametrize("kills", short_and_full(4, 60))
def test_a_killed_purge_damages_nobody_elses_messages(
    make_store: MakeStore, base_dir: Path, spawn: SpawnWorker, soak_row: SoakRow, kills: int
) -> None:
    store = make_store(segment_bytes=200_000)
    count = 120
    dice = random.Random(kills)
    for round_number in range(kills):
        for number in range(count):
            message_id = f"om_{round_number}_{number}"
            who = "on_gone" if number % 3 == 0 else "on_stays"
            store.append(KEY, "user", body(message_id, 3000), who, message_id)
        worker = spawn("purge_sender", place=base_dir, sender="on_gone")
        worker.go()
        time.sleep(dice.uniform(0, 0.02))
        worker.kill()
        if round_number % 5 == 4:
            store.maintain([KEY])
    store.purge(sender="on_gone")
    stay = [f"om_{r}_{n}" for r in range(kills) for n in range(count) if n % 3]
    assert assert_intact(make_store(), KEY, stay) == len(stay)
    assert occurs_on_disk(base_dir, "on_gone") == []
    soak_row(kills=kills, entries=len(stay), damaged=0)


def test_a_store_killed_at_its_very_first_append_starts_again(
    make_store: MakeStore, base_dir: Path, tmp_path: Path, spawn: SpawnWorker
) -> None:
    """Whatever half-made folder or empty file is left behind."""
    for number in range(6):
        worker = spawn("append_forever", place=base_dir, size=10, prefix="om_", ack=tmp_path / f"a{number}")
        worker.go()
        worker.kill()
    store = make_store()
    assert store.append(KEY, "user", body("om_last", 5), "on_ada", "om_last") is True
    assert_intact(store, KEY, ["om_last"])
    assert [chat.session_key for chat in store.chats()] == [KEY]


@pytest.mark.parametrize("left", [b"", b"\0", b"\0" * 4096, b"{", b'{"role":"user"', b"\n\n\n", b"\xff\xfe"])
def test_what_a_power_cut_leaves_behind_is_survived(make_store: MakeStore, base_dir: Path, left: bytes) -> None:
    """After one, a file may end in nothing, in zeros, or in the middle of a line."""
    store = make_store()
    store.append(KEY, "user", body("om_1", 5), "on_ada", "om_1")
    store.close()
    (path,) = data_files(base_dir)
    with path.open("ab") as file:
        file.write(left)
        os.fsync(file.fileno())
    reopened = make_store()
    assert reopened.append(KEY, "user", body("om_2", 5), "on_ada", "om_2") is True
    assert reopened.append(KEY, "user", body("om_1", 5), "on_ada", "om_1") is False
    assert assert_intact(reopened, KEY, ["om_1", "om_2"]) == 2
    assert len(reopened.get_recent(KEY)) == 2
