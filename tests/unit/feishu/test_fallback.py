"""The history as the store's fallback."""

import asyncio
import logging
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from support.leases import FOR_EVER
from support.waiting import PATIENCE

from nanobot_transcript import AsyncGroupTranscriptStore, GroupTranscriptStore
from nanobot_transcript.coordination.contract import Grant
from nanobot_transcript.coordination.files.call_budget import FileBudget
from nanobot_transcript.coordination.files.lease import FileLease
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import CallBudgetError, QuotaExhaustedError
from transcript_channels.feishu.client import FeishuClient
from transcript_channels.feishu.fallback import FallbackOptions, HistoryFallback
from transcript_channels.feishu.history import FeishuHistory

LIST = "GET /open-apis/im/v1/messages"
START = 1_700_000_000_000

RESTING = FallbackOptions(rest=FOR_EVER, look=0.01)

Make = Callable[..., HistoryFallback]


@pytest.fixture
async def make(team, tmp_path: Path) -> AsyncIterator[Make]:
    """``make(app)``: the fallback of one more process."""
    async with AsyncExitStack() as stack:

        def fallback(*apps, options: FallbackOptions | None = None, began: float | None = None) -> HistoryFallback:
            clients = [FeishuClient(app.app_id, app.app_secret, team.feishu.base_url) for app in apps]
            for client in clients:
                stack.push_async_callback(client.close)
            histories = [FeishuHistory(client) for client in clients]
            lease, budget = FileLease(tmp_path, wait=PATIENCE), FileBudget(tmp_path, wait=PATIENCE)
            chosen = options or FallbackOptions(rest=0.3, look=0.01)
            return HistoryFallback(
                histories, lease, budget, f"{apps[0].name}#{id(clients)}", options=chosen, began=began
            )

        yield fallback


@pytest.fixture
def key(team) -> str:
    return f"feishu:{team.group.chat_id}"


async def say_many(team, count: int, start: int = 0) -> None:
    for number in range(start, start + count):
        await team.feishu.say(team.group, team.ada, f"m{number}", at_ms=START + number * 1000)


async def asked(fallback: HistoryFallback, key: str, since_ms: float | None, limit: int) -> Sequence[Entry]:
    """What it answers with, for one that has nothing to write down."""
    async with fallback(key, since_ms, limit) as entries:
        return entries


def listings(team) -> int:
    return len(team.feishu.calls_to(LIST))


async def test_a_gap_is_filled_once_for_all_processes(team, make, key, tmp_path) -> None:
    await say_many(team, 210)
    known = GroupTranscriptStore(tmp_path)
    known.append(key, "user", "m0", "on_x", team.feishu.messages(team.group)[0].message_id, START)
    apps = (team.alpha, team.beta, team.alpha)
    stores = [AsyncGroupTranscriptStore(tmp_path, fallback=make(app, options=RESTING)) for app in apps]

    async def filled(store: AsyncGroupTranscriptStore) -> list[Entry]:
        assert store.gaps is not None
        store.gaps.patience = PATIENCE
        return (await store.recent(key, 500)).entries

    for entries in await asyncio.gather(*map(filled, stores)):
        assert [entry["content"] for entry in entries] == [f"m{number}" for number in range(210)]
    assert listings(team) == 5
    assert len({call.app for call in team.feishu.calls_to(LIST)}) == 1
    for store in stores:
        await store.close()


async def test_a_chat_nothing_is_known_of_begins_with_its_newest_messages(team, make, key) -> None:
    await say_many(team, 120)
    entries = await asked(make(team.alpha), key, None, 1000)
    assert (len(entries), entries[0]["content"], listings(team)) == (100, "m119", 2)


async def test_what_was_missed_again_is_asked_for_again(team, make, key) -> None:
    fallback = make(team.alpha)
    await say_many(team, 2)
    assert len(await asked(fallback, key, None, 1000)) == 2
    await say_many(team, 1, start=2)
    assert len(await asked(fallback, key, None, 1000)) == 3
    assert listings(team) == 2


