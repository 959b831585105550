"""A process that stands still while it holds the lock costs time once, and never a message."""

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.procs import Worker, holds_lock, until
from support.sizes import short_and_full
from support.transcripts import acknowledged, assert_intact, body, occurs_on_disk

from nanobot_transcript import GroupTranscriptStore, StoreBusyError

KEY = "feishu:oc_shared"
FOREVER = 600.0
"""Longer than any test may take: who waits for the lock fails the test."""

MakeStore = Callable[..., GroupTranscriptStore]
SpawnWorker = Callable[..., Worker]
SoakRow = Callable[..., None]


def stop_with_the_lock(worker: Worker) -> None:
    """Pause and resume the worker until the pause falls into the time it holds the lock."""
    dice = random.Random(1)
    for _ in range(3000):
        worker.pause()
        if holds_lock(worker.pid):
            return
        worker.resume()
        time.sleep(dice.uniform(0, 0.004))
    pytest.fail("the writer was never caught holding its lock")


@pytest.fixture
def stuck(make_store: MakeStore, base_dir: Path, tmp_path: Path, spawn: SpawnWorker) -> Worker:
    """A writer that is stopped while it holds the lock of a transcript with ten known messages."""
    store = make_store()
    for number in range(10):
        message_id = f"known_{number}"
        store.append(KEY, "user", body(message_id, 10), "on_bo", message_id)
    store.close()
    writer = spawn("append_forever", place=base_dir, size=300_000, prefix="stuck_", ack=tmp_path / "stuck")
    writer.go()
    until(lambda: acknowledged(tmp_path / "stuck"), "the writer began")
    stop_with_the_lock(writer)
    return writer


@pytest.mark.parametrize("rounds", short_and_full(1, 10))
def test_a_stuck_holder_costs_one_wait_and_no_message(
    make_store: MakeStore,
    base_dir: Path,
    tmp_path: Path,
    stuck: Worker,
    spawn: SpawnWorker,
    soak_row: SoakRow,
    rounds: int,
) -> None:
    expected = [f"known_{number}" for number in range(10)]
    figures = []
    for number in range(rounds):
        options = {"lock_timeout": 2.0}  # and it is told to write two hundred: with a wait for each it would not end
        writer = spawn("measure_appends", place=base_dir, count=200, prefix=f"free{number}_", store=options)
        writer.go()
        figures.append(writer.result())
        expected += [f"free{number}_{i}" for i in range(200)]
        assert set(expected) <= {entry["message_id"] for entry in make_store().scan(KEY)}
        stuck.resume()
        until(lambda: not holds_lock(stuck.pid), "the lock is free again")
        if number + 1 < rounds:
            stop_with_the_lock(stuck)
    stuck.kill()
    expected += acknowledged(tmp_path / "stuck")
    store = make_store()
    assert_intact(store, KEY, expected)
    assert not any(store.append(KEY, "user", "again", "on_ada", message_id) for message_id in expected)
    soak_row(
        rounds=rounds,
        first_ms=max(round(figure["first_ms"]) for figure in figures),
        later_p50_ms=max(round(figure["rest_p50_ms"], 2) for figure in figures),
        later_max_ms=max(round(figure["rest_max_ms"], 1) for figure in figures),
        entries=len(expected),
        lost=0,
    )


def test_the_caller_decides_how_long_it_waits_at_most(
    make_store: MakeStore, base_dir: Path, stuck: Worker, spawn: SpawnWorker
) -> None:
    options = {"lock_timeout": FOREVER}
    writer = spawn("measure_appends", place=base_dir, count=20, prefix="new_", max_wait=0.2, store=options)
    writer.go()
    writer.result()
    assert {f"new_{number}" for number in range(20)} <= {entry["message_id"] for entry in make_store().scan(KEY)}
    assert stuck.process.poll() is None


def test_what_is_written_twice_while_the_lock_is_stuck_is_shown_once(
    make_store: MakeStore, base_dir: Path, stuck: Worker, spawn: SpawnWorker
) -> None:
    options = {"lock_timeout": 0.1}
    writers = [
        spawn("measure_appends", place=base_dir, count=10, prefix=prefix, store=options)
        for prefix in ("known_", "both_", "both_")
    ]
    for writer in writers:
        writer.go()
    for writer in writers:
        writer.result()
    expected = [f"{name}_{number}" for name in ("known", "both") for number in range(10)]
    for _ in range(2):
        store = make_store()
        assert_intact(store, KEY, expected)
        shown = [message["content"] for message in store.get_recent(KEY, 1000)]
        assert len(set(shown)) == len(shown)
        assert len(store.search("both_3|")) == 1
        stuck.kill()
    assert not any(make_store().append(KEY, "user", "x", "on_ada", message_id) for message_id in expected)


