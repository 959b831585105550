"""Where ``nanobot-transcript serve`` and ``nanobot-transcript mcp assistant`` run, as people start them."""

import asyncio
import json
import os
import shlex
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from support.forking import HUB, Streamed, preload
from support.ports import free_port
from support.waiting import PATIENCE

__all__ = ["Place"]

preload(*HUB)


class Place:
    """A home, a working directory, and the hub that can be started and killed there."""

    def __init__(self, home: Path, stack: AsyncExitStack) -> None:
        self.cwd = home
        self.port, self.second = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._stack = stack
        self._env = {name: value for name, value in os.environ.items() if not name.startswith("NANOBOT_")}
        self._env |= {"HOME": str(home), "NANOBOT_TRANSCRIPT_HUB__PORT": str(self.port)}

    @property
    def listening_twice(self) -> dict[str, str]:
        """The setting with which the hub listens at ``second``, too."""
        return {"NANOBOT_TRANSCRIPT_ASSISTANT__LISTEN": f"127.0.0.1:{self.second}"}

    async def hub(self, *, forked: bool = True, **more: str) -> Streamed | asyncio.subprocess.Process:
        """A hub that listens. One that is not ``forked`` holds nothing but its own imports."""
        program = ("nanobot_transcript", "serve", "--jsonl")
        options: Any = {"env": self._env | more, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        if forked:
            started = await Streamed.start(*program, **options)
        else:
            started = await asyncio.create_subprocess_exec(sys.executable, "-m", *program, **options)
        self._stack.push_async_callback(_ended, started)
        assert started.stdout is not None
        assert json.loads(await asyncio.wait_for(started.stdout.readline(), PATIENCE))["event"] == "ready"
        return started

    def write_file(self) -> None:
        """The adapter's file as it is printed, for the second address."""
        (self.cwd / "agentassistant-mcp.toml").write_text(
            f'# 服务器信息\nagentassistant_server_host = "127.0.0.1"\nagentassistant_server_port = {self.second}\n\n'
            '# 令牌\nagentassistant_server_token = "test-token"\n',
            encoding="utf-8",
        )

    def command(self, *arguments: str, **more: str) -> list[str]:
        """How a client starts the adapter in the working directory."""
        env = [f"{name}={value}" for name, value in (self._env | more).items()]
        adapter = ["env", "-i", *env, sys.executable, "-m", "nanobot_transcript", "mcp", "assistant", *arguments]
        return ["sh", "-c", f"cd {shlex.quote(str(self.cwd))} && exec {shlex.join(adapter)}"]


async def _ended(process: Streamed | asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.communicate()
