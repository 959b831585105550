"""Agents whose record is in another process, 20 ms away: nobody needs a folder, and nobody keeps a loop waiting."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from support.far_away import Far, nobody_was_blocked
from support.forking import REMOTE
from support.remote_record import RemoteRecord
from support.waiting import PATIENCE

MIND = [sys.executable, "-c", "import sys; print('I read: ' + sys.stdin.read()[-400:])"]


@pytest.mark.parametrize("spooled", [False, True], ids=["told", "accepted"])
async def test_agents_talk_over_a_record_that_is_far_away(site: Any, far: Far, tmp_path: Path, spooled: bool) -> None:
    site.variables = far(spooled=spooled)
    alpha, beta = site.app("Alpha"), site.app("Beta")
    mind = {"kind": "command", "command": MIND}
    config = site.config({alpha: mind, beta: mind}, relay={"mode": "mentions"})
    for name in ("Alpha", "Beta"):
        await site.run(config, name)
    assert "what is the number?" in await site.ask("@Alpha what is the number?", alpha)
    assert "what is the number?" in await site.ask("@Beta and what did Alpha say?", beta)
    await site.ask("does anybody know the secret?", alpha if site.group.messages[-1].sender is beta else beta)
    await site.until(lambda: len(site.record()) >= 6)
    assert not (tmp_path / ".nanobot").exists()
    nobody_was_blocked(tmp_path)


TAIL = """
import os, sys
from support.remote_record import instead_of_folders
instead_of_folders(os.environ["RECORDS_AT"])
from nanobot_transcript.cli import main
main(["tail", "-f", "--jsonl", "--store", sys.argv[1]])
"""


async def test_tail_follows_a_record_that_is_far_away(far: Far, tmp_path: Path) -> None:
    variables, place = far(), tmp_path / "record"
    address, _, options = variables[REMOTE].partition(" ")
    record = RemoteRecord(address, place, **json.loads(options))
    await asyncio.to_thread(record.store.append, "feishu:oc_1", "user", "first", "u1", "m1")
    env = {**os.environ, **variables, "PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(tmp_path)}
    tail = await asyncio.create_subprocess_exec(
        sys.executable, "-c", TAIL, str(place), env=env, stdout=asyncio.subprocess.PIPE
    )
    assert tail.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE):
            assert json.loads(await tail.stdout.readline())["content"] == "first"
            for chat in ("feishu:oc_1", "feishu:oc_2"):  # one that is followed, and one that begins later
                await asyncio.to_thread(record.store.append, chat, "user", f"news of {chat}", "u1", f"m2 {chat}")
                assert json.loads(await tail.stdout.readline())["content"] == f"news of {chat}"
    finally:
        tail.kill()
        await tail.wait()
        await asyncio.to_thread(record.close)
    nobody_was_blocked(tmp_path)
