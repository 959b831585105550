"""Bots hear each other through the record."""

import asyncio
import json
import os
import stat
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.far_backend import FaultyFar
from support.waiting import PATIENCE, until

from nanobot_transcript import AsyncGroupTranscriptStore, GroupTranscriptStore
from nanobot_transcript.coordination.files.marks import FileMarks
from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.record.spool.backend import SpooledBackend
from nanobot_transcript.record.spool.limits import SpoolLimits
from nanobot_transcript.turns import LoopGuard, LoopLimits, Relay, RelaySettings

KEY = "feishu:oc_1"
BETA = AgentProfile("Beta", aliases=("小贝",), ids=frozenset({"cli_beta"}), account="cli_beta")


def now_ms() -> int:
    return int(time.time() * 1000)


async def bot(store: AsyncGroupTranscriptStore, number: int, agent: str = "Alpha", **fields: Any) -> None:
    key, content = fields.pop("key", KEY), fields.pop("content", f"Step {number} is done.")
    fields = {"sender_kind": "bot", "agent": agent, "hop": 1, "source": "send"} | fields
    await store.append(key, "assistant", content, agent, f"om_{number}", fields.pop("ts", now_ms()), **fields)


async def person(store: AsyncGroupTranscriptStore, number: int, content: str = "Go on") -> None:
    await store.append(KEY, "user", content, "on_ada", f"om_{number}", now_ms(), sender_kind="human")


def relay(store: AsyncGroupTranscriptStore, mode: Any = "all", **options: Any) -> Relay:
    settings = RelaySettings(mode, **{name: options.pop(name) for name in ("max_age",) if name in options})
    return Relay(store, BETA, settings, **options)


@asynccontextmanager
async def listening(relayed: Relay, key: str = KEY) -> AsyncIterator["asyncio.Queue[str]"]:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def listen() -> None:
        async with aclosing(relayed.entries(key)) as entries:
            async for entry in entries:
                heard.put_nowait(str(entry["message_id"]))

    task = asyncio.create_task(listen())
    try:
        async with asyncio.timeout(PATIENCE):
            yield heard
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_another_bots_words_are_handed_out(shared: AsyncGroupTranscriptStore) -> None:
    async with listening(relay(shared)) as heard:
        await person(shared, 1)
        await bot(shared, 2)
        assert await heard.get() == "om_2"


async def test_off_is_the_default_and_hands_out_nothing(shared: AsyncGroupTranscriptStore) -> None:
    await bot(shared, 1)
    assert [entry async for entry in Relay(shared, BETA).entries(KEY)] == []
    await Relay(shared, BETA).run(None)  # type: ignore[arg-type]


async def test_own_words_and_those_of_people_are_not_relayed(shared: AsyncGroupTranscriptStore) -> None:
    async with listening(relay(shared)) as heard:
        await bot(shared, 1, "Beta")
        await bot(shared, 2, "Renamed", ids={"app_id": "cli_beta"})
        await person(shared, 3)
        await bot(shared, 4)
        assert await heard.get() == "om_4"


async def test_mentions_hands_out_only_what_is_for_the_agent(shared: AsyncGroupTranscriptStore) -> None:
    async with listening(relay(shared, "mentions")) as heard:
        await bot(shared, 1)
        await bot(shared, 2, content="@Beta your turn")
        assert await heard.get() == "om_2"
        await person(shared, 3)
        await bot(shared, 4, "Beta")
        await bot(shared, 5, content="As you said", reply_to="om_4")
        assert await heard.get() == "om_5"
        await person(shared, 6)
        await bot(shared, 7, content="Number one", mentions=[{"name": "小贝", "id": "x"}])
        assert await heard.get() == "om_7"


async def test_the_loop_guard_is_asked_before(shared: AsyncGroupTranscriptStore) -> None:
    async with listening(relay(shared)) as heard:
        await person(shared, 1)
        await bot(shared, 2, hop=4)
        await bot(shared, 3, content="谢谢")
        await person(shared, 4)
        await bot(shared, 5, content="Now something else")
        assert await heard.get() == "om_5"


