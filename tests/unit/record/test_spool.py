"""What a spool accepts comes into the record once and in order, whatever becomes of the record."""

import logging
import threading
from itertools import count
from pathlib import Path

import pytest
from support.far_backend import FaultyFar
from support.procs import until
from support.spools import KEY, flushed, say, until_empty, until_gone
from support.transcripts import contents, occurs_on_disk
from support.waiting import PATIENCE
from unit.record.conftest import MakeProcess

from nanobot_transcript import GroupTranscriptStore, StoreFullError, StoreUnavailableError
from nanobot_transcript.record.spool.backend import SpooledBackend
from nanobot_transcript.record.spool.backlog import Waiting, check, waiting_in
from nanobot_transcript.store.lines.codec import decode

OTHER = "feishu:oc_2"
EMPTY = Waiting()


def lines_of(far: FaultyFar, tmp_path: Path) -> list[str]:
    """What each line of the record is: its op, or its id."""
    found = (line for path in sorted((tmp_path / "far").glob("*.jsonl")) for line in path.read_bytes().splitlines())
    entries = (entry for line in found if (entry := decode(line)) is not None)
    return [entry.get("op") or entry["message_id"] or "" for entry in entries]


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def test_what_is_said_while_the_record_is_away_is_there_when_it_comes_back(
    far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess
) -> None:
    store = process()
    far.down = True
    ids = [f"om_{number}" for number in range(250)]
    assert all(say(store, *ids))
    assert store.edit(KEY, "om_3", "changed") is True
    assert store.recall(KEY, "om_4") is True
    assert store.flush(KEY, 0) is False
    far.down = False
    flushed(store)
    expected = ["changed" if known == "om_3" else f"text of {known}" for known in ids if known != "om_4"]
    assert contents(record.scan(KEY)) == expected


def test_nobody_who_brings_a_message_waits_for_the_record(far: FaultyFar, process: MakeProcess) -> None:
    store, answers = process(), threading.Event()
    far.on_write = lambda: answers.wait(PATIENCE)
    assert store.backend.append_blocks is False
    assert say(store, "om_1", "om_2") == [True, True]
    assert store.edit(KEY, "om_1", "changed") is True
    assert far.batches == []
    answers.set()
    flushed(store)
    assert sum(map(len, far.batches)) == 3


def test_a_batch_is_of_one_chat_in_its_order_and_of_a_hundred_lines_at_most(
    far: FaultyFar, process: MakeProcess
) -> None:
    store = process()
    far.down = True
    for number in range(230):
        say(store, f"om_{number}", key=KEY)
        say(store, f"om_{number}", key=OTHER)
    far.down = False
    for key in (KEY, OTHER):
        flushed(store, key)
    assert [len(batch) for batch in far.batches] == [100, 100, 100, 100, 30, 30]
    for half in (far.batches[::2], far.batches[1::2]):
        assert [line["message_id"] for batch in half for line in batch] == [f"om_{number}" for number in range(230)]


def test_lines_of_a_megabyte_go_a_few_at_a_time(far: FaultyFar, process: MakeProcess) -> None:
    store = process()
    far.down = True
    for number in range(9):
        store.append(KEY, "user", "会" * 340_000, "on_ada", f"om_{number}")
    far.down = False
    flushed(store)
    assert [len(batch) for batch in far.batches] == [4, 4, 1]


@pytest.mark.parametrize("cuts", [1, 2, 5])
def test_a_batch_whose_answer_is_lost_is_written_once(
    far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess, tmp_path: Path, cuts: int
) -> None:
    store = process()
    far.down = True
    say(store, "om_1", "om_2")
    store.append(KEY, "user", "without an id", "on_ada")
    for text in ("once", "twice", "once"):
        store.edit(KEY, "om_1", text)
    store.recall(KEY, "om_2")
    far.cut, far.down = cuts, False
    flushed(store)
    assert len(far.batches) == cuts + 1
    lines = lines_of(far, tmp_path)
    assert sorted(line for line in lines if not line.startswith("local:")) == [
        *("edit", "edit", "edit", "om_1", "om_2", "recall")
    ]
    assert len(lines) == 7
    assert contents(record.scan(KEY)) == ["once", "without an id"]


def test_what_the_record_has_already_is_accepted_and_there_once(
    far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess
) -> None:
    say(record, "om_1")
    one, two = process(), process()
    for store in (one, two):
        assert say(store, "om_1", "om_2") == [True, True]
        flushed(store)
        assert say(store, "om_2") == [False]  # this process has it from itself
    assert contents(record.scan(KEY)) == ["text of om_1", "text of om_2"]


