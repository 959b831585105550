"""Building a large index again holds nobody up, and loses neither ids nor messages."""

import fcntl
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.procs import Worker, until
from support.transcripts import active_file, body, data_files

from nanobot_transcript import GroupTranscriptStore

KEY = "feishu:oc_shared"
LINES = 40_000
MakeStore = Callable[..., GroupTranscriptStore]
SpawnWorker = Callable[..., Worker]


@pytest.fixture
def large(make_store: MakeStore, base_dir: Path) -> Path:
    """A transcript of several megabytes whose index is gone; the path of its only segment."""
    with make_store() as store:
        store.append(KEY, "user", body("om_first", 5), "on_ada", "om_first")
    path = active_file(base_dir)
    with path.open("ab") as file:
        for number in range(LINES):
            name = f"om_{number}"
            line = {"role": "user", "content": body(name, 60), "sender": "on_ada", "message_id": name, "ts": number}
            file.write(json.dumps(line).encode() + b"\n")
    shutil.rmtree(base_dir / ".state")
    return path


def _lock_is_free(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def test_an_index_is_built_with_the_lock_free(large: Path, base_dir: Path, tmp_path: Path, spawn: SpawnWorker) -> None:
    """Who stands still in the middle of it holds no lock; only whoever puts the finished one in place does."""
    index, held = base_dir / ".state" / "index", 0
    while held < 5:
        worker = spawn("append_forever", place=base_dir, size=5, prefix="new_", ack=tmp_path / "acknowledged")
        worker.go()
        until(lambda: list(index.glob("*.build")) or list(index.glob("*.ids")), "the index is built")
        worker.pause()
        in_the_middle = bool(list(index.glob("*.build")))
        if in_the_middle and _lock_is_free(large):
            return
        held += in_the_middle
        worker.kill()
        shutil.rmtree(base_dir / ".state")
    pytest.fail("the lock was held whenever one looked")


def test_every_id_is_known_after_an_index_was_built_again(large: Path, make_store: MakeStore) -> None:
    store = make_store()
    for number in (0, 1, LINES // 2, LINES - 1):
        assert store.append(KEY, "user", "again", "on_ada", f"om_{number}") is False
    assert store.append(KEY, "user", "again", "on_ada", "om_first") is False
    assert store.append(KEY, "user", body("om_new", 5), "on_ada", "om_new") is True
    assert (make_store().get(KEY, "om_77") or {}).get("content") == body("om_77", 60)


def test_several_processes_that_miss_the_index_all_go_on(large: Path, base_dir: Path, spawn: SpawnWorker) -> None:
    workers = [spawn("append", place=base_dir, count=300, prefix="new_", shuffle=seed) for seed in range(4)]
    for worker in workers:
        worker.go()
    for worker in workers:
        worker.result()
    with GroupTranscriptStore(base_dir) as store:
        names = [entry["message_id"] for entry in store.scan(KEY)]
        assert len(names) == len(set(names)) == LINES + 1 + 300
        assert store.append(KEY, "user", "again", "on_ada", "new_7") is False


def test_who_may_not_wait_goes_on_while_the_index_is_built(large: Path, base_dir: Path, make_store: MakeStore) -> None:
    store = make_store()
    assert store.append(KEY, "user", body("new_0", 5), "on_ada", "new_0", max_wait=0.2) is True
    assert store.get_recent(KEY, 1)[0]["content"] == body("new_0", 5)
    numbers = iter(range(1, 1_000_000))

    def index_is_there() -> bool:
        name = f"new_{next(numbers)}"
        store.append(KEY, "user", body(name, 5), "on_ada", name, max_wait=0.2)
        return not store.append(KEY, "user", body("om_7", 60), "on_ada", "om_7", max_wait=0.2)

    until(index_is_there, "duplicates are found again")
    with make_store() as fresh:
        names = [entry["message_id"] for entry in fresh.scan(KEY)]
    written = next(numbers)
    assert len(names) == len(set(names)) == LINES + 1 + written
    assert all(path.stat().st_size < 100 << 20 for path in data_files(base_dir))


def test_the_first_append_after_many_segments_lost_their_indexes_finds_duplicates(
    make_store: MakeStore, base_dir: Path
) -> None:
    options = {"segment_bytes": 100_000}
    with make_store(**options) as store:
        for number in range(6_000):
            store.append(KEY, "user", body(f"om_{number}", 60), "on_ada", f"om_{number}")
    assert len(data_files(base_dir)) > 8
    for index in (base_dir / ".state" / "index").glob("*.ids"):
        index.unlink()
    fresh = make_store(**options)
    assert not any(fresh.append(KEY, "user", "x", "on_ada", f"om_{number}") for number in range(0, 6_000, 97))
