"""Many processes, threads and forks on one transcript, and people who meddle with its files."""

import contextlib
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from support.procs import Worker, until
from support.sizes import short_and_full
from support.transcripts import acknowledged, assert_intact, body, data_files, disk_lines, occurs_on_disk

from nanobot_transcript import GroupTranscriptStore

KEY = "feishu:oc_shared"
MakeStore = Callable[..., GroupTranscriptStore]
SpawnWorker = Callable[..., Worker]
SoakRow = Callable[..., None]


@pytest.mark.parametrize("count", short_and_full(400, 10_000))
def test_eight_processes_record_the_same_messages_exactly_once(
    make_store: MakeStore, base_dir: Path, spawn: SpawnWorker, soak_row: SoakRow, count: int
) -> None:
    writers = [spawn("append", place=base_dir, count=count, shuffle=seed) for seed in range(8)]
    for writer in writers:
        writer.go()
    written = sum(writer.result(300)["written"] for writer in writers)
    lines = disk_lines(base_dir)
    assert written == count
    assert len(lines.ids) == sum(lines.ids.values()) == count
    assert (lines.broken, lines.unfinished) == (0, 0)
    assert assert_intact(make_store(), KEY, [f"om_{number}" for number in range(count)]) == count
    soak_row(processes=8, offered=8 * count, lines=sum(lines.ids.values()), half_lines=0)


