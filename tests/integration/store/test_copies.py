"""A message that stands twice in the record, because two processes wrote it beside a stuck lock, is handed out once."""

import asyncio
import fcntl
import json
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.transcripts import active_file, contents, drain
from support.waiting import PATIENCE

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.entry import Entry
from nanobot_transcript.files.layout import Layout, stem_of
from nanobot_transcript.store.jsonl.duplicates import IdPlaces
from nanobot_transcript.store.jsonl.lines import line_at
from nanobot_transcript.store.jsonl.segments import Segments

KEY = "feishu:oc_shared"
MakeStore = Callable[..., GroupTranscriptStore]


@contextmanager
def stuck(base_dir: Path) -> Iterator[None]:
    """The lock of the transcript is held by somebody who does not move."""
    with active_file(base_dir).open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_beside(base_dir: Path, *message_ids: str) -> None:
    """As processes write that look for duplicates at the same moment: neither sees what the other one writes."""
    for message_id in message_ids:
        entry = {"role": "user", "content": message_id, "sender": "on_ada", "message_id": message_id, "ts": 1, "rts": 1}
        with active_file(base_dir).open("ab") as file:
            file.write(b"\n" + json.dumps(entry, separators=(",", ":")).encode() + b"\n")


async def take(entries: AsyncIterator[Entry], count: int) -> list[Entry]:
    async with asyncio.timeout(PATIENCE):
        return [await anext(entries) for _ in range(count)]


@pytest.fixture
def cursor(make_store: MakeStore, base_dir: Path) -> str:
    """The place between the two copies of ``om_2``, of which the index knows nothing yet."""
    store = make_store()
    store.append(KEY, "user", "om_1", "on_ada", "om_1")
    with stuck(base_dir):
        write_beside(base_dir, "om_2")
        place = store.end(KEY)
        write_beside(base_dir, "om_3", "om_1", "om_2", "om_4")
    return place


@pytest.mark.parametrize("index", ["lags", "is complete", "is missing"])
async def test_a_place_between_two_copies_does_not_bring_the_second_one(
    make_store: MakeStore, base_dir: Path, cursor: str, index: str
) -> None:
    expected = ["om_3", "om_4"]
    if index == "is complete":
        make_store().append(KEY, "user", "om_5", "on_ada", "om_5")
        expected.append("om_5")
    elif index == "is missing":
        shutil.rmtree(base_dir / ".state")
    store = make_store()
    assert contents(store.read(KEY, cursor).entries) == expected
    assert contents(await take(store.follow(KEY, cursor), len(expected))) == expected


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("index", ["lags", "is missing"])
def test_copies_behind_a_lagging_index_are_on_one_page_only(
    make_store: MakeStore, base_dir: Path, cursor: str, index: str, limit: int
) -> None:
    if index == "is missing":
        shutil.rmtree(base_dir / ".state")
    ids = [f"om_{number}" for number in range(1, 5)]
    assert contents(drain(make_store(), KEY, limit=limit).entries) == ids
    write_beside(base_dir, *reversed(ids), "om_5")
    for store in (make_store(), make_store()):
        assert contents(drain(store, KEY, limit=limit).entries) == [*ids, "om_5"]
        assert contents(store.scan(KEY)) == [*ids, "om_5"]


async def test_a_follower_is_not_told_again_what_another_process_wrote_twice(
    make_store: MakeStore, base_dir: Path, cursor: str
) -> None:
    store = make_store()
    news = store.follow(KEY)  # from now on: it has seen neither copy itself
    waiting = asyncio.create_task(take(news, 1))
    await asyncio.sleep(0)
    with stuck(base_dir):
        write_beside(base_dir, "om_3", "om_1", "om_5")
    assert contents(await waiting) == ["om_5"]


async def test_what_was_purged_is_told_again_when_it_is_said_again(
    make_store: MakeStore, base_dir: Path, cursor: str
) -> None:
    store = make_store()
    store.purge(KEY, sender="on_ada")
    with stuck(base_dir):
        write_beside(base_dir, "om_2", "om_2", "om_6")
    assert contents(store.read(KEY, cursor).entries) == ["om_2", "om_6"]
    assert contents(await take(store.follow(KEY, cursor), 2)) == ["om_2", "om_6"]


def test_without_an_index_only_what_stands_near_is_looked_through(make_store: MakeStore, base_dir: Path) -> None:
    with make_store() as store:
        for number in range(200):
            store.append(KEY, "user", "text", "on_ada", f"om_{number}")
    shutil.rmtree(base_dir / ".state")
    segments = Segments(Layout(base_dir), stem_of(KEY))
    segment = segments.newest()
    assert segment is not None
    with segment:
        end = segment.end()
        assert len(IdPlaces(segments, 2000).of(segment, "om_199", end)) == 1
        assert IdPlaces(segments, 2000).of(segment, "om_3", end) == []
        everything = IdPlaces(segments)
        for number in reversed(range(200)):
            (offset,) = everything.of(segment, f"om_{number}", end)
            assert f'"om_{number}"'.encode() in line_at(segment.descriptor, offset)


def test_a_copy_that_its_locked_writer_adds_late_is_left_out(make_store: MakeStore, base_dir: Path) -> None:
    """It had looked for duplicates before it was stopped; its line follows without an empty one."""
    store = make_store()
    store.append(KEY, "user", "om_1", "on_ada", "om_1")
    write_beside(base_dir, "om_2")
    between = store.end(KEY)
    with active_file(base_dir).open("ab") as file:
        file.write(b'{"role":"user","content":"late","sender":"on_ada","message_id":"om_2","ts":1,"rts":1}\n')
    for _ in range(2):
        assert contents(make_store().read(KEY, between).entries) == []
        assert contents(drain(make_store(), KEY, limit=1).entries) == ["om_1", "om_2"]