async def test_the_first_words_of_a_new_chat_are_not_asked_for_by_every_process(team, make, key) -> None:
    began = time.time()
    said = await team.feishu.say(team.group, team.ada, "hello, all of you")
    assert len(await asked(make(team.alpha, options=RESTING), key, None, 50)) == 1
    assert await asked(make(team.beta, options=RESTING, began=began), key, said.created_ms, 50) == []
    assert listings(team) == 1


async def test_who_does_not_ask_waits_until_what_was_fetched_is_written_down(team, make, key) -> None:
    await say_many(team, 1)
    async with make(team.alpha, options=RESTING)(key, None, 50) as entries:
        assert len(entries) == 1
        other = asyncio.create_task(asked(make(team.beta, options=RESTING, began=0.0), key, None, 50))
        assert not (await asyncio.wait({other}, timeout=0.2))[0]
    assert await other == []
    assert listings(team) == 1


async def test_what_was_fetched_and_not_written_down_is_asked_for_by_another(team, make, key) -> None:
    await say_many(team, 1)
    with pytest.raises(OSError, match="disk"):
        async with make(team.alpha, options=RESTING)(key, None, 50):
            raise OSError("the disk is full")
    assert len(await asked(make(team.beta, options=RESTING, began=0.0), key, None, 50)) == 1


async def test_a_process_that_follows_one_that_asked_and_ended_asks_again(team, make, key) -> None:
    options = FallbackOptions(rest=0.5, look=0.01)
    await say_many(team, 1)
    assert len(await asked(make(team.alpha, options=options), key, None, 50)) == 1
    await say_many(team, 1, start=1)
    assert len(await asked(make(team.beta, options=options), key, START, 50)) == 2
    assert listings(team) == 2


async def test_what_was_said_after_another_process_asked_is_asked_for_again(team, make, key) -> None:
    began = time.time()
    assert await asked(make(team.alpha), key, None, 50) == []
    said = await team.feishu.say(team.group, team.ada, "hello", at_ms=time.time() * 1000 + 5)
    assert len(await asked(make(team.beta, began=began), key, said.created_ms, 50)) == 1
    assert listings(team) == 2


class OtherClock:
    """Leases whose times are ``ahead`` (seconds) of the clock here; those that tell of a rest by ``more`` than that,
    and only when they are looked at for the first time.
    """

    blocking = True

    def __init__(self, leases: FileLease, ahead: float, more: float = 0.0) -> None:
        self._leases, self._ahead, self._more = leases, ahead, more
        self.looks: int = 0

    def acquire(self, name: str, holder: str, ttl: float) -> Grant | None:
        return self._shown(self._leases.acquire(name, holder, ttl), self._ahead)

    def renew(self, grant: Grant, ttl: float) -> Grant | None:
        return self._shown(self._leases.renew(grant, ttl), self._ahead)

    def release(self, grant: Grant) -> None:
        self._leases.release(grant)

    def current(self, name: str) -> Grant | None:
        self.looks += 1
        if self._more and self.looks > 1:
            return None
        return self._shown(self._leases.current(name), self._ahead + self._more)

    def _shown(self, grant: Grant | None, ahead: float) -> Grant | None:
        return replace(grant, expires_at=grant.expires_at + ahead) if grant is not None else None


@pytest.mark.parametrize(
    ("ahead", "more", "calls"), [(0, 0, 1), (-3600, 0, 1), (3600, 0, 1), (0, 3600, 2), (0, -3600, 2)]
)
async def test_what_was_fetched_a_moment_ago_is_known_by_the_clock_of_the_leases(
    team, make, key, monkeypatch, tmp_path, ahead: float, more: float, calls: int
) -> None:
    """Times of two clocks tell nothing: then one asks."""
    options = FallbackOptions(rest=60, look=0.01, wait=0.5)
    await say_many(team, 1)
    assert len(await asked(make(team.alpha, options=options), key, None, 50)) == 1
    leases = OtherClock(FileLease(tmp_path, wait=PATIENCE), ahead, more)
    monkeypatch.setattr(sys.modules[__name__], "FileLease", lambda *at, **how: leases)
    found = await asked(make(team.beta, options=options, began=0.0), key, START, 50)
    assert (len(found), listings(team), leases.looks) == (calls - 1, calls, calls)


