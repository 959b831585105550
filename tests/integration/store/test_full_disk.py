"""No space left: a clear error, no half line, nothing acknowledged is lost, and it goes on when there is room again."""

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.procs import Worker
from support.sizes import short_and_full
from support.transcripts import assert_intact, body, data_files, disk_lines, occurs_on_disk
from support.waiting import PATIENCE

from nanobot_transcript import GroupTranscriptStore, StoreError, StoreFullError
from nanobot_transcript.record import Record

KEY = "feishu:oc_shared"
SpawnWorker = Callable[..., Worker]
SoakRow = Callable[..., None]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "none", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root and the right to mount")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill_up(disk: Path, leave: int) -> Path:
    """A file that takes all the space but ``leave`` bytes."""
    filler = disk / "filler"
    free = os.statvfs(disk)
    filler.write_bytes(b"\0" * max(0, free.f_bavail * free.f_frsize - leave))
    return filler


def open_store(disk: Path, segment_bytes: int = 1 << 26) -> GroupTranscriptStore:
    return GroupTranscriptStore(disk / "transcripts", segment_bytes=segment_bytes)


@pytest.mark.parametrize("size", [20, 1000, 70_000, 900_000])
def test_a_full_disk_refuses_and_keeps_what_it_has(disk: Path, spawn: SpawnWorker, size: int) -> None:
    filler = disk / "filler"
    filler.write_bytes(b"\0" * 100_000)
    worker = spawn("append_until_error", place=disk / "transcripts", size=size)
    worker.go()
    result = worker.result()
    assert result["error"] == "StoreFullError"
    assert result["hint"]
    with open_store(disk) as store:
        assert assert_intact(store, KEY, result["acked"]) == len(result["acked"])
        lines = disk_lines(disk / "transcripts")
        assert (lines.broken, lines.unfinished) == (0, 0)
        refused = result["refused"]
        filler.unlink()
        if size < 100_000:
            assert store.append(KEY, "user", body(refused, size), "on_ada", refused) is True
            assert store.append(KEY, "user", body(refused, size), "on_ada", refused) is False
        assert not any(store.append(KEY, "user", "x", "on_ada", message_id) for message_id in result["acked"])
        report = store.verify(KEY)
        assert (report.ok, report.torn_lines) == (True, 0)


@pytest.mark.parametrize("leave", [0, 4096, 8192, 12_288, 16_384, 20_480, 24_576, 28_672, 32_768, 40_960, 65_536])
def test_a_store_that_begins_on_a_nearly_full_disk_records_or_refuses(disk: Path, leave: int) -> None:
    """Whatever it still has room for, folders, index, or line: a typed error or a whole record, and no crash."""
    filler = fill_up(disk, leave)
    acked = []
    with open_store(disk) as store:
        for number in range(100):
            message_id = f"om_{number}"
            try:
                if store.append(KEY, "user", body(message_id, 500), "on_ada", message_id):
                    acked.append(message_id)
            except StoreFullError:
                break
        shown = [message["content"] for message in store.get_recent(KEY, 1000)]
        assert shown == [body(message_id, 500) for message_id in acked]
        assert store.read(KEY).entries is not None
        filler.unlink()
        assert store.append(KEY, "user", body("om_later", 5), "on_ada", "om_later") is True
        assert assert_intact(store, KEY, [*acked, "om_later"]) == len(acked) + 1


def test_several_processes_on_a_full_disk_keep_what_was_acknowledged(disk: Path, spawn: SpawnWorker) -> None:
    options = {"segment_bytes": 60_000}
    workers = [
        spawn("append_until_error", place=disk / "transcripts", size=700, prefix=f"w{n}_", store=options)
        for n in range(4)
    ]
    for worker in workers:
        worker.go()
    results = [worker.result() for worker in workers]
    assert {result["error"] for result in results} == {"StoreFullError"}
    with open_store(disk) as store:
        acked = [message_id for result in results for message_id in result["acked"]]
        assert assert_intact(store, KEY, acked) == len(acked) > 100
        assert max(disk_lines(disk / "transcripts").ids.values()) == 1


def test_readers_do_their_work_on_a_full_disk(disk: Path) -> None:
    with open_store(disk) as store:
        for number in range(50):
            store.append(KEY, "user", body(f"om_{number}", 100), "on_ada", f"om_{number}")
    fill_up(disk, 0)
    with open_store(disk) as fresh:
        assert len(fresh.get_recent(KEY, 100)) == 50
        assert len(fresh.read(KEY).entries) == 50
        assert len(fresh.search("om_49|")) == 1
        assert fresh.get(KEY, "om_7") is not None
        assert [chat.session_key for chat in fresh.chats()] == [KEY]
        assert fresh.append(KEY, "user", "again", "on_ada", "om_7") is False


