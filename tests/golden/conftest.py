"""The golden data laid down in a folder of its own, the command line over it, and a hub."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from golden.packing import ROOMS, unpack
from support.hubs import listening

from nanobot_transcript.cli import main
from nanobot_transcript.settings import load_settings
from transcript_mcp.hub import create_app


class Hub:
    """A hub over the data, and what a client asks it."""

    def __init__(self, url: str, http: aiohttp.ClientSession) -> None:
        self.url = url
        self._http = http

    async def get(self, path: str, **query: str) -> Any:
        """The document at an address."""
        async with self._http.get(f"{self.url}{path}", params=query) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()

    async def text(self, server: str, tool: str, **arguments: Any) -> str:
        """What a tool says."""
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        async with self._http.post(f"{self.url}/mcp/{server}", json=call) as answer:
            result = (await answer.json())["result"]
        assert not result["isError"], result
        return "\n".join(part["text"] for part in result["content"])

    async def data(self, server: str, tool: str, **arguments: Any) -> Any:
        """The same, read as JSON."""
        return json.loads(await self.text(server, tool, **arguments))

    async def lines(self, server: str, tool: str, **arguments: Any) -> list[dict[str, Any]]:
        """The JSON objects among the lines of what it says."""
        said = (await self.text(server, tool, **arguments)).splitlines()
        return [json.loads(line) for line in said if line.startswith("{")]


@pytest.fixture
def golden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All of the golden data, in a home without settings."""
    for name, value in (("HOME", str(tmp_path)), ("NO_COLOR", "1"), ("TZ", "UTC")):
        monkeypatch.setenv(name, value)
    return unpack(tmp_path, *ROOMS)


@pytest.fixture
def run(golden: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """``run("record", "show", "oc_team")``: the JSON document that a command prints over a room of the data."""

    def command(room: str, *arguments: str) -> Any:
        main([*arguments, "--json", "--store", str(golden / room)])
        return json.loads(capsys.readouterr().out)

    return command


@asynccontextmanager
async def hub_over(golden: Path) -> AsyncIterator[Hub]:
    """A hub over the data."""
    chosen = {
        "store": {"dir": str(golden / "record")},
        "mail": {"store": str(golden / "mail"), "archive": {"enabled": False}},
        "filebox": {"config": str(golden / "filebox" / "filebox.json")},
        "hub": {"data_dir": str(golden / "hub")},
    }
    config = golden / "settings.yaml"
    config.write_text(json.dumps(chosen), encoding="utf-8")
    settings = load_settings(config, look_in_cwd=False, dotenv="none")
    async with listening(create_app(settings)) as url, aiohttp.ClientSession() as http:
        yield Hub(url, http)