def test_what_is_pushed_again_while_the_lock_is_stuck_neither_doubles_nor_comes_back(
    make_store: MakeStore, base_dir: Path, tmp_path: Path, spawn: SpawnWorker
) -> None:
    """Also when the first copy, or the recall, lies far back in the transcript."""
    store = make_store()
    for message_id in ("recalled", "known"):
        store.append(KEY, "user", body(message_id, 10), "on_bo", message_id)
    store.recall(KEY, "recalled")
    for number in range(500):
        store.append(KEY, "user", body(f"later_{number}", 10), "on_bo", f"later_{number}")
    writer = spawn("append_forever", place=base_dir, size=300_000, prefix="stuck_", ack=tmp_path / "stuck")
    writer.go()
    until(lambda: acknowledged(tmp_path / "stuck"), "the writer began")
    stop_with_the_lock(writer)
    impatient = make_store(lock_timeout=0.1)
    for message_id in ("recalled", "known"):
        impatient.append(KEY, "user", body(message_id, 10), "on_bo", message_id)
    for _ in range(2):
        for reader in (store, impatient, make_store()):
            recent = {message["content"] for message in reader.get_recent(KEY, 3)}
            assert not recent & {body("recalled", 10), body("known", 10)}
            assert [entry["message_id"] for entry in reader.scan(KEY)].count("known") == 1
            assert len(reader.search("known|")) == 1
            assert reader.search("recalled|") == []
            assert reader.get(KEY, "recalled") is None
            assert "recalled" not in {entry["message_id"] for entry in reader.recent(KEY, 3).entries}
        writer.kill()


def test_a_recall_is_carried_out_although_the_lock_is_stuck(make_store: MakeStore, stuck: Worker) -> None:
    store = make_store(lock_timeout=0.1)
    store.recall(KEY, "known_3")
    store.edit(KEY, "known_4", "changed")
    contents = [message["content"] for message in make_store().get_recent(KEY, 1000)]
    assert body("known_3", 10) not in contents
    assert "changed" in contents
    stuck.kill()
    assert make_store().append(KEY, "user", body("known_3", 10), "on_bo", "known_3") is False


def test_readers_need_no_lock(make_store: MakeStore, stuck: Worker) -> None:
    store = make_store(lock_timeout=FOREVER)
    assert store.get_recent(KEY)
    assert store.read(KEY, None, 10).entries[0]["message_id"] == "known_0"
    assert store.search("known_7|")
    assert store.get(KEY, "known_7") is not None
    assert store.end(KEY)
    assert [chat.session_key for chat in store.chats()] == [KEY]
    assert stuck.process.poll() is None


def test_erasing_does_not_wait_for_a_stuck_writer(
    make_store: MakeStore, base_dir: Path, tmp_path: Path, stuck: Worker
) -> None:
    """Text that has to go must not stay because some process stands still."""
    store = make_store(lock_timeout=0.1)
    store.redact(KEY, "known_2")
    store.recall(KEY, "known_3")
    store.maintain([KEY])
    store.purge(KEY, sender="on_bo")
    for number in range(10):
        assert occurs_on_disk(base_dir, body(f"known_{number}", 10)) == []
    stuck.kill()
    fresh = make_store()
    assert_intact(fresh, KEY, acknowledged(tmp_path / "stuck"))
    assert fresh.append(KEY, "user", body("known_2", 10), "on_bo", "known_2") is False


@pytest.mark.soak
def test_maintenance_says_when_another_one_does_not_end(
    make_store: MakeStore, base_dir: Path, spawn: SpawnWorker, soak_row: SoakRow
) -> None:
    store = make_store()
    store.append(KEY, "user", body("om_1", 10), "on_bo", "om_1")
    maintainer = spawn("maintain", place=base_dir, pause=0)
    maintainer.go()
    stop_with_the_lock(maintainer)
    for maintenance in (store.maintain, lambda: store.purge(sender="on_bo")):
        with pytest.raises(StoreBusyError) as caught:
            maintenance()
        assert caught.value.hint
    assert store.append(KEY, "user", body("om_2", 10), "on_bo", "om_2") is True
    maintainer.kill()
    store.purge(sender="on_bo")
    assert list(make_store().scan(KEY)) == []
    soak_row(maintainers=2, waited_without_end=0)


def test_a_killed_holder_frees_the_lock_at_once(make_store: MakeStore, stuck: Worker) -> None:
    stuck.kill()
    store = make_store(lock_timeout=FOREVER)
    assert store.append(KEY, "user", "x", "on_ada", "om_1") is True
