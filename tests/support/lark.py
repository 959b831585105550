"""The real lark-oapi in a process of its own (importing it captures the event loop), as one app of the simulator."""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from support.forking import Streamed, preload
from support.waiting import PATIENCE

from transcript_channels.simulator import App, FeishuSimulator

__all__ = ["LarkProcess", "lark_process"]

JSON = dict[str, Any]

preload("lark_oapi")


class LarkProcess:
    """``events`` are the events its handler got; ``do`` runs one REST call of the SDK."""

    def __init__(self, process: Streamed) -> None:
        self.process = process
        self.events: list[JSON] = []
        self._answers: asyncio.Queue[JSON] = asyncio.Queue()

    async def read(self) -> None:
        """Take in what the process prints, until it ends."""
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            if not line.startswith(b"{"):
                continue
            said = json.loads(line)
            if "event" in said:
                self.events.append(said["event"])
            else:
                self._answers.put_nowait(said["answer"])

    async def do(self, command: str, **options: Any) -> JSON:
        """One call: ``{"code", "msg", "data", "raw"}``, or ``{"raised": name of the exception}``."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": command, **options}).encode() + b"\n")
        await self.process.stdin.drain()
        async with asyncio.timeout(PATIENCE):
            return await self._answers.get()

    async def fresh(self) -> None:
        """Forget the events so far, those on their way to us too, and the tokens of the SDK."""
        assert (await self.do("renew"))["code"] == 0
        self.events.clear()

    def received(self, event_type: str = "im.message.receive_v1") -> list[JSON]:
        """The bodies of the events of a type."""
        return [event["event"] for event in self.events if event["header"]["event_type"] == event_type]


@asynccontextmanager
async def lark_process(feishu: FeishuSimulator, app: App) -> AsyncIterator[LarkProcess]:
    """Start the SDK as ``app``; inside the block its long connection is open."""
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    process = await Streamed.start(
        "support.lark_worker",
        feishu.base_url,
        app.app_id,
        app.app_secret,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        limit=16 * 1024 * 1024,
    )
    worker = LarkProcess(process)
    reader = asyncio.create_task(worker.read())
    try:
        known = len(app.connections)
        await feishu.wait_for(lambda: len(app.connections) > known, PATIENCE, "lark-oapi to connect")
        yield worker
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await reader