def test_the_senders_own_words_replace_what_was_overheard(record: GroupTranscriptStore, process: MakeProcess) -> None:
    heard, sender = process(), process()
    heard.append(KEY, "assistant", "[card]", "Alpha", "om_1", source="peer_event")
    flushed(heard)
    assert sender.append(KEY, "assistant", "My words.", "Alpha", "om_1", source="send") is True
    flushed(sender)
    assert contents(record.scan(KEY)) == ["My words."]


def test_a_message_of_which_another_process_recorded_a_part_gets_its_whole_text(
    far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess, tmp_path: Path
) -> None:
    one, two = process(), process()
    one.append(KEY, "assistant", "One", "Alpha", "om_1", source="send")
    flushed(one)
    far.down = True
    assert two.append(KEY, "assistant", "One, two.", "Alpha", "om_1", message_ids=["om_1", "om_2"], source="send")
    far.cut, far.down = 2, False
    flushed(two)
    assert contents(record.scan(KEY)) == ["One, two."]
    assert lines_of(far, tmp_path) == ["om_1", "edit"]


def test_a_full_spool_takes_no_more_until_it_has_emptied(far: FaultyFar, process: MakeProcess) -> None:
    store = process(bytes=200_000, folder_seconds=0.0)
    far.down = True
    numbers = count()

    def fill() -> None:
        for number in numbers:
            store.append(KEY, "user", "x" * 1000, "on_ada", f"om_{number}")

    with pytest.raises(StoreFullError) as caught:
        fill()
    taken = next(numbers) - 1
    assert "0.2 MiB" in str(caught.value)
    assert "doctor" in caught.value.hint
    assert 100 < taken < 200
    far.down = False
    flushed(store)
    assert len(list(far.scan(KEY))) == taken
    assert say(store, "om_later") == [True]


def test_what_can_never_be_recorded_is_put_aside_and_keeps_nobody_back(
    far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess, tmp_path: Path
) -> None:
    store = process()
    far.poison = "om_2"
    far.down = True
    say(store, "om_1", "om_2", "om_3")
    far.down = False
    flushed(store)
    assert contents(record.scan(KEY)) == ["text of om_1", "text of om_3"]
    assert waiting_in(tmp_path / "spool").refused == 1
    assert occurs_on_disk(tmp_path / "spool", "text of om_2")
    store.purge(KEY)
    assert not occurs_on_disk(tmp_path / "spool", "text of om_2")


def test_a_chat_that_somebody_holds_keeps_no_other_back(
    far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess
) -> None:
    store = process()
    far.busy = frozenset({KEY})
    say(store, "om_1", key=KEY)
    say(store, "om_1", key=OTHER)
    flushed(store, OTHER)
    assert store.flush(KEY, 0) is False
    say(store, "om_2", key=KEY)
    far.busy = frozenset()
    flushed(store, KEY)
    assert contents(record.scan(KEY)) == ["text of om_1", "text of om_2"]


def test_an_outage_is_told_once_and_so_is_its_end(
    far: FaultyFar, process: MakeProcess, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "nanobot_transcript.record.spool")
    store, failed = process(), threading.Semaphore(0)
    far.on_write = failed.release
    say(store, "om_0")
    flushed(store)
    far.deaf = True
    say(store, "om_1")
    for _ in range(5):
        assert failed.acquire(timeout=PATIENCE)
    assert waiting_in(tmp_path / "spool").error == "The record cannot be asked."
    far.deaf = False
    flushed(store)
    store.close()
    told = [record.levelname for record in caplog.records]
    assert told == ["WARNING", "INFO"]
    assert str(tmp_path / "far") in caplog.messages[0]
    assert waiting_in(tmp_path / "spool") == EMPTY


def test_what_an_ended_process_left_is_handed_on_by_the_next_one(
    far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess, tmp_path: Path
) -> None:
    first = process()
    far.down = True
    say(first, "om_1", "om_2")
    first.close()
    assert waiting_in(tmp_path / "spool").lines == 2
    second = process()
    say(second, "om_3")
    far.down = False
    flushed(second)
    assert contents(record.scan(KEY)) == ["text of om_1", "text of om_2", "text of om_3"]
    second.close()
    assert waiting_in(tmp_path / "spool") == EMPTY


def test_what_an_ended_process_left_is_handed_on_by_one_that_runs(
    far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess, tmp_path: Path
) -> None:
    far.down = True
    running, ended = process(), process()
    say(running, "om_1", key=OTHER)
    say(ended, "om_1", "om_2")
    ended.close()
    far.down = False
    until_empty(tmp_path / "spool")
    assert contents(record.scan(KEY)) == ["text of om_1", "text of om_2"]


