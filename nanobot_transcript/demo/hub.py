"""The demo's hub: its pages show the group live, and Alpha asks the person through it."""

import asyncio
import json
import os
import sys
import time
import webbrowser
from pathlib import Path
from typing import Any, ClassVar, Final

from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.demo.errors import DemoError
from nanobot_transcript.demo.process import Process
from nanobot_transcript.demo.record import DemoPlace

__all__ = ["DemoHub"]

_START_SECONDS: Final = 60.0
_CALL_SECONDS: Final = 70.0


class DemoHub(Process):
    """``nanobot-transcript serve`` at a free port; ``address`` is where its pages are."""

    noun: ClassVar[str] = "hub"

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.address: str = ""

    async def start(self, record: DemoPlace) -> None:
        """Start it over the record. Raises DemoError when it does not come up."""
        began = time.monotonic()
        self.home.mkdir(mode=0o700)
        command = ["serve", "--port", "0", "--jsonl"]
        await self._begin([sys.executable, "-m", "nanobot_transcript", *command], self._variables(record))
        while not self.address:
            if self.ended:
                raise DemoError(said("The hub stopped while starting."))
            if time.monotonic() - began > _START_SECONDS:
                raise DemoError(said("The hub did not start within {seconds} seconds.", seconds=round(_START_SECONDS)))
            await asyncio.sleep(0.05)
            self.address = self._told_address()

    @property
    def questions(self) -> str:
        """Where people answer."""
        return f"{self.address}/#/questions"

    def show(self) -> None:
        """Open the pages in a browser, where there is a desktop to open it on."""
        if sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
            webbrowser.open(self.address)

    async def call(self, tool: str, **arguments: Any) -> str:
        """The text that a tool of the assistant returns. Raises DemoError."""
        import aiohttp

        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(_CALL_SECONDS)) as http,
                http.post(f"{self.address}/mcp/assistant", json=message) as answer,
            ):
                result = (await answer.json())["result"]
            text = "\n".join(block["text"] for block in result["content"])
        except (aiohttp.ClientError, TimeoutError, ValueError, KeyError) as error:
            unusable = said("The hub did not answer as it should ({error}).", error=type(error).__name__)
            raise DemoError(unusable) from error
        if result["isError"]:
            raise DemoError(text)
        return text

    def _variables(self, record: DemoPlace) -> dict[str, str]:
        return record.variables | {
            "NANOBOT_TRANSCRIPT_STORE__DIR": str(record.folder),
            "NANOBOT_TRANSCRIPT_HUB__DATA_DIR": str(self.home / "data"),
            "NANOBOT_TRANSCRIPT_MAIL__STORE": str(self.home / "mail"),
        }

    def _told_address(self) -> str:
        for line in self.log_path.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith('{"event"'):
                return json.loads(line).get("url", "")
        return ""
