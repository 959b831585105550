"""``tail -f`` over a server that goes away and comes back."""

import asyncio
import logging

import pytest
from support.places import open_record
from support.postgres import Cluster
from support.waiting import until

from nanobot_transcript.cli.commands import tail
from nanobot_transcript.entry import Entry
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore


async def test_who_watches_all_chats_goes_on_after_an_outage(server: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    shown: list[str] = []
    with open_record(f"{server.url}#tailing") as record:

        def show(key: str, entry: Entry) -> None:
            shown.append(f"{key} {entry['content']}")

        def say(key: str, text: str) -> None:
            with open_record(f"{server.url}#tailing") as other:
                other.store.append(key, "user", text, "on_ada", f"om_{text}")

        door = AsyncGroupTranscriptStore.over(record.store)
        following = asyncio.create_task(tail._follow(door, [], {}, show, new_chats=True))
        await asyncio.to_thread(say, "feishu:oc_1", "before")
        await until(lambda: shown == ["feishu:oc_1 before"])
        await asyncio.to_thread(server.stop)
        await until(lambda: "Until it is back" in caplog.text)
        await asyncio.to_thread(server.start)
        await asyncio.to_thread(say, "feishu:oc_2", "after")
        await asyncio.to_thread(say, "feishu:oc_1", "too")
        await until(lambda: len(shown) == 3)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    assert sorted(shown[1:]) == ["feishu:oc_1 too", "feishu:oc_2 after"]
    told = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
    assert [("Until it is back" in one, "is back after" in one) for one in told] == [(True, False), (False, True)]
    await asyncio.to_thread(server.execute, "DROP SCHEMA tailing CASCADE")