def test_two_processes_never_share_a_place(far: FaultyFar, process: MakeProcess, tmp_path: Path) -> None:
    far.down = True
    stores = [process() for _ in range(3)]
    for store in stores:
        say(store, "om_1")
    assert sorted(path.name for path in (tmp_path / "spool").iterdir()) == ["1", "2", "3"]
    far.down = False
    for store in stores:
        flushed(store)
    assert len(list(far.scan(KEY))) == 1


def test_lines_for_one_record_never_go_to_another_one(
    far: FaultyFar, process: MakeProcess, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = process()
    say(store, "om_1")
    flushed(store)
    far.down = True
    say(store, "om_2")
    store.close()
    other = FaultyFar(tmp_path / "another")
    moved = process(other)
    say(moved, "om_3")
    flushed(moved, OTHER)
    until_empty(tmp_path / "spool", lines=1)
    assert contents(other.scan(KEY)) == ["text of om_3"]
    assert [record.levelname for record in caplog.records if "another record" in record.message] == ["ERROR"]
    moved.close()
    far.down = False
    back = process()
    say(back, "om_4")
    flushed(back)
    assert contents(far.scan(KEY)) == ["text of om_1", "text of om_2", "text of om_4"]


def test_lines_for_a_record_that_was_never_reached_go_to_it_alone(
    far: FaultyFar, process: MakeProcess, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    far.down = True
    first = process()
    say(first, "om_1")
    first.close()
    other = FaultyFar(tmp_path / "another")
    beside = process(other)
    assert [message["content"] for message in beside.get_recent(KEY)] == []
    say(beside, "om_2")
    flushed(beside)
    until(lambda: "another record" in caplog.text, "it is said that something is left alone")
    assert contents(other.scan(KEY)) == ["text of om_2"]
    (told,) = (record.getMessage() for record in caplog.records if record.levelname == "ERROR")
    assert f"Start a bot of that record, {far.address}: it hands them on." in told
    far.down = False
    back = process()
    say(back, "om_3", key=OTHER)
    until_empty(tmp_path / "spool")
    assert contents(far.scan(KEY)) == ["text of om_1"]


def test_a_record_under_another_address_gets_the_lines_that_were_written_for_it(
    far: FaultyFar, process: MakeProcess, tmp_path: Path
) -> None:
    store = process()
    say(store, "om_1")
    flushed(store)
    far.down = True
    say(store, "om_2")
    store.close()
    (tmp_path / "far").rename(tmp_path / "moved")
    moved = FaultyFar(tmp_path / "moved")
    assert moved.address != far.address
    say(process(moved), "om_3", key=OTHER)
    until_empty(tmp_path / "spool")
    assert contents(moved.scan(KEY)) == ["text of om_1", "text of om_2"]


def test_numbers_tell_what_waits_for_another_record(far: FaultyFar, process: MakeProcess, tmp_path: Path) -> None:
    far.down = True
    say(process(), "om_1", "om_2")
    other = waiting_in(tmp_path / "spool", "elsewhere", "id")
    assert (other.lines, other.others, other.whose) == (0, 2, (far.address,))
    (told,) = check(tmp_path / "spool", "elsewhere", "id")
    assert (told.severity, told.fix) == ("warning", f"Start a bot of that record: {far.address}.")
    assert told.message.endswith("are for another record; bots of this one do not hand them on.")
    own = waiting_in(tmp_path / "spool", far.address, "id")
    assert (own.lines, own.others, own.whose) == (2, 0, ())


def test_a_purge_in_another_record_erases_nothing_that_waits_for_this_one(
    far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess, tmp_path: Path
) -> None:
    far.down = True
    first = process()
    say(first, "om_1")
    first.close()
    beside = process(FaultyFar(tmp_path / "another"))
    beside.purge(KEY)
    far.down = False
    say(process(), "om_2", key=OTHER)
    until_empty(tmp_path / "spool")
    assert contents(record.scan(KEY)) == ["text of om_1"]


def test_what_was_handed_on_does_not_stay_on_this_disk(far: FaultyFar, process: MakeProcess, tmp_path: Path) -> None:
    store = process(folder_seconds=0.0)
    say(store, "om_1")
    flushed(store)
    say(store, "om_2", key=OTHER)
    flushed(store, OTHER)
    until_gone(tmp_path / "spool", "text of om_1")
    store.close()
    assert not occurs_on_disk(tmp_path / "spool", "text of om_2")
    left = [path for path in (tmp_path / "spool").rglob("*") if path.is_file()]
    assert {path.name for path in left if path.parent.name != "records"} == {"lock"}


def test_a_spool_that_is_written_to_all_the_time_does_not_grow(
    far: FaultyFar, process: MakeProcess, tmp_path: Path
) -> None:
    store = process(folder_bytes=100_000)
    for number in range(2000):
        store.append(KEY, "user", "x" * 500, "on_ada", f"om_{number}")
        if number % 100 == 0:
            flushed(store)
    flushed(store)
    until(lambda: sum(map(size_of, (tmp_path / "spool").rglob("*.jsonl"))) < 200_000, "what was sent is dropped")
    assert len(list(far.scan(KEY))) == 2000


def test_a_closed_store_opens_again_when_it_is_used(
    far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess
) -> None:
    store = process()
    say(store, "om_1")
    store.close()
    store.close()
    assert contents(record.scan(KEY)) == ["text of om_1"]
    say(store, "om_2")
    assert contents(store.recent(KEY).entries) == ["text of om_1", "text of om_2"]


def test_nothing_is_made_by_one_who_only_reads(far: FaultyFar, process: MakeProcess, tmp_path: Path) -> None:
    store = process()
    assert store.get_recent(KEY) == store.recent(KEY).entries == []
    store.close()
    assert not (tmp_path / "spool").exists()


def test_numbers_tell_what_waits_and_since_when(far: FaultyFar, process: MakeProcess, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    assert waiting_in(spool) == EMPTY
    store = process()
    far.down = True
    say(store, "om_1", "om_2")
    store.recall(OTHER, "om_1")
    numbers = waiting_in(spool)
    first = next(iter(store.backend._spool.tail(KEY)))  # type: ignore[attr-defined]
    assert (numbers.lines, numbers.oldest_ms) == (3, first["rts"])
    assert 300 < numbers.bytes < 1000


# -- what is not meant to happen


def test_garbage_in_a_place_costs_nothing_but_a_second_attempt(
    far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess, tmp_path: Path
) -> None:
    store = process()
    say(store, "om_1")
    flushed(store)
    far.down = True
    say(store, "om_2")
    store.close()
    spool = tmp_path / "spool"
    for name in ("x", "0", "999999999999999999999"):
        (spool / "1" / name).mkdir()
    (spool / "1" / "2").write_text("no folder")
    (spool / "2").write_text("no place")
    (spool / "3").symlink_to(tmp_path)
    (spool / "notes.txt").write_text("somebody's")
    for place in spool.rglob(".state/sent/*"):
        place.write_bytes(b"\xff" * 100)
    for lines in spool.rglob("*.jsonl"):
        lines.write_bytes(b"garbage\n\n" + lines.read_bytes() + b'{"role": "user", "content": "half a li')
    far.down = False
    again = process()
    say(again, "om_3")
    flushed(again)
    assert contents(record.scan(KEY)) == ["text of om_1", "text of om_2", "text of om_3"]


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_a_transcript_that_cannot_be_read_is_kept_and_keeps_no_other_back(
    far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess, tmp_path: Path, kind: str
) -> None:
    store, other = process(), "feishu:oc_other"
    far.down = True
    say(store, "om_1")
    say(store, "om_2", key=other)
    store.close()
    (path,) = (tmp_path / "spool").rglob("*oc_other*.jsonl")
    path.rename(tmp_path / "away")
    path.symlink_to(tmp_path / "away") if kind == "link" else path.mkdir()
    far.down = False
    again = process()
    assert say(again, "om_3") == [True]
    flushed(again)
    assert contents(record.scan(KEY)) == ["text of om_1", "text of om_3"]
    again.close()
    path.unlink() if kind == "link" else path.rmdir()
    (tmp_path / "away").rename(path)
    last = process()
    say(last, "om_4")
    flushed(last, other)
    assert contents(record.scan(other)) == ["text of om_2"]


def test_a_transcript_that_has_lost_its_name_is_kept_and_told(
    far: FaultyFar, process: MakeProcess, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = process()
    far.down = True
    say(store, "om_1", key="群:一")
    store.close()
    for path in (tmp_path / "spool").rglob("*.key"):
        path.unlink()
    far.down = False
    again = process(folder_seconds=0.0)
    say(again, "om_2")
    flushed(again)
    again.close()
    assert occurs_on_disk(tmp_path / "spool", "text of om_1")
    assert "lost its session key" in caplog.text


def test_a_spool_that_cannot_be_made_refuses_what_it_is_brought(far: FaultyFar, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = GroupTranscriptStore(backend=SpooledBackend(far, tmp_path / "file" / "spool"))
    with pytest.raises(StoreUnavailableError):
        say(store, "om_1")
    store.close()


def test_whatever_a_record_raises_the_spool_goes_on(
    far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess
) -> None:
    store, tries = process(), iter([ZeroDivisionError, MemoryError, KeyError])

    def fail() -> None:
        if error := next(tries, None):
            raise error

    far.on_write = fail
    say(store, "om_1")
    flushed(store)
    assert contents(record.scan(KEY)) == ["text of om_1"]
