"""What no process has heard is taken in from the platform's history, once."""

import asyncio
import gc
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.far_backend import FaultyFar
from support.transcripts import active_file
from support.waiting import PATIENCE, until

from nanobot_transcript import AsyncGroupTranscriptStore, GroupTranscriptStore, TranscriptError
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import StoreUnavailableError
from nanobot_transcript.record.spool.backend import SpooledBackend
from nanobot_transcript.store.gaps import GapFiller

KEY = "feishu:oc_a"
THEN = 1_700_000_000_000


def entry(number: int, content: str = "", **fields: Any) -> Entry:
    """A message of the platform's history, one second after the one before."""
    line: Any = {"role": "user", "content": content or f"text {number}", "sender": "on_ada"}
    return line | {"message_id": f"om_{number}", "ts": THEN + number * 1000} | fields


class Platform:
    """Knows every message of a chat and counts how often it is asked."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = list(entries)
        self.asked: list[tuple[str, float | None]] = []
        self.answer: Callable[[], object] | None = None
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    @asynccontextmanager
    async def __call__(self, session_key: str, since_ms: float | None, limit: int) -> AsyncIterator[list[Entry]]:
        self.asked.append((session_key, since_ms))
        await self.may_answer.wait()
        newest = sorted(self.entries, key=lambda one: one["ts"], reverse=True)
        yield [one for one in newest if since_ms is None or one["ts"] >= since_ms][:limit]


def record(store: GroupTranscriptStore, *numbers: int) -> None:
    for number in numbers:
        store.append(KEY, "user", f"text {number}", "on_ada", f"om_{number}", THEN + number * 1000)


def texts(entries: Sequence[Any]) -> list[str]:
    return [one["content"] for one in entries]


async def test_an_empty_chat_is_filled_before_it_is_read(tmp_path: Path) -> None:
    platform = Platform([entry(number) for number in range(30)])
    async with AsyncGroupTranscriptStore(tmp_path, fallback=platform) as store:
        page = await store.recent(KEY, 5)
        assert texts(page.entries) == [f"text {number}" for number in range(25, 30)]
        assert {one.get("source") for one in page.entries} == {"history"}
        await store.get_recent(KEY)
    assert platform.asked == [(KEY, None)]


async def test_a_gap_is_filled_behind_newer_messages_and_shown_in_order(tmp_path: Path) -> None:
    record(GroupTranscriptStore(tmp_path), 0, 1)
    platform = Platform([entry(number) for number in range(300)])
    async with AsyncGroupTranscriptStore(tmp_path, fallback=platform) as store:
        for number in range(295, 300):
            await store.append(KEY, "user", f"text {number}", "on_ada", f"om_{number}", THEN + number * 1000)
        assert texts(await store.get_recent(KEY, 20)) == [f"text {number}" for number in range(280, 300)]
        assert sorted(texts([one async for one in store.scan(KEY)])) == sorted(f"text {n}" for n in range(300))
        record(store.sync, 300)
        assert texts(store.sync.get_recent(KEY, 2)) == ["text 299", "text 300"]
    assert texts(GroupTranscriptStore(tmp_path).get_recent(KEY, 10)) == [f"text {n}" for n in range(291, 301)]
    assert platform.asked == [(KEY, THEN)]


async def test_the_plain_read_answers_at_once_and_starts_the_filling(tmp_path: Path) -> None:
    record(GroupTranscriptStore(tmp_path), 0)
    platform = Platform([entry(0), entry(1)])
    platform.may_answer.clear()
    async with AsyncGroupTranscriptStore(tmp_path, fallback=platform) as store:
        assert texts(store.sync.get_recent(KEY)) == ["text 0"]
        platform.may_answer.set()
        assert texts(await store.get_recent(KEY)) == ["text 0", "text 1"]


async def test_a_reconnect_is_another_reason_to_ask(tmp_path: Path) -> None:
    platform = Platform([entry(0)])
    async with AsyncGroupTranscriptStore(tmp_path, fallback=platform) as store:
        await store.recent(KEY)
        platform.entries += [entry(1), entry(2)]
        store.missed(KEY, THEN)
        assert texts((await store.recent(KEY)).entries) == ["text 0", "text 1", "text 2"]
    assert platform.asked == [(KEY, None), (KEY, THEN)]


async def test_recalls_and_edits_of_the_history_are_taken_over(tmp_path: Path) -> None:
    plain = GroupTranscriptStore(tmp_path)
    record(plain, 0, 1)
    plain.append(KEY, "assistant", "**mine**", "Alpha", "om_2", THEN + 2000, agent="Alpha", source="send")
    gone: Any = entry(9) | {"message_id": None, "op": "recall", "target": "om_0"}
    changed, card = entry(1, "new words", edited=True), entry(2, "mine, as a card", edited=True)
    async with AsyncGroupTranscriptStore(tmp_path, fallback=Platform([gone, changed, card])) as store:
        assert texts((await store.recent(KEY)).entries) == ["new words", "**mine**"]


async def test_what_a_spool_accepts_is_not_taken_for_missing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It accepts what is on record already: whether an edit is to be taken over does not hang on its answer."""
    far = FaultyFar(tmp_path / "far")
    record(GroupTranscriptStore(backend=far), 0, 1)
    spooled = GroupTranscriptStore(backend=SpooledBackend(far, tmp_path / "spool"))
    asked = Platform([entry(0), entry(1, "new words", edited=True), entry(2)])
    with caplog.at_level(logging.INFO):
        async with AsyncGroupTranscriptStore.over(spooled, fallback=asked) as store:
            assert texts((await store.recent(KEY)).entries) == ["text 0", "new words", "text 2"]
            assert sum(map(len, far.batches)) == 2
    assert "recorded 2 missing messages" in caplog.text


