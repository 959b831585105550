"""What was purged does not come back out of a spool, and what is erased is erased there, too."""

import time
from pathlib import Path

import pytest
from support.far_backend import FaultyFar
from support.spools import KEY, flushed, say
from support.transcripts import contents, occurs_on_disk
from unit.record.conftest import MakeProcess

from nanobot_transcript import GroupTranscriptStore, StoreUnavailableError
from nanobot_transcript.store.lines.erasure import Purged

OTHER = "feishu:oc_2"
NOW = int(time.time() * 1000)
MINUTES = 60_000.0


def pause() -> None:
    """Until the clock has moved on: a time of receipt is in milliseconds."""
    began = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 <= began + 1:
        pass


@pytest.fixture(params=[0.0, 10 * MINUTES, -10 * MINUTES], ids=["right", "ahead", "behind"])
def far(request: pytest.FixtureRequest, tmp_path: Path) -> FaultyFar:
    """A record whose clock is right, or ten minutes off."""
    return FaultyFar(tmp_path / "far", clock=lambda: time.time() * 1000 + request.param)


def test_a_purge_of_a_chat_is_not_undone_by_what_waited(
    far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess
) -> None:
    store = process()
    say(record, "om_1")
    far.deaf = True
    say(store, "om_2")
    say(store, "om_2", key=OTHER)
    store.edit(KEY, "om_1", "secret")
    pause()
    record.purge(KEY)
    pause()
    say(store, "om_3")
    far.deaf = False
    for key in (KEY, OTHER):
        flushed(store, key)
    assert contents(record.scan(KEY)) == ["text of om_3"]
    assert contents(record.scan(OTHER)) == ["text of om_2"]
    assert not occurs_on_disk(Path(far.place), "secret")


def test_a_purge_is_not_undone_by_a_batch_whose_answer_was_lost(
    far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess
) -> None:
    store = process()
    far.deaf = True
    say(store, "om_1", "om_2")
    pause()

    def purge_between() -> None:
        if far.batches:
            record.purge(KEY)
            far.on_write = lambda: None

    far.on_write, far.cut, far.deaf = purge_between, 1, False
    flushed(store)
    assert contents(record.scan(KEY)) == []


def test_a_purge_of_a_person_is_not_undone_and_takes_nobody_else(
    far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess
) -> None:
    store = process()
    say(record, "om_1", sender="on_bo")
    far.deaf = True
    say(store, "om_2", sender="on_ada")
    store.append(KEY, "user", "hello", "on_bo", "om_3", mentions=[{"name": "Ada", "id": "on_ada"}])
    store.append(KEY, "user", "again", "ou_1", "om_4", ids={"union_id": "on_ada"})
    store.edit(KEY, "om_1", "by Ada", "on_ada")
    store.recall(KEY, "om_1", "on_ada")
    pause()
    record.purge(sender="on_ada")
    pause()
    say(store, "om_5", sender="on_ada")
    far.deaf = False
    flushed(store)
    assert [(entry["content"], entry.get("mentions")) for entry in record.scan(KEY)] == [
        ("hello", []),
        ("text of om_5", None),
    ]
    assert len(occurs_on_disk(Path(far.place), "by Ada")) == 0


def test_a_purge_of_what_is_old_is_not_undone(
    far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess
) -> None:
    store = process()
    record.append(KEY, "user", "old", "on_bo", "om_1", NOW - 1000)
    far.deaf = True
    store.append(KEY, "user", "old, too", "on_ada", "om_2", NOW - 1000)
    store.append(KEY, "user", "new", "on_ada", "om_3", NOW)
    store.edit(KEY, "om_1", "changed")
    store.edit(KEY, "om_3", "changed, too")
    pause()
    record.purge(KEY, before_ms=NOW - 500)
    far.deaf = False
    flushed(store)
    assert contents(record.scan(KEY)) == ["changed, too"]
    assert not occurs_on_disk(Path(far.place), '"changed"')


def test_an_own_purge_erases_what_waits(
    far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess, tmp_path: Path
) -> None:
    store = process()
    far.deaf = True
    say(store, "om_1")
    say(store, "om_2", sender="on_bo")
    say(store, "om_1", key=OTHER)
    store.purge(sender="on_ada")
    assert not occurs_on_disk(tmp_path / "spool", "text of om_1")
    store.purge(KEY)
    assert not occurs_on_disk(tmp_path / "spool", "text of om_2")
    pause()
    say(store, "om_3")
    far.deaf = False
    for key in (KEY, OTHER):
        flushed(store, key)
    assert contents([*record.scan(KEY), *record.scan(OTHER)]) == ["text of om_3"]


def test_a_redaction_goes_to_the_record_and_erases_what_waits(
    far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess, tmp_path: Path
) -> None:
    store = process()
    say(record, "om_1")
    far.deaf = True
    say(store, "om_2", "om_3")
    assert [store.redact(KEY, known) for known in ("om_1", "om_2", "om_2")] == [True, True, False]
    assert not occurs_on_disk(tmp_path, "text of om_1")
    assert not occurs_on_disk(tmp_path, "text of om_2")
    far.deaf = False
    flushed(store)
    assert contents(record.scan(KEY)) == ["text of om_3"]


@pytest.mark.parametrize("far", [0.0], indirect=True)
def test_without_the_record_nothing_is_erased_and_that_is_said(
    far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess
) -> None:
    store = process()
    far.down = True
    say(store, "om_1")
    for erase in (lambda: store.redact(KEY, "om_1"), lambda: store.purge(KEY)):
        with pytest.raises(StoreUnavailableError):
            erase()
    far.down = False
    flushed(store)
    assert contents(record.scan(KEY)) == ["text of om_1"]


@pytest.mark.parametrize("far", [0.0], indirect=True)
def test_maintenance_erases_what_was_taken_back_and_waits(
    far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess, tmp_path: Path
) -> None:
    store = process()
    far.deaf = True
    say(store, "om_1", "om_2")
    store.recall(KEY, "om_1")
    store.maintain()
    assert not occurs_on_disk(tmp_path, "text of om_1")
    far.deaf = False
    flushed(store)
    assert contents(record.scan(KEY)) == ["text of om_2"]


@pytest.mark.parametrize("purge", [(frozenset(), None), (frozenset({"on_ada"}), None), (frozenset(), 50.0)])
def test_a_purge_takes_nothing_that_was_received_after_it(purge: tuple[frozenset[str], float | None]) -> None:
    entry = {"role": "user", "content": "x", "sender": "on_ada", "message_id": "om_1", "ts": 1.0}
    assert Purged(100.0, *purge).left_of(entry, 100.0) == entry  # type: ignore[arg-type]
    assert Purged(100.0, *purge).left_of(entry, 99.0) is None  # type: ignore[arg-type]
