"""Gaps are filled by one of several processes, also when that one is killed."""

import asyncio
import os
import subprocess
from pathlib import Path

from support.forking import Streamed
from support.leases import run_out
from support.waiting import PATIENCE

from nanobot_transcript import GroupTranscriptStore
from transcript_channels.simulator import App, FeishuSimulator

LIST = "GET /open-apis/im/v1/messages"
START = 1_700_000_000_000


async def filler(feishu: FeishuSimulator, app: App, directory: Path, key: str) -> Streamed:
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    arguments = [feishu.base_url, app.app_id, app.app_secret, str(directory), key, "201"]
    process = await Streamed.start("support.filler", *arguments, env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        assert await process.stdout.readline() == b"asking\n"
    return process


async def shown(process: Streamed) -> int:
    async with asyncio.timeout(PATIENCE):
        output, _ = await process.communicate()
    return int(output)


async def test_two_hundred_missed_messages_are_fetched_by_one_process_also_when_the_first_is_killed(tmp_path) -> None:
    async with FeishuSimulator() as feishu:
        apps = [feishu.add_app(name) for name in ("Alpha", "Beta", "Gamma")]
        ada = feishu.add_person("Ada")
        group = feishu.add_group("Team", [ada, *apps])
        key = f"feishu:{group.chat_id}"
        for number in range(201):
            await feishu.say(group, ada, f"m{number}", at_ms=START + number * 1000)
        first = feishu.messages(group)[0]
        GroupTranscriptStore(tmp_path).append(key, "user", "m0", "on_x", first.message_id, START)

        feishu.fail(LIST, delay=PATIENCE)  # it is killed in the middle, however long the others take to start
        killed = await filler(feishu, apps[0], tmp_path, key)
        await feishu.wait_for(lambda: feishu.calls_to(LIST))
        others = [await filler(feishu, app, tmp_path, key) for app in apps[1:]]
        try:
            killed.kill()
            await killed.wait()
            run_out(tmp_path, f"feishu history {key}")
            assert await asyncio.gather(*map(shown, others)) == [201, 201]
        finally:
            for process in others:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        calls = [call.app for call in feishu.calls_to(LIST)]
        assert calls[0] is apps[0]
        assert len(set(calls[1:])) == 1
        assert len(calls) == 1 + 5
        entries = list(GroupTranscriptStore(tmp_path).scan(key))
        assert len(entries) == len({entry["message_id"] for entry in entries}) == 201
