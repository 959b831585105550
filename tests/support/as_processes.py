"""Both of our hosts as real processes, each at its real edge: the command ``run``, and nanobot's own gateway.

Like ``in_process.py``, for the same ``Stage``. From outside nobody sees what a process is at: everything is dealt with
when the record holds a decision about each message that asks for one, and an answer where that was decided.
"""

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from support.forking import Streamed, preload
from support.gateways import Gateway, start_gateway
from support.in_process import ENCRYPT_KEY, HostInProcess, RunnerInProcess
from support.ports import free_port
from support.waiting import PATIENCE, until

from nanobot_transcript.record import Record
from transcript_channels.simulator import App, Message

__all__ = ["PluginAsProcess", "RunnerAsProcess"]

preload(
    "lark_oapi",
    "nanobot_transcript.runner",
    "transcript_channels.feishu.channel",
    "typer.main",
    "rich.console",
)

_KEPT: Final = ("PATH", "LANG", "LC_ALL", "TMPDIR")


_CLAIMING: Final = 2.0
"""Seconds after which what the score alone left is left: until then it may be an open question, which is claimed."""


class _Process(HostInProcess):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._opened: Record | None = None
        self._left: dict[str, float] = {}
        """When it was first seen that a message was left by the score."""

    @property
    def record(self) -> Record:
        """The record, opened in the test's process once the host has made it."""
        if self._opened is None:
            self._opened = self.settings().open_record()
        return self._opened

    @property
    def path(self) -> Path:
        """Our settings, as a file."""
        self.settings()
        return self.folder / "transcript.yaml"

    def waits(self) -> bool:
        return False

    def hurry(self) -> None:
        """A process has its own clock."""

    async def settled(self) -> None:
        await self.feishu.settled()
        await until(lambda: all(map(self._is_dealt_with, self._messages())))

    def _messages(self) -> Iterator[Message]:
        """What is to be decided about: all that people say, and what bots say to this one."""
        for chat in self.feishu.chats:
            for message in chat.messages:
                told = any(mention.member is self.app for mention in message.mentions)
                if message.sender is not self.app and (told or not isinstance(message.sender, App)):
                    yield message

    def _is_dealt_with(self, message: Message) -> bool:
        key, message_id = f"feishu:{message.chat.chat_id}", message.message_id
        decided = self.record.decisions.read(key, message_id)
        if any(one.get("respond") for one in decided):
            ended = any(one.get("stage") == "answer" for one in decided)
            return ended and self._has_answer(key, message_id)
        if decided and decided[-1].get("stage") == "score":
            return time.monotonic() - self._left.setdefault(message_id, time.monotonic()) > _CLAIMING
        unheard = isinstance(message.sender, App) and self.record.store.get(key, message_id) is None
        return bool(decided) or unheard

    def _has_answer(self, key: str, message_id: str) -> bool:
        entries = self.record.store.recent(key, 100).entries
        return any(one.get("agent") == self.app.name and one.get("reply_to") == message_id for one in entries)


class RunnerAsProcess(_Process, RunnerInProcess):
    """The command ``run``."""

    record = _Process.record

    async def start(self) -> None:
        address = f"127.0.0.1:{free_port()}"
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        listen = {"NANOBOT_TRANSCRIPT_FEISHU__WEBHOOK__LISTEN": address}
        with (self.folder / "run.log").open("ab") as log:
            self.process = await Streamed.start(
                *("nanobot_transcript", "run", "-c", str(self.path), "--jsonl"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**kept, **listen, "HOME": str(self.folder), "NO_PROXY": "*"},
                cwd=self.folder,
            )
        await self._ready()
        await self.feishu.subscribe(self.app, f"http://{address}/feishu/{self.app.app_id}", encrypt_key=ENCRYPT_KEY)

    async def _ready(self) -> None:
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while line := await self.process.stdout.readline():
                if json.loads(line).get("event") == "ready":
                    return
        raise RuntimeError((self.folder / "run.log").read_text(encoding="utf-8")[-4000:])

    async def stop(self) -> None:
        self.process.terminate()
        await self.process.communicate()
        self.app.webhook = None


class PluginAsProcess(_Process):
    """nanobot's gateway with the plugin."""

    gateway: Gateway | None = None

    async def start(self) -> None:
        if self.gateway is not None:
            return await self.gateway.start()
        self.gateway = await start_gateway(
            self.folder,
            self.app,
            self.feishu,
            self.model,
            env={"NANOBOT_TRANSCRIPT_CONFIG": str(self.path)},
            channel={"groupPolicy": "mention"},
        )
        return None

    async def stop(self) -> None:
        assert self.gateway is not None
        await self.gateway.stop()
