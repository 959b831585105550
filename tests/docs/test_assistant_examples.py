"""The chapter of Agent Assistant: its calls do what is said beside them, in both languages."""

import asyncio
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from integration.assistant.conftest import running_hub
from support.waiting import PATIENCE, until

from nanobot_transcript.settings import Settings
from transcript_mcp.assistant.adapter import FILE, target_from

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["docs/en/assistant.md", "docs/zh/assistant.md"]
HUB = "http://127.0.0.1:8765"
CALL = re.compile(r"^curl .*?'$", re.DOTALL | re.MULTILINE)


def printed_calls(page: str) -> list[tuple[str, dict[str, str], str]]:
    """Path, headers and body of each curl line."""
    calls = CALL.findall((ROOT / page).read_text(encoding="utf-8"))
    found = []
    for call in calls:
        (url,) = re.findall(rf"{HUB}(\S+)", call)
        headers = dict(header.split(": ", 1) for header in re.findall(r"-H '([^']*)'", call))
        (body,) = re.findall(r"-d '(.*)'", call, re.DOTALL)
        found.append((url, headers, body))
    return found


@pytest.mark.parametrize("page", PAGES)
async def test_the_question_that_is_printed_gets_the_answer_that_is_printed(page: str, tmp_path: Path) -> None:
    asking, answering = printed_calls(page)
    async with running_hub(tmp_path) as hub, aiohttp.ClientSession() as http:

        async def call(path: str, headers: dict[str, str], body: str) -> Any:
            async with http.post(f"{hub.url}{path}", headers=headers, data=body) as response:
                return response.status, await response.json()

        question = asyncio.create_task(call(*asking))
        await until(lambda: hub.assistant._open.records(None))
        assert (await call(*answering))[0] == 200
        status, answer = await asyncio.wait_for(question, PATIENCE)
    said = json.loads(answering[2])["contents"]
    assert (status, answer["contents"]) == (200, said)


@pytest.mark.parametrize("page", PAGES)
def test_the_file_that_is_printed_is_understood(page: str, tmp_path: Path) -> None:
    (text,) = re.findall(r"^```toml\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    target = target_from(Settings(), tmp_path)
    assert (target.host, target.port, target.token) == tuple(tomllib.loads(text).values())