async def test_what_the_platform_pushed_is_not_relayed_again(shared: AsyncGroupTranscriptStore) -> None:
    async with listening(relay(shared, seen={"om_1", "om_2b"}.__contains__)) as heard:
        await bot(shared, 1)
        await bot(shared, 2, message_ids=["om_2", "om_2b"])
        await bot(shared, 3)
        assert await heard.get() == "om_3"


async def test_a_restart_repeats_nothing(shared: AsyncGroupTranscriptStore) -> None:
    async with listening(relay(shared)) as heard:
        await bot(shared, 1)
        assert await heard.get() == "om_1"
    await bot(shared, 2)
    async with listening(relay(shared)) as heard:
        assert await heard.get() == "om_2"


async def test_a_stop_in_the_middle_of_a_backlog_loses_and_repeats_nothing(shared: AsyncGroupTranscriptStore) -> None:
    for number in range(0, 20, 2):
        await person(shared, number)
        await bot(shared, number + 1)
    heard: list[str] = []
    while len(heard) < 10:
        async with asyncio.timeout(PATIENCE), aclosing(relay(shared).entries(KEY)) as entries:
            heard.append(str((await anext(entries))["message_id"]))
    assert heard == [f"om_{number}" for number in range(1, 20, 2)]


async def test_a_stop_in_the_middle_of_what_was_missed_repeats_nothing(shared: AsyncGroupTranscriptStore) -> None:
    async with listening(relay(shared)) as heard:
        await bot(shared, 1)
        assert await heard.get() == "om_1"
    for number in (2, 3, 4):
        await bot(shared, number)
    missed: list[str] = []
    for _ in range(3):
        async with asyncio.timeout(PATIENCE), aclosing(relay(shared).entries(KEY)) as entries:
            missed.append(str((await anext(entries))["message_id"]))
    assert missed == ["om_2", "om_3", "om_4"]


async def test_what_is_being_handed_over_is_still_waited_for(shared: AsyncGroupTranscriptStore) -> None:
    await bot(shared, 1)
    await bot(shared, 2)
    marks = FileMarks(shared.base_dir)
    async with asyncio.timeout(PATIENCE), aclosing(relay(shared, marks=marks).entries(KEY)) as entries:
        for left in (["om_1", "om_2"], ["om_2"]):
            assert (await anext(entries))["message_id"] == left[0]
            assert (marks.get("relay", BETA.name, KEY) or {})["waiting"] == left


async def test_a_recent_message_without_an_id_is_handed_out_at_the_start(shared: AsyncGroupTranscriptStore) -> None:
    said: Any = {"sender_kind": "bot", "ids": {"app_id": "cli_alpha"}}
    await shared.append(KEY, "assistant", "This has no id.", "Alpha", **said)
    async with asyncio.timeout(PATIENCE), aclosing(relay(shared).entries(KEY)) as entries:
        assert (await anext(entries))["content"] == "This has no id."
    await bot(shared, 1)
    async with asyncio.timeout(PATIENCE), aclosing(relay(shared).entries(KEY)) as entries:
        assert (await anext(entries))["message_id"] == "om_1"


async def test_a_card_that_is_done_after_a_kill_makes_no_page_come_twice(shared: AsyncGroupTranscriptStore) -> None:
    await bot(shared, 999)
    cursor = (await shared.recent(KEY)).cursor
    for number in range(100):
        await bot(shared, number, content=f"Step {number} is done, and {number}.")
    killed = {"cursor": cursor, "waiting": ["om_999"], "handed": [f"om_{number}" for number in range(100)]}
    FileMarks(shared.base_dir).put("relay", killed, BETA.name, KEY)
    async with listening(relay(shared, guard=LoopGuard(LoopLimits(hops=1000)))) as heard:
        assert await heard.get() == "om_999"
        await bot(shared, 100)
        assert await heard.get() == "om_100"


async def test_what_is_old_at_the_start_is_left_out(shared: AsyncGroupTranscriptStore) -> None:
    await bot(shared, 1, ts=now_ms() - 400_000)
    await bot(shared, 2, ts=now_ms() - 200_000)
    async with listening(relay(shared)) as heard:
        assert await heard.get() == "om_2"


