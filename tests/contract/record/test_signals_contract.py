"""Hints that something has changed, from any process to any other."""

import asyncio
from itertools import repeat

import pytest
from contract.conftest import MakeRecord
from support.waiting import PATIENCE

from nanobot_transcript.coordination.contract import Ear, Signals
from nanobot_transcript.relevance import Decision, Reason, Stage

KEY = "feishu:oc_1"


async def settled(ear: Ear) -> None:
    """Let pass what an ear may hear for nothing when it begins."""
    await ear.wait(0.3)


async def heard(ear: Ear, name: str) -> None:
    """Wait for a name; what is told besides does not matter."""
    async with asyncio.timeout(PATIENCE):
        while name not in await ear.wait(1.0):
            continue


@pytest.mark.parametrize("same", [True, False], ids=["here", "elsewhere"])
@pytest.mark.parametrize("name", ["something", "", "a\0b", "../x", "发布", "x" * 5000])
async def test_who_listens_hears_what_is_told(make_record: MakeRecord, name: str, same: bool) -> None:
    first = make_record().signals
    second: Signals = first if same else make_record().signals
    with first.listen(name, "another") as ear:
        await settled(ear)
        for _ in range(2):
            second.tell(name)
            await heard(ear, name)


async def test_nothing_is_heard_of_what_nobody_told(make_record: MakeRecord) -> None:
    signals, other = make_record().signals, make_record().signals
    with signals.listen("this") as ear, signals.listen("that") as witness:
        async with asyncio.timeout(PATIENCE):  # when it begins an ear may hear something for nothing, but not again
            for _ in repeat(None):
                other.tell("that")
                await heard(witness, "that")
                if not await ear.wait(0.05):
                    break


async def test_what_is_told_before_the_wait_is_heard(make_record: MakeRecord) -> None:
    signals, other = make_record().signals, make_record().signals
    with signals.listen("this") as ear:
        await settled(ear)
        other.tell("this")
        await asyncio.sleep(0.1)
        await heard(ear, "this")


async def test_several_ears_each_hear_it(make_record: MakeRecord) -> None:
    signals, other = make_record().signals, make_record().signals
    with signals.listen("this") as one, signals.listen("this", "that") as two, other.listen("this") as three:
        for ear in (one, two, three):
            await settled(ear)
        other.tell("this")
        await asyncio.gather(*(heard(ear, "this") for ear in (one, two, three)))


async def test_a_wait_that_was_given_up_loses_nothing(make_record: MakeRecord) -> None:
    signals, other = make_record().signals, make_record().signals
    with signals.listen("this") as ear:
        await settled(ear)
        for pause in (0.0, 0.001, 0.005, 0.01, 0.02) * 4:
            waiting = asyncio.create_task(ear.wait(PATIENCE))
            other.tell("this")
            await asyncio.sleep(pause)
            waiting.cancel()
            (found,) = await asyncio.gather(waiting, return_exceptions=True)
            if isinstance(found, asyncio.CancelledError):
                await heard(ear, "this")


async def test_the_parts_of_a_record_tell_of_their_changes(make_record: MakeRecord) -> None:
    listening, record = make_record(), make_record()
    changes = {
        "messages": lambda: record.store.append(KEY, "user", "hello", "on_ada", "om_1"),
        "members": lambda: record.members.remember_person("on_ada", "Ada"),
        "posts": lambda: record.outbox.post(KEY, "hello"),
        "decisions": lambda: record.decisions.write(
            KEY, Decision(True, Reason.NAMED, 1.0, Stage.CERTAIN, "Alpha", "om_1")
        ),
    }
    with listening.signals.listen(*changes) as ear:
        await settled(ear)
        for name, change in changes.items():
            await asyncio.to_thread(change)
            await heard(ear, name)