def test_erasing_on_a_full_disk_erases_or_says_that_it_cannot(disk: Path) -> None:
    with open_store(disk, segment_bytes=50_000) as store:
        for number in range(300):
            store.append(KEY, "user", body(f"om_{number}", 1000), "on_ada", f"om_{number}")
        filler = fill_up(disk, 0)
        stay = [f"om_{number}" for number in range(300) if number % 3]
        for number in range(0, 300, 3):
            with contextlib.suppress(StoreFullError):
                store.redact(KEY, f"om_{number}")
        assert {entry["message_id"] for entry in store.scan(KEY)} >= set(stay)
        filler.unlink()
        for number in range(0, 300, 3):
            store.redact(KEY, f"om_{number}")
        assert assert_intact(store, KEY, stay) == len(stay)
        assert occurs_on_disk(disk / "transcripts", body("om_3", 1000)) == []
        report = store.verify(KEY)
        assert (report.ok, report.torn_lines) == (True, 0)


def test_purging_makes_room_on_a_full_disk(disk: Path, spawn: SpawnWorker) -> None:
    """Who is told to make room must be able to do it with this very program."""
    worker = spawn("append_until_error", place=disk / "transcripts", size=3000)
    worker.go()
    assert worker.result()["error"] == "StoreFullError"
    with open_store(disk) as store:
        store.purge(KEY)
        assert store.append(KEY, "user", body("om_new", 3000), "on_ada", "om_new") is True
        assert assert_intact(store, KEY, ["om_new"]) == 1


@pytest.mark.parametrize("limits", short_and_full([5_000, 20_017, 40_000, 70_000], list(range(1000, 90_000, 997))))
def test_a_short_write_leaves_no_half_line(
    tmp_path: Path, spawn: SpawnWorker, soak_row: SoakRow, limits: list[int]
) -> None:
    """A file size limit makes the kernel write only the part that fits: the sharpest form of a full disk."""
    entries = 0
    for limit in limits:
        place = tmp_path / f"limit{limit}"
        worker = spawn("append_until_error", place=place, size=1777, limit=limit, count=200)
        worker.go()
        result = worker.result()
        assert result["error"] == "StoreFullError"
        lines = disk_lines(place)
        assert (lines.broken, lines.unfinished) == (0, 0)
        with GroupTranscriptStore(place) as store:
            assert store.append(KEY, "user", body("om_next", 9), "on_ada", "om_next") is True
            assert store.append(KEY, "user", body("x", 9), "on_ada", result["refused"]) in (True, False)
            expected = {*result["acked"], "om_next"}
            assert expected <= {entry["message_id"] for entry in store.scan(KEY)}
            report = store.verify(KEY)
            assert (report.ok, report.torn_lines) == (True, 0)
            entries += len(expected)
    soak_row(limits=len(limits), entries=entries, lost=0, half_lines=0)


def test_a_short_write_while_another_process_goes_on_spoils_nothing(tmp_path: Path, spawn: SpawnWorker) -> None:
    place = tmp_path / "transcripts"
    free = [spawn("append", place=place, count=300, prefix=f"free{n}_", size=200) for n in range(2)]
    limited = [
        spawn("append_until_error", place=place, size=3000, limit=60_000, count=400, prefix=f"lim{n}_")
        for n in range(2)
    ]
    for worker in [*limited, *free]:
        worker.go()
    acked = [message_id for worker in limited for message_id in worker.result()["acked"]]
    assert [worker.result()["written"] for worker in free] == [300, 300]
    acked += [f"free{n}_{number}" for n in range(2) for number in range(300)]
    with GroupTranscriptStore(place) as store:
        assert assert_intact(store, KEY, acked) >= len(acked)
        report = store.verify(KEY)
        assert (report.ok, report.torn_lines) == (True, 0)


def test_an_error_of_the_store_is_never_a_bare_os_error(disk: Path) -> None:
    fill_up(disk, 0)
    with open_store(disk) as store:
        for call in (
            lambda: store.append(KEY, "user", "x" * 10_000, "on_ada", "om_1"),
            lambda: store.recall(KEY, "om_2"),
            lambda: store.redact(KEY, "om_3"),
            lambda: store.edit(KEY, "om_4", "x" * 10_000),
            lambda: store.members.remember_person("on_ada", "Ada" * 5000),
        ):
            with contextlib.suppress(StoreError):
                call()
        assert store.get_recent(KEY) == []
    assert all(
        path.stat().st_size == 0 or path.read_bytes().endswith(b"\n") for path in data_files(disk / "transcripts")
    )


async def test_on_a_full_disk_signals_are_heard_as_before(disk: Path) -> None:
    here, elsewhere = (Record.open(disk / "transcripts") for _ in range(2))
    here.signals.tell("known")
    fill_up(disk, 0)
    with here.signals.listen("known", "new") as near, elsewhere.signals.listen("known") as far:
        for _ in range(3):  # what an ear hears first may be for nothing
            for name in ("known", "new"):
                here.signals.tell(name)
            heard: set[str] = set()
            while heard != {"known", "new"}:
                heard |= await near.wait(PATIENCE)
            assert await far.wait(PATIENCE) == {"known"}
    here.close()
    elsewhere.close()