@pytest.mark.parametrize("minutes", [-4, 12])
async def test_a_clock_that_is_minutes_wrong_makes_nothing_old_and_nothing_fresh_for_ever(
    shared: AsyncGroupTranscriptStore, minutes: int
) -> None:
    def said(ago: float) -> dict[str, Any]:
        """By the platform's clock, from which this machine's differs by so many minutes."""
        return {"ts": now_ms() - ago * 1000 - minutes * 60_000, "source": "event"}

    for number, ago in enumerate((400, 390, 200, 1, 0)):
        await bot(shared, number, **said(ago))
    async with listening(relay(shared)) as heard:
        assert [await heard.get() for _ in range(3)] == ["om_2", "om_3", "om_4"]
        await bot(shared, 5, **said(350))
        await bot(shared, 6, **said(0))
        assert await heard.get() == "om_6"


async def test_what_became_old_while_the_agent_was_away_is_left_out(shared: AsyncGroupTranscriptStore) -> None:
    async with listening(relay(shared)) as heard:
        await bot(shared, 1)
        assert await heard.get() == "om_1"
    await bot(shared, 2)
    later = relay(shared, clock=lambda: time.time() + 1000)
    async with listening(later) as heard:
        await bot(shared, 3, ts=now_ms() + 1_000_000)
        assert await heard.get() == "om_3"


async def test_a_mention_of_a_bot_with_a_longer_name_is_not_for_the_agent(shared: AsyncGroupTranscriptStore) -> None:
    longer = AgentProfile("Beta二号", aliases=("小贝二号",))
    async with listening(relay(shared, "mentions", members=lambda key: [BETA, longer] if key == KEY else [])) as heard:
        await bot(shared, 1, content="@小贝二号 please look at step two")
        await bot(shared, 2, content="@Beta二号 please look at step three")
        await bot(shared, 3, content="@小贝 please look at step four")
        assert await heard.get() == "om_3"


async def test_a_card_that_is_being_written_is_handed_out_when_it_is_done(shared: AsyncGroupTranscriptStore) -> None:
    def readable(entry: Entry) -> bool:
        return entry["content"] != "[card]"

    async with listening(relay(shared, readable=readable)) as heard:
        await bot(shared, 1, content="[card]", source="peer_event")
        await bot(shared, 2, content="Something else")
        assert await heard.get() == "om_2"
        await person(shared, 3)
        await shared.edit(KEY, "om_1", "The whole text", "Alpha", agent="Alpha", source="stream")
        assert await heard.get() == "om_1"
    async with listening(relay(shared, readable=readable)) as heard:
        await bot(shared, 4, content="Later")
        assert await heard.get() == "om_4"


async def test_a_recalled_message_is_not_relayed(shared: AsyncGroupTranscriptStore) -> None:
    await bot(shared, 1)
    await shared.recall(KEY, "om_1")
    await bot(shared, 2)
    async with listening(relay(shared)) as heard:
        assert await heard.get() == "om_2"


async def test_agents_remember_their_place_apart(shared: AsyncGroupTranscriptStore) -> None:
    await bot(shared, 1)
    async with listening(relay(shared)) as heard:
        assert await heard.get() == "om_1"
    gamma = Relay(shared, AgentProfile("Gamma"), RelaySettings("all"))
    async with listening(gamma) as heard:
        assert await heard.get() == "om_1"


async def test_all_chats_are_followed_also_later_ones(shared: AsyncGroupTranscriptStore) -> None:
    heard: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    async def take(key: str, entry: Entry) -> None:
        heard.put_nowait((key, str(entry["message_id"])))

    await bot(shared, 1)
    task = asyncio.create_task(relay(shared).run(take))
    async with asyncio.timeout(PATIENCE):
        assert await heard.get() == (KEY, "om_1")
        await bot(shared, 2, key="feishu:oc_later")
        assert await heard.get() == ("feishu:oc_later", "om_2")
        await bot(shared, 3, key="feishu:oc_later", agent="Delta")
        assert await heard.get() == ("feishu:oc_later", "om_3")
    task.cancel()
    await asyncio.wait({task})