async def test_an_answer_lost_before_it_was_recorded_is_brought_by_the_history(team, make, key, tmp_path) -> None:
    sent = await team.feishu.say(team.group, team.alpha, "the answer")
    async with AsyncGroupTranscriptStore(tmp_path, fallback=make(team.beta)) as store:
        (entry,) = (await store.recent(key)).entries
    assert (entry["message_id"], entry["role"], entry.get("source")) == (sent.message_id, "assistant", "history")


async def test_a_missing_scope_switches_it_off_with_one_line_that_names_it(team, make, key, caplog) -> None:
    caplog.set_level(logging.WARNING)
    team.alpha.revoke("im:message.group_msg")
    fallback = make(team.alpha)
    for _ in range(3):
        assert await asked(fallback, key, None, 50) == []
    assert listings(team) == 1
    (record,) = caplog.records
    assert "im:message.group_msg" in record.getMessage()
    assert "/auth?q=" in record.getMessage()


async def test_a_process_whose_app_may_not_leaves_it_to_one_whose_app_may(team, make, key) -> None:
    team.alpha.revoke("im:message.group_msg")
    await say_many(team, 1)
    assert await asked(make(team.alpha), key, None, 50) == []
    assert len(await asked(make(team.beta), key, None, 50)) == 1


async def test_the_app_that_sits_in_the_chat_and_may_is_asked(team, make, key) -> None:
    outside = team.feishu.add_app("Outside")
    mute = team.feishu.add_app("Mute", scopes=["im:message"])
    team.feishu.join(team.group, mute)
    await say_many(team, 1)
    assert len(await asked(make(outside, mute, team.alpha), key, None, 50)) == 1
    assert await asked(make(outside), key, None, 50) == []


async def test_an_app_whose_secret_is_refused_leaves_it_to_the_others(team, make, key, caplog) -> None:
    caplog.set_level(logging.WARNING)
    await say_many(team, 1)
    strange = team.feishu.add_app("Strange")
    fallback = make(strange, team.alpha)
    strange.app_secret = "changed since"
    assert len(await asked(fallback, key, None, 50)) == 1
    (record,) = caplog.records
    assert "secret" in record.getMessage()


async def test_all_bots_share_one_budget_of_calls(team, make, key) -> None:
    await say_many(team, 120)
    options = FallbackOptions(calls_per_hour=3, rest=0.3, look=0.01)
    first, second = make(team.alpha, options=options), make(team.beta, options=options)
    assert len(await asked(first, key, None, 1000)) == 100
    now = team.feishu.messages(team.group)[-1].created_ms
    other = team.feishu.add_group("Other", [team.ada, team.beta])
    await team.feishu.say(other, team.ada, "there")
    assert len(await asked(second, f"feishu:{other.chat_id}", None, 1000)) == 1
    with pytest.raises(CallBudgetError):
        await asked(first, key, now, 1000)
    assert listings(team) == 3


async def test_a_failure_leaves_the_turn_to_others(team, make, key) -> None:
    await say_many(team, 1)
    team.feishu.quota = 0
    with pytest.raises(QuotaExhaustedError):
        await asked(make(team.alpha), key, None, 50)
    team.feishu.quota = None
    assert len(await asked(make(team.beta), key, None, 50)) == 1


@pytest.mark.parametrize("other", ["slack:oc_1", "feishu:ou_1", "oc_1", "feishu:", ""])
async def test_other_chats_are_not_asked_for(team, make, other: str) -> None:
    assert await asked(make(team.alpha), other, None, 50) == []
    assert team.feishu.calls == []


async def test_a_fetch_that_is_given_up_leaves_the_turn_to_others(team, make, key) -> None:
    await say_many(team, 1)
    team.feishu.fail(LIST, delay=FOR_EVER)
    asking = asyncio.create_task(asked(make(team.alpha), key, None, 50))
    await team.feishu.wait_for(lambda: listings(team))
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert len(await asked(make(team.beta), key, None, 50)) == 1
