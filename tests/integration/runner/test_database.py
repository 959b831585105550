"""``run`` with its record in a database that comes and goes."""

import asyncio
import re
from typing import Any

import pytest
from support.places import open_record
from support.postgres import MISSING, programs, started_cluster


@pytest.mark.skipif(programs() is None, reason=MISSING)
async def test_it_starts_without_its_database_and_answers_once_that_is_there(site: Any) -> None:
    alpha = site.app("Alpha")
    with started_cluster() as server:
        server.stop()
        mind = {"kind": "scripted", "answers": ["I am Alpha."]}
        running = await site.run(site.config({alpha: mind}, record={"url": server.url}))
        assert "messages wait on this machine" in running.log
        early = await site.feishu.say(site.group, site.ada, "is anybody there?")
        await asyncio.to_thread(server.start)
        assert await site.ask("@Alpha you?", alpha) == "I am Alpha."
        with open_record(f"{server.url}#nanobot") as record:
            await site.until(lambda: len(record.store.recent(site.key, 10).entries) == 3)
            assert record.store.get(site.key, early.message_id) is not None
        assert await running.stop() == 0
    assert "Traceback" not in running.log


@pytest.mark.skipif(programs() is None, reason=MISSING)
async def test_that_its_database_is_away_and_that_it_is_back_is_said_once(site: Any) -> None:
    alpha = site.app("Alpha")
    with started_cluster() as server:
        mind = {"kind": "scripted", "answers": ["I am Alpha."]}
        running = await site.run(site.config({alpha: mind}, record={"url": server.url}, relay={"mode": "mentions"}))
        assert await site.ask("@Alpha you?", alpha) == "I am Alpha."
        await asyncio.to_thread(server.kill)
        await site.feishu.say(site.group, site.ada, "is anybody there?")
        assert await site.ask("@Alpha still you?", alpha) == "I am Alpha."
        await site.until(lambda: "Until it is back" in running.log)
        await asyncio.to_thread(server.start)
        await site.until(lambda: "The database is back after" in running.log)
        log = running.log
        assert await running.stop() == 0
    loud = re.findall(r"^.* (?:WARNING|ERROR) +(.*)$", log, re.MULTILINE)
    unanswered = [line for line in loud if "cannot claim" in line]
    assert [line.rpartition(": ")[2] for line in unanswered] == ["the database is away"], loud
    assert [line.partition(": ")[0] for line in loud if line not in unanswered] == [
        "nanobot_transcript.sql.postgres.outage_log"
    ] * 2, loud
    assert log.count(f":{server.port}/postgres") == 2, "where it begins, and where it is away"
    assert "Messages are kept in" in log