async def test_a_chat_may_begin_after_the_relay(shared: AsyncGroupTranscriptStore) -> None:
    async with listening(relay(shared), "feishu:oc_new") as heard:
        await bot(shared, 1, key="feishu:oc_new")
        assert await heard.get() == "om_1"


async def saved(shared: AsyncGroupTranscriptStore) -> None:
    """Wait until the place of a relay that has handed over everything is on disk: its thread outlives its task."""
    end = (await shared.recent(KEY)).cursor
    marks = FileMarks(shared.base_dir)
    await until(lambda: (marks.get("relay", BETA.name, KEY) or {}).items() >= {"cursor": end, "waiting": []}.items())


def place_files(base_dir: Path) -> list[Path]:
    return list((base_dir / ".state" / "cursors").glob("relay-*.json"))


@pytest.mark.parametrize("body", [b"garbage", b'{"v": 1, "cursor": "c1.nonsense.0.0"}', b'{"v": 1, "cursor": 7}'])
async def test_a_damaged_place_begins_with_what_is_recent(
    shared: AsyncGroupTranscriptStore, base_dir: Path, body: bytes
) -> None:
    async with listening(relay(shared)) as heard:
        await bot(shared, 1)
        assert await heard.get() == "om_1"
        await saved(shared)
    for path in place_files(base_dir):
        path.write_bytes(body)
    async with listening(relay(shared)) as heard:
        assert await heard.get() == "om_1"


async def test_a_newer_place_is_left_untouched(shared: AsyncGroupTranscriptStore, base_dir: Path) -> None:
    async with listening(relay(shared)) as heard:
        await bot(shared, 1)
        await heard.get()
        await saved(shared)
    (path,) = place_files(base_dir)
    path.write_text('{"v": 99}')
    async with listening(relay(shared)) as heard:
        assert await heard.get() == "om_1"
    assert json.loads(path.read_text()) == {"v": 99}


async def test_the_place_is_private(shared: AsyncGroupTranscriptStore, base_dir: Path) -> None:
    old = os.umask(0)
    try:
        async with listening(relay(shared)) as heard:
            await bot(shared, 1)
            await heard.get()
    finally:
        os.umask(old)
    assert [stat.S_IMODE(path.stat().st_mode) for path in place_files(base_dir)] == [0o600]


async def test_what_is_shown_before_the_record_has_it_is_handed_out_once(tmp_path: Path) -> None:
    far = FaultyFar(tmp_path / "far")
    spooled = SpooledBackend(far, tmp_path / "spool", limits=SpoolLimits(read_seconds=0.0), pause=lambda failures: 0.01)
    async with AsyncGroupTranscriptStore.over(GroupTranscriptStore(tmp_path / "far", backend=spooled)) as store:
        far.deaf = True
        await bot(store, 1)
        async with listening(relay(store)) as heard:
            assert await heard.get() == "om_1"
            far.deaf = False
            await bot(store, 2)
            assert await heard.get() == "om_2"
            await bot(store, 3)
            assert await heard.get() == "om_3"


async def test_a_record_that_goes_away_ends_no_relay(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    far = FaultyFar(tmp_path / "far")
    async with AsyncGroupTranscriptStore.over(GroupTranscriptStore(tmp_path / "far", backend=far)) as store:
        heard: asyncio.Queue[str | None] = asyncio.Queue()

        async def take(session_key: str, entry: Entry) -> None:
            heard.put_nowait(entry["message_id"])

        far.down = True
        running = asyncio.create_task(relay(store).run(take))
        await until(lambda: "Beta cannot hear other bots" in caplog.text)
        far.down = False
        async with asyncio.timeout(PATIENCE):
            await bot(store, 1)
            assert await heard.get() == "om_1"
            far.down = True
            await bot(store, 2)
            far.down = False
            assert await heard.get() == "om_2"
        running.cancel()
        await asyncio.wait({running})