async def test_a_platform_that_refuses_leaves_what_is_on_disk(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    record(GroupTranscriptStore(tmp_path), 0)

    @asynccontextmanager
    async def refuse(session_key: str, since_ms: float | None, limit: int) -> AsyncIterator[list[Entry]]:
        raise TranscriptError("The app lacks im:message.group_msg.", hint="Grant it.")
        yield []

    with caplog.at_level(logging.WARNING):
        async with AsyncGroupTranscriptStore(tmp_path, fallback=refuse) as store:
            assert texts((await store.recent(KEY)).entries) == ["text 0"]
    assert "im:message.group_msg" in caplog.text


async def test_a_platform_that_does_not_answer_holds_up_one_read_and_only_for_a_moment(tmp_path: Path) -> None:
    record(GroupTranscriptStore(tmp_path), 0)
    platform = Platform([entry(0), entry(1)])
    platform.may_answer.clear()
    async with asyncio.timeout(30), AsyncGroupTranscriptStore(tmp_path, fallback=platform) as store:
        assert store.gaps is not None
        store.gaps.patience = 0.01
        assert texts(await store.get_recent(KEY)) == ["text 0"]
        store.gaps.patience = 3600.0
        assert texts(await store.get_recent(KEY)) == ["text 0"]


async def test_closing_gives_up_a_platform_that_does_not_answer(tmp_path: Path) -> None:
    platform = Platform([])
    platform.may_answer.clear()
    store = AsyncGroupTranscriptStore(tmp_path, fallback=platform)
    await store.append(KEY, "user", "text", "on_ada", "om_0")
    await asyncio.wait_for(store.close(), PATIENCE)
    assert texts(store.sync.get_recent(KEY)) == ["text"]


async def test_what_is_missed_during_a_filling_is_asked_for_after_it(tmp_path: Path) -> None:
    platform = Platform([entry(0)])
    platform.may_answer.clear()
    async with AsyncGroupTranscriptStore(tmp_path, fallback=platform) as store:
        store.missed(KEY)
        store.missed(KEY, THEN)
        await asyncio.sleep(0)
        platform.may_answer.set()
        await store.recent(KEY)
        await store.recent(KEY)
    assert platform.asked == [(KEY, None), (KEY, THEN)]


async def test_what_was_purged_does_not_come_back_from_the_history(tmp_path: Path) -> None:
    plain = GroupTranscriptStore(tmp_path)
    record(plain, 0, 1)
    plain.append(KEY, "user", "of Bo", "on_bo", "om_2", THEN + 2000)
    platform = Platform([entry(0), entry(1), entry(2, "of Bo", sender="on_bo")])
    plain.purge(KEY, sender="on_bo")
    async with AsyncGroupTranscriptStore(tmp_path, fallback=platform) as store:
        assert texts((await store.recent(KEY)).entries) == ["text 0", "text 1"]
    plain.purge(KEY)
    async with AsyncGroupTranscriptStore(tmp_path, fallback=platform) as store:
        assert (await store.recent(KEY)).entries == []


@pytest.mark.parametrize("ahead", [0, 1, 180_000])
def test_what_was_purged_does_not_come_back_when_the_platforms_clock_is_ahead(tmp_path: Path, ahead: int) -> None:
    plain = GroupTranscriptStore(tmp_path)
    record(plain, 0)
    plain.purge(KEY)
    said = plain.backend.purged_at(KEY) + ahead
    filler = GapFiller(plain, Platform([]))
    assert filler._take_in(KEY, [entry(7, ts=said)]) == 0
    assert plain.get_recent(KEY) == []


async def test_of_several_times_missed_during_a_filling_the_earliest_counts(tmp_path: Path) -> None:
    platform = Platform([entry(0)])
    platform.may_answer.clear()
    async with AsyncGroupTranscriptStore(tmp_path, fallback=platform) as store:
        store.missed(KEY, THEN + 1000)
        store.missed(KEY, THEN)
        store.missed(KEY, THEN + 900)
        store.missed(KEY)
        await asyncio.sleep(0)
        platform.may_answer.set()
        await store.recent(KEY)
        await store.recent(KEY)
    assert platform.asked == [(KEY, THEN + 1000), (KEY, THEN)]


@pytest.mark.parametrize("ts", [float("nan"), float("inf"), "3", None, True])
async def test_an_entry_without_a_sensible_time_does_not_keep_the_others_out(tmp_path: Path, ts: Any) -> None:
    @asynccontextmanager
    async def unordered(session_key: str, since_ms: float | None, limit: int) -> AsyncIterator[list[Entry]]:
        yield [entry(0), entry(1, ts=ts), entry(2)]

    async with AsyncGroupTranscriptStore(tmp_path, fallback=unordered) as store:
        assert texts((await store.recent(KEY)).entries) == ["text 0", "text 2"]


async def test_a_fallback_that_breaks_down_is_asked_again_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    @asynccontextmanager
    async def breaks(session_key: str, since_ms: float | None, limit: int) -> AsyncIterator[list[Entry]]:
        asked.append(session_key)
        if len(asked) == 1:
            raise ValueError("unexpected")
        yield [entry(0)]

    loop, real = asyncio.get_running_loop(), asyncio.get_running_loop().time
    async with AsyncGroupTranscriptStore(tmp_path, fallback=breaks) as store:
        assert (await store.recent(KEY)).entries == []
        assert (await store.recent(KEY)).entries == []
        assert len(asked) == 1
        monkeypatch.setattr(loop, "time", lambda: real() + 61)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert texts((await store.recent(KEY)).entries) == ["text 0"]


async def test_what_is_no_message_at_all_does_not_keep_the_others_out(tmp_path: Path) -> None:
    nothing: Any = {"ts": THEN}
    async with AsyncGroupTranscriptStore(tmp_path, fallback=Platform([nothing, entry(1)])) as store:
        assert texts((await store.recent(KEY)).entries) == ["text 1"]


async def test_what_is_said_since_we_listen_is_left_to_the_platform_to_push(tmp_path: Path) -> None:
    soon = time.time() * 1000 + 60_000
    platform = Platform([entry(0), entry(1, ts=soon)])
    async with AsyncGroupTranscriptStore(tmp_path, fallback=platform) as store:
        assert texts((await store.recent(KEY)).entries) == ["text 0"]
        await store.append(KEY, "user", "pushed", "on_bo", "om_9", soon - 1)
        assert texts((await store.recent(KEY)).entries) == ["text 0", "pushed"]


async def test_a_record_that_is_away_when_the_newest_are_filled_in_is_said_and_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("nanobot_transcript.store.gaps._LIVE_FIRST", 0)
    soon, recorded = time.time() * 1000 + 60_000, GapFiller._record

    async def record(self: GapFiller, session_key: str, entries: Sequence[Entry]) -> None:
        if entries[0]["ts"] == soon:
            raise StoreUnavailableError("The record is away.", hint="Wait.")
        await recorded(self, session_key, entries)

    monkeypatch.setattr(GapFiller, "_record", record)
    async with AsyncGroupTranscriptStore(tmp_path, fallback=Platform([entry(0), entry(1, ts=soon)])) as store:
        assert texts((await store.recent(KEY)).entries) == ["text 0"]
        await until(lambda: "The record is away. Wait." in caplog.text)
    gc.collect()
    assert "never retrieved" not in caplog.text


async def test_an_entry_that_cannot_be_recorded_does_not_keep_the_others_out(tmp_path: Path) -> None:
    platform = Platform([entry(0), entry(1, role=""), entry(2)])
    async with AsyncGroupTranscriptStore(tmp_path, fallback=platform) as store:
        assert texts((await store.recent(KEY)).entries) == ["text 0", "text 2"]


async def test_a_line_without_a_time_does_not_ask_for_the_whole_history(tmp_path: Path) -> None:
    plain = GroupTranscriptStore(tmp_path)
    record(plain, 5)
    with active_file(tmp_path).open("ab") as file:
        file.write(b'{"role":"user","content":"foreign","sender":"x"}\n')
    platform = Platform([])
    async with AsyncGroupTranscriptStore(tmp_path, fallback=platform) as store:
        await store.recent(KEY)
    assert platform.asked == [(KEY, THEN + 5000)]
