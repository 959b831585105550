"""The programs in the chapter on Feishu run as they are printed, against the simulator."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from support.light_lark import light_python
from support.needs import needs
from support.ports import free_port
from support.waiting import PATIENCE

from nanobot_transcript import GroupTranscriptStore
from transcript_channels.simulator import FeishuSimulator

ROOT = Path(__file__).resolve().parents[3]
SECRETS = {"encrypt_key": "the key", "verification_token": "the token"}

pytestmark = pytest.mark.parametrize("language", ["en", "zh"])


def program(language: str, number: int) -> str:
    page = (ROOT / "docs" / language / "feishu.md").read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[number]


@asynccontextmanager
async def running(
    code: str, python: str = sys.executable, **environment: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    inherited = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    process = await asyncio.create_subprocess_exec(
        python, "-c", code, env=inherited | environment, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def line(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        return (await process.stdout.readline()).decode().strip()


async def test_reading_and_sending(language: str) -> None:
    async with FeishuSimulator() as feishu:
        ada, alpha = feishu.add_person("Ada"), feishu.add_app("Alpha")
        group = feishu.add_group("Team", [ada, alpha])
        await feishu.say(group, ada, "hello")
        settings = {"FEISHU_APP_ID": alpha.app_id, "FEISHU_APP_SECRET": alpha.app_secret}
        settings |= {"FEISHU_BASE_URL": feishu.base_url, "FEISHU_CHAT_ID": group.chat_id}
        async with running(program(language, 0), **settings) as process:
            assert (await line(process)).endswith(" hello")
            assert await line(process) == f"sent {feishu.messages(group, alpha)[0].message_id}"
            assert await process.wait() == 0


@needs("lark_oapi")
async def test_the_long_connection(language: str, tmp_path: Path) -> None:
    async with FeishuSimulator() as feishu:
        ada, alpha = feishu.add_person("Ada"), feishu.add_app("Alpha")
        group = feishu.add_group("Team", [ada, alpha])
        settings = {"FEISHU_APP_ID": alpha.app_id, "FEISHU_APP_SECRET": alpha.app_secret}
        settings |= {"FEISHU_BASE_URL": feishu.base_url, "HOME": str(tmp_path)}
        python = light_python(tmp_path / "environment")
        async with running(program(language, 1), python, **settings) as process:
            await feishu.wait_connected(alpha)
            message = await feishu.say(group, ada, "hello")
            assert message.acks == {"Alpha": 200}
            said = [await line(process), await line(process)]
        assert sorted(said) == ["connected", "to do: im.message.receive_v1"]
    store = GroupTranscriptStore(tmp_path / ".nanobot" / "transcripts")
    assert [entry["content"] for entry in store.get_recent(f"feishu:{group.chat_id}")] == ["hello"]


async def test_the_webhook(language: str) -> None:
    port = str(free_port())
    async with FeishuSimulator(repush_delays=(0.1, 0.2)) as feishu:
        ada, alpha = feishu.add_person("Ada"), feishu.add_app("Alpha")
        group = feishu.add_group("Team", [ada, alpha])
        settings = {"FEISHU_ENCRYPT_KEY": "the key", "FEISHU_VERIFICATION_TOKEN": "the token", "PORT": port}
        async with running(program(language, 2), **settings, PYTHONUNBUFFERED="1") as process:
            assert "Running on" in await line(process)
            await feishu.subscribe(alpha, f"http://127.0.0.1:{port}/feishu/events", **SECRETS)
            message = await feishu.say(group, ada, "hello")
            assert message.acks == {"Alpha": 200}