@pytest.mark.parametrize("count", short_and_full(300, 5000))
def test_writers_followers_readers_and_maintenance_at_once(
    make_store: MakeStore, base_dir: Path, spawn: SpawnWorker, soak_row: SoakRow, count: int
) -> None:
    options = {"segment_bytes": 40_000}
    store = make_store(**options)
    old = [f"old_{number}" for number in range(count // 4)]
    for message_id in old:
        store.append(KEY, "user", body(message_id, 100), "on_bo", message_id)
    writers = [spawn("append", place=base_dir, count=count, prefix=f"w{n}_", store=options) for n in range(8)]
    after = store.end(KEY)
    followers = [spawn("follow", place=base_dir, after=after, until="om_last") for _ in range(2)]
    hider = spawn("hide", place=base_dir, ids=old, how="recall", store=options)
    endless = [
        spawn("read_in_circles", place=base_dir, store=options),
        spawn("maintain", place=base_dir, verify=True, pause=0.05, store=options),
    ]
    for worker in [*followers, *endless, hider, *writers]:
        worker.go()
    assert [writer.result(300)["written"] for writer in writers] == [count] * 8
    assert hider.result(300) == len(old)
    store.append(KEY, "user", body("om_last", 5), "on_ada", "om_last")
    expected = {f"w{n}_{number}" for n in range(8) for number in range(count)} | {"om_last"}
    orders = [_followed(follower) for follower in followers]
    for seen in orders:
        assert set(seen) == expected
        assert len(seen) == len(expected)
        for n in range(8):
            mine = [message_id for message_id in seen if message_id.startswith(f"w{n}_")]
            assert mine == [f"w{n}_{number}" for number in range(count)]
    rounds = [worker.stop()["rounds"] for worker in endless]
    store.maintain([KEY])
    assert assert_intact(make_store(), KEY, expected) == len(expected)
    assert orders[0] == orders[1] == [entry["message_id"] for entry in store.scan(KEY)]
    assert occurs_on_disk(base_dir, f"{old[0]}|x") == []
    report = store.verify(KEY)
    assert (report.duplicates, report.torn_lines, report.foreign_lines) == (0, 0, 0)
    soak_row(
        writers=8,
        entries=len(expected),
        segments=report.segments,
        maintained=rounds[1],
        lost=0,
        doubled=0,
        half_lines=0,
    )


@pytest.mark.parametrize("count", short_and_full(250, 1000))
def test_writers_that_rotate_at_every_few_messages_do_not_trip_over_each_other(
    make_store: MakeStore, base_dir: Path, spawn: SpawnWorker, soak_row: SoakRow, count: int
) -> None:
    """Half of the messages are the same for all; each segment holds about five.

    Each rotation opens the id tables of all segments before it, so that the work grows with the square of the count.
    """
    options = {"segment_bytes": 1500}
    writers = [spawn("append", place=base_dir, count=count, prefix=f"w{n}_", store=options) for n in range(4)]
    writers += [spawn("append", place=base_dir, count=count, shuffle=n, store=options) for n in range(4)]
    for writer in writers:
        writer.go()
    written = [writer.result(1200)["written"] for writer in writers]
    assert written[:4] == [count] * 4
    assert sum(written[4:]) == count
    expected = {f"{prefix}{i}" for prefix in ("w0_", "w1_", "w2_", "w3_", "om_") for i in range(count)}
    assert assert_intact(make_store(), KEY, expected) == len(expected) == sum(disk_lines(base_dir).ids.values())
    report = make_store().verify(KEY)
    assert (report.duplicates, report.torn_lines, report.foreign_lines) == (0, 0, 0)
    soak_row(processes=8, entries=len(expected), segments=report.segments, lost=0, doubled=0)


def _followed(follower: Worker) -> list[str]:
    seen = []
    while "seen" not in (line := follower.line()):
        if line["op"] is None:
            seen.append(line["message_id"])
    return seen


@pytest.mark.parametrize("count", short_and_full(200, 5000))
def test_a_reader_never_misses_what_was_acknowledged_before_it_asked(
    make_store: MakeStore, base_dir: Path, tmp_path: Path, spawn: SpawnWorker, soak_row: SoakRow, count: int
) -> None:
    """Paging from a cursor while eight processes write and rotate: nothing is skipped, nothing comes twice."""
    options = {"segment_bytes": 20_000}
    writers = [
        spawn("append", place=base_dir, count=count, prefix=f"w{n}_", ack=tmp_path / f"ack{n}", store=options)
        for n in range(8)
    ]
    for writer in writers:
        writer.go()
    store = make_store(**options)
    cursor: str | None = None
    seen: Counter[str | None] = Counter()
    while any(writer.process.poll() is None for writer in writers):
        promised = {message_id for n in range(8) for message_id in acknowledged(tmp_path / f"ack{n}")}
        while (page := store.read(KEY, cursor, 50)).entries:
            seen.update(entry["message_id"] for entry in page.entries)
            cursor = page.cursor
        assert not promised - seen.keys()
        newest = {message["content"].partition("|")[0] for message in store.get_recent(KEY, 20)}
        assert len(newest) == min(20, len(seen)) or len(newest) == 20
    while (page := store.read(KEY, cursor, 50)).entries:
        seen.update(entry["message_id"] for entry in page.entries)
        cursor = page.cursor
    assert [writer.result()["written"] for writer in writers] == [count] * 8
    assert set(seen) == {f"w{n}_{number}" for n in range(8) for number in range(count)}
    assert max(seen.values()) == 1
    soak_row(entries=len(seen), skipped=0, doubled=0)


@pytest.mark.parametrize("count", short_and_full(150, 5000))
def test_threads_of_one_process_share_a_store(
    make_store: MakeStore, base_dir: Path, spawn: SpawnWorker, soak_row: SoakRow, count: int
) -> None:
    workers = [spawn("append_from_threads", place=base_dir, threads=8, count=count, store={"segment_bytes": 30_000})]
    for worker in workers:
        worker.go()
    assert [worker.result(300)["errors"] for worker in workers] == [[]]
    expected = {f"thread{n}_{i}" for n in range(8) for i in range(count)} | {f"common_{i}" for i in range(count)}
    assert assert_intact(make_store(), KEY, expected) == len(expected) == sum(disk_lines(base_dir).ids.values())
    soak_row(threads=8, entries=len(expected), lost=0, doubled=0)


@pytest.mark.parametrize("count", short_and_full(200, 3000))
def test_a_fork_of_a_process_that_uses_a_store_is_a_writer_like_any_other(
    make_store: MakeStore, base_dir: Path, spawn: SpawnWorker, soak_row: SoakRow, count: int
) -> None:
    worker = spawn("fork_and_append", place=base_dir, children=4, count=count)
    worker.go()
    assert worker.result(300) == {"failed": 0}
    names = ["parent", *(f"child{number}" for number in range(4)), "common"]
    expected = {"om_before"} | {f"{name}_{number}" for name in names for number in range(count)}
    assert assert_intact(make_store(), KEY, expected) == len(expected) == sum(disk_lines(base_dir).ids.values())
    soak_row(children=4, entries=len(expected), lost=0, doubled=0)


def test_threads_use_more_chats_than_are_kept_open(make_store: MakeStore, spawn: SpawnWorker, base_dir: Path) -> None:
    """A chat that is put aside while another thread uses it must not fail or be mixed up."""
    worker = spawn("use_many_chats", place=base_dir, threads=6, chats=150, rounds=400)
    worker.go()
    result = worker.result()
    assert result["errors"] == []
    assert result["files"] < 600
    store = make_store()
    counts = {chat.session_key: len(list(store.scan(chat.session_key))) for chat in store.chats()}
    assert sum(counts.values()) == 6 * 400
    for key in counts:
        assert all(entry["content"].startswith(f"{key}|") for entry in store.scan(key))


def test_a_store_holds_on_to_no_file_it_does_not_need(make_store: MakeStore) -> None:
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    store = make_store()
    for number in range(100):
        store.append(KEY, "user", body(f"om_{number}", 100), "on_ada", f"om_{number}")
    before = open_files()
    for number in range(100, 200):
        store.append(KEY, "user", body(f"om_{number}", 100), "on_ada", f"om_{number}")
        store.append(KEY, "user", "again", "on_ada", f"om_{number - 100}")
        store.get_recent(KEY, 50)
        store.read(KEY, None, 10)
        store.search("om_3", KEY)
        store.get(KEY, "om_50")
        store.recall(KEY, f"om_{number}")
        if number % 10 == 0:
            store.maintain()
            store.verify(KEY)
    assert open_files() <= before + 10
    store.close()
    assert open_files() <= before


def _unlink(path: Path) -> None:
    path.unlink()


def _truncate(path: Path) -> None:
    os.truncate(path, 0)


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size * 2 // 3)


def _replace_by_copy(path: Path) -> None:
    copy = path.with_name("copy.tmp")
    shutil.copyfile(path, copy)
    copy.replace(path)


def _replace_by_nothing(path: Path) -> None:
    empty = path.with_name("empty.tmp")
    empty.touch()
    empty.replace(path)


def _move_the_store_away(path: Path) -> None:
    path.parent.rename(path.parent.with_name(f"moved-{time.monotonic_ns()}"))


def _remove_the_hidden_folder(path: Path) -> None:
    hidden = path.parent / ".state"
    while hidden.exists():
        with contextlib.suppress(OSError):  # a writer may make a file in it at the same moment
            shutil.rmtree(hidden)


def _remove_the_indexes(path: Path) -> None:
    for index in (path.parent / ".state" / "index").iterdir():
        index.unlink(missing_ok=True)


MEDDLERS = [
    _unlink,
    _truncate,
    _cut,
    _replace_by_copy,
    _replace_by_nothing,
    _move_the_store_away,
    _remove_the_hidden_folder,
    _remove_the_indexes,
]


@pytest.mark.parametrize("rounds", short_and_full(1, 12))
@pytest.mark.parametrize("meddle", MEDDLERS, ids=lambda meddle: meddle.__name__.strip("_"))
def test_writers_survive_what_happens_to_the_file_under_them(
    make_store: MakeStore,
    base_dir: Path,
    tmp_path: Path,
    spawn: SpawnWorker,
    soak_row: SoakRow,
    rounds: int,
    meddle: Callable[[Path], None],
) -> None:
    """What is acknowledged afterwards is there, once; what still lies in the file is known."""
    notes = [tmp_path / f"ack{n}" for n in range(3)]
    writers = [
        spawn("append_forever", place=base_dir, size=80, prefix=f"w{n}_", ack=ack, pause=0.0005)
        for n, ack in enumerate(notes)
    ]
    for writer in writers:
        writer.go()
    before = _wait_for_more(notes, [0] * 3)
    for _ in range(rounds):
        meddle(data_files(base_dir)[0])
        before = [len(acknowledged(ack)) + 1 for ack in notes]
        _wait_for_more(notes, before)
    for writer in writers:
        assert writer.process.poll() is None
        writer.kill()
    safe = [message_id for ack, count in zip(notes, before, strict=True) for message_id in acknowledged(ack)[count:]]
    if meddle in (_remove_the_hidden_folder, _remove_the_indexes):
        safe = [message_id for ack in notes for message_id in acknowledged(ack)]
    store = make_store()
    entries = assert_intact(store, KEY, safe)
    known = [entry["message_id"] for entry in store.scan(KEY)]
    assert not any(store.append(KEY, "user", "again", "on_ada", message_id) for message_id in known)
    assert max(disk_lines(base_dir).ids.values()) == 1
    soak_row(meddled=rounds, entries=entries, lost_afterwards=0, doubled=0)


def _wait_for_more(notes: list[Path], counts: list[int]) -> list[int]:
    until(
        lambda: all(len(acknowledged(ack)) > count + 30 for ack, count in zip(notes, counts, strict=True)),
        "every writer goes on",
    )
    return counts


def test_a_message_lost_with_its_file_can_be_recorded_again(make_store: MakeStore, base_dir: Path) -> None:
    """An index that outlived the lines it speaks of must not refuse them."""
    for meddle in (_unlink, _truncate, _replace_by_nothing):
        store, other = make_store(), make_store()
        store.append(KEY, "user", "x", "on_ada", "om_1")
        other.append(KEY, "user", "y", "on_ada", "om_2")
        meddle(data_files(base_dir)[-1])
        assert other.append(KEY, "user", "x", "on_ada", "om_1") is True
        assert store.append(KEY, "user", "x", "on_ada", "om_1") is False
        assert store.append(KEY, "user", "y", "on_ada", "om_2") is True
        store.purge(KEY)


def test_a_closed_segment_that_vanishes_takes_only_its_own_messages(make_store: MakeStore, base_dir: Path) -> None:
    store = make_store(segment_bytes=2000)
    for number in range(60):
        store.append(KEY, "user", body(f"om_{number}", 50), "on_ada", f"om_{number}", 1000 + number)
    cursor = store.read(KEY, None, 3).cursor
    closed = [path for path in data_files(base_dir) if path.name.count(".") == 2]
    middle = closed[len(closed) // 2]
    lost = {f"om_{number}" for number in range(60) if f'"om_{number}"'.encode() in middle.read_bytes()}
    middle.unlink()
    expected = [f"om_{number}" for number in range(60) if f"om_{number}" not in lost]
    for reader in (store, make_store(segment_bytes=2000)):
        assert [entry["message_id"] for entry in reader.scan(KEY)] == expected
        assert len(reader.get_recent(KEY, 1000)) == len(expected)
        assert reader.append(KEY, "user", "again", "on_ada", "om_0") is False
        page = reader.read(KEY, cursor, 1000)
        assert [entry["message_id"] for entry in page.entries] == expected[3:]
        reader.maintain()
        reader.search("om_")
    assert 0 < len(lost) < 60


def test_two_stores_of_one_process_do_not_wait_for_each_other(make_store: MakeStore) -> None:
    """flock knows open files, not processes: two doors of one process must not lock each other out."""
    stores = [make_store(lock_timeout=600.0) for _ in range(4)]
    for number in range(400):
        assert stores[number % 4].append(KEY, "user", "x", "on_ada", f"om_{number}") is True
        assert stores[(number + 1) % 4].append(KEY, "user", "x", "on_ada", f"om_{number}") is False
