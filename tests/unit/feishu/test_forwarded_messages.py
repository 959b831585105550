"""What is inside of a bundle of forwarded messages comes into the record once, whoever asks."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.leases import FOR_EVER
from support.waiting import PATIENCE, until

from nanobot_transcript import AsyncGroupTranscriptStore
from nanobot_transcript.coordination.contract import Budget
from nanobot_transcript.coordination.files.call_budget import FileBudget
from nanobot_transcript.coordination.files.lease import FileLease
from nanobot_transcript.entry import Entry
from transcript_channels.feishu.client import FeishuClient
from transcript_channels.feishu.content import text_of
from transcript_channels.feishu.forwarded_messages import STUB, Bundles, unbundled

GET = "GET /open-apis/im/v1/messages/{message_id}"
INSIDE = "[forwarded messages]\n> Ada: one\n> Bo: two"


@dataclass
class Process:
    """What one more process has."""

    bundles: Bundles
    client: FeishuClient

    async def fill(self, key: str, message_id: str) -> None:
        """As one that has heard of the message."""
        await self.bundles.fill(self.client, key, message_id)


Make = Callable[..., Process]


class HeldBudget:
    """A budget that grants a call when the test says so."""

    blocking = True

    def __init__(self) -> None:
        self.asked, self.granted = threading.Event(), threading.Event()

    def take(self, name: str, cost: int = 1, *, limit: int, window: float) -> bool:
        self.asked.set()
        return self.granted.wait(PATIENCE)


@pytest.fixture
async def make(team, tmp_path: Path) -> AsyncIterator[Make]:
    """``make(app)``: what one more process has."""
    async with AsyncExitStack() as stack:

        def process(app: Any, calls_per_hour: int = 120, budget: Budget | None = None) -> Process:
            client = FeishuClient(app.app_id, app.app_secret, team.feishu.base_url)
            stack.push_async_callback(client.close)
            store = AsyncGroupTranscriptStore(tmp_path)
            stack.push_async_callback(store.close)
            lease, shared = FileLease(tmp_path, wait=PATIENCE), FileBudget(tmp_path, wait=PATIENCE)
            bundles = Bundles(lease, budget or shared, store, calls_per_hour=calls_per_hour)
            return Process(bundles, client)

        yield process


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[AsyncGroupTranscriptStore]:
    async with AsyncGroupTranscriptStore(tmp_path) as store:
        yield store


@pytest.fixture
def key(team) -> str:
    return f"feishu:{team.group.chat_id}"


@pytest.fixture
async def bundle(team, store: AsyncGroupTranscriptStore, key: str) -> Any:
    """A bundle that was heard: its entry is the stub."""
    other = team.feishu.add_group("Other", [team.ada, team.bo])
    said = [await team.feishu.say(other, who, text) for who, text in ((team.ada, "one"), (team.bo, "two"))]
    message = await team.feishu.forward(team.group, team.ada, said)
    text = text_of(message.msg_type, {})
    assert text == STUB
    await store.append(key, "user", text, "on_ada", message.message_id, msg_type=message.msg_type)
    return message


async def entry_of(store: AsyncGroupTranscriptStore, key: str, bundle: Any) -> Entry | None:
    return await store.get(key, bundle.message_id)


async def content(store: AsyncGroupTranscriptStore, key: str, bundle: Any) -> str:
    entry = await entry_of(store, key, bundle)
    assert entry is not None
    return entry["content"]


async def test_what_is_inside_takes_the_place_of_the_stub(team, make, store, key, bundle) -> None:
    await make(team.alpha).fill(key, bundle.message_id)
    entry = await entry_of(store, key, bundle)
    assert entry is not None
    assert (entry["content"], entry["sender"], entry.get("edited")) == (INSIDE, "on_ada", True)


async def test_a_bundle_is_asked_for_when_it_is_heard_and_given_up_with_its_client(
    team, make, store, key, bundle
) -> None:
    process, other = make(team.alpha), make(team.beta)
    entry = await entry_of(store, key, bundle)
    assert entry is not None
    fault = team.feishu.fail(GET, delay=FOR_EVER)
    process.bundles.heard(process.client, key, entry)
    await team.feishu.wait_for(lambda: team.feishu.calls_to(GET))
    await process.bundles.close(other.client)
    await other.fill(key, bundle.message_id)
    assert (len(team.feishu.calls_to(GET)), await content(store, key, bundle)) == (1, STUB)
    fault.remove()
    await process.bundles.close(process.client)
    process.bundles.heard(process.client, key, {**entry, "msg_type": "text"})
    process.bundles.heard(process.client, key, entry)
    await until(lambda: store.sync.recent(key).entries[0]["content"] == INSIDE)
    assert len(team.feishu.calls_to(GET)) == 2
    assert await content(store, key, bundle) == INSIDE


async def test_two_processes_that_ask_at_once_make_one_call(team, make, store, key, bundle) -> None:
    fault = team.feishu.fail(GET, delay=FOR_EVER)
    asking = asyncio.create_task(make(team.alpha).fill(key, bundle.message_id))
    await team.feishu.wait_for(lambda: team.feishu.calls_to(GET))
    await make(team.beta).fill(key, bundle.message_id)
    assert (len(team.feishu.calls_to(GET)), await content(store, key, bundle)) == (1, STUB)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    fault.remove()
    # who gave up leaves it to others, and who comes after the text has come asks nobody
    await make(team.beta).fill(key, bundle.message_id)
    await make(team.alpha).fill(key, bundle.message_id)
    assert (len(team.feishu.calls_to(GET)), await content(store, key, bundle)) == (2, INSIDE)


async def test_many_that_hear_of_it_at_once_write_it_once(team, make, store, key, bundle) -> None:
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(make(app).fill(key, bundle.message_id) for app in [team.alpha, team.beta] * 5))
    assert len(team.feishu.calls_to(GET)) == 1
    assert await content(store, key, bundle) == INSIDE


async def test_without_a_call_left_nobody_is_asked(team, make, store, key, bundle, caplog) -> None:
    caplog.set_level(logging.INFO, "transcript_channels")
    await make(team.alpha, calls_per_hour=0).fill(key, bundle.message_id)
    assert (team.feishu.calls_to(GET), await content(store, key, bundle)) == ([], STUB)
    (record,) = caplog.records
    assert "The budget of calls to Feishu is spent" in record.getMessage()


async def test_all_processes_spend_one_budget(team, make, store, key, bundle) -> None:
    second = await team.feishu.forward(team.group, team.ada, [bundle])
    await store.append(key, "user", STUB, "on_ada", second.message_id, msg_type="merge_forward")
    await make(team.alpha, calls_per_hour=1).fill(key, bundle.message_id)
    await make(team.beta, calls_per_hour=1).fill(key, second.message_id)
    assert await content(store, key, bundle) == INSIDE
    assert await content(store, key, second) == STUB


async def test_what_is_taken_back_meanwhile_stays_away(team, make, store, key, bundle) -> None:
    budget = HeldBudget()
    filling = asyncio.create_task(make(team.alpha, budget=budget).fill(key, bundle.message_id))
    await until(budget.asked.is_set)
    await store.recall(key, bundle.message_id)
    budget.granted.set()
    async with asyncio.timeout(PATIENCE):
        await filling
    assert len(team.feishu.calls_to(GET)) == 1
    assert await entry_of(store, key, bundle) is None
    assert [entry for entry in (await store.recent(key)).entries if "one" in entry["content"]] == []


@pytest.mark.parametrize("code", [230002, 230110, 99991403, 231003])
async def test_what_the_platform_refuses_stays_a_stub(team, make, store, key, bundle, code, caplog) -> None:
    caplog.set_level(logging.INFO, "transcript_channels.feishu.forwarded_messages")
    team.feishu.fail(GET, code=code)
    await make(team.alpha).fill(key, bundle.message_id)
    assert await content(store, key, bundle) == STUB
    (record,) = [one for one in caplog.records if one.name == "transcript_channels.feishu.forwarded_messages"]
    assert "Forwarded messages could not be read" in record.getMessage()
    await make(team.beta).fill(key, bundle.message_id)
    assert await content(store, key, bundle) == INSIDE


async def test_what_is_no_stub_is_left_alone(team, make, store, key, bundle) -> None:
    filling = make(team.alpha)
    await filling.fill(key, "om_unknown")
    typed = await team.feishu.say(team.group, team.ada, STUB)
    await store.append(key, "user", STUB, "on_ada", typed.message_id, msg_type="text")
    await filling.fill(key, typed.message_id)
    await store.edit(key, bundle.message_id, "what somebody wrote down")
    await filling.fill(key, bundle.message_id)
    assert team.feishu.calls == []
    assert await content(store, key, bundle) == "what somebody wrote down"


async def test_a_record_that_cannot_be_read_is_told_in_one_line(team, make, key, bundle, tmp_path, caplog) -> None:
    filling = make(team.alpha)
    for path in tmp_path.glob("*.jsonl"):
        path.unlink()
        path.mkdir()
    await filling.fill(key, bundle.message_id)
    (record,) = [one for one in caplog.records if one.name == "transcript_channels.feishu.forwarded_messages"]
    assert "Forwarded messages are not recorded" in record.getMessage()


async def test_a_message_without_anything_inside_is_no_bundle(team) -> None:
    said = await team.feishu.say(team.group, team.ada, "hello")
    assert await unbundled(team.client, said.message_id, team.group.chat_id) is None
    assert await unbundled(team.client, "om_unknown/../x", team.group.chat_id) is None
