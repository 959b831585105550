"""The chapter of Agent Mail: its program and its calls run as they are printed, in both languages."""

import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.forking import HUB, Forked, preload
from support.needs import lacks
from support.ports import free_port
from support.waiting import PATIENCE, until

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["docs/en/mail.md", "docs/zh/mail.md"]
preload(*HUB)


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NANOBOT_", "MCP_MAIL_"))}
    return kept | {"HOME": str(tmp_path), "PYTHONUTF8": "1", "NO_COLOR": "1"}


@pytest.fixture
def port(tmp_path: Path, env: dict[str, str]) -> Iterator[int]:
    """Where a hub of a fresh home listens."""
    port = free_port()
    with (tmp_path / "log").open("wb") as log:
        hub = Forked("nanobot_transcript", "serve", "--port", str(port), cwd=tmp_path, env=env, stderr=log)
    try:
        asyncio.run(until(lambda: is_listening(port)))
        yield port
    finally:
        hub.terminate()
        hub.wait()


@pytest.mark.parametrize("page", PAGES)
def test_the_printed_program_runs(page: str, tmp_path: Path, env: dict[str, str]) -> None:
    (code,) = blocks(page, "python")
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        check=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.stdout == "['Plan']\nRe: Plan\n"


@pytest.mark.skipif(shutil.which("curl") is None, reason=lacks("no curl", "apt-get install curl"))
@pytest.mark.parametrize("page", PAGES)
def test_the_printed_calls_do_what_they_say(page: str, tmp_path: Path, env: dict[str, str], port: int) -> None:
    (calls,) = [block for block in blocks(page, "bash") if "curl" in block]
    script = calls.replace("127.0.0.1:8765", f"127.0.0.1:{port}").replace("curl -sS", "curl -sS -w '\\n'")
    done = subprocess.run(
        ["bash", "-ec", script], cwd=tmp_path, env=env, capture_output=True, check=True, text=True, timeout=PATIENCE
    )
    made, begun, claimed, sent, inbox = (answer(line) for line in done.stdout.splitlines())
    assert made["name"] == "GreenCastle"
    assert begun["agent"]["name"] == "BlueLake"
    assert claimed["granted"] == ["app/api/*.py"]
    assert sent["recipients"] == {"to": ["BlueLake"]}
    assert [message["body_md"] for message in inbox["messages"]] == ["周三的发布窗口之前写完。"]

    (look,) = [block for block in blocks(page, "bash") if "mail inbox" in block]
    for line in look.strip().splitlines():
        words = line.split()[1:]
        shown, _ = Forked("nanobot_transcript", *words, cwd=tmp_path, env=env, stdout=subprocess.PIPE).communicate()
        assert b"GreenCastle" in shown, line


@pytest.mark.parametrize("page", PAGES)
def test_clients_are_given_the_address_that_the_printed_calls_have(page: str, env: dict[str, str]) -> None:
    (calls,) = [block for block in blocks(page, "bash") if "curl" in block]
    called = set(re.findall(r"curl -sS (\S+)", calls))
    told = set(re.findall(r"`(http://[^`]+)`", (ROOT / page).read_text(encoding="utf-8")))
    assert called <= told
    words = ("mcp-config", "gemini-cli", "--servers", "mail", "--json")
    said, _ = Forked("nanobot_transcript", *words, env=env, stdout=subprocess.PIPE).communicate()
    assert {json.loads(said)["entry"]["httpUrl"]} == called


def answer(line: str) -> dict[str, Any]:
    """What the tool answered."""
    result = json.loads(line)["result"]
    assert not result.get("isError"), line
    return json.loads(result["content"][0]["text"])


def test_both_pages_have_the_same_shape() -> None:
    """Headings, tables, blocks and lists correspond one to one."""
    english, chinese = (shape((ROOT / page).read_text(encoding="utf-8")) for page in PAGES)
    assert english == chinese


def shape(text: str) -> list[str]:
    kinds = [(r"#+ ", None), (r"\| ", "row"), (r"```", "fence"), (r"- ", "item"), (r"\*\*", "term")]
    found = [(name, re.match(pattern, line)) for line in text.splitlines() for pattern, name in kinds]
    return [name or match[0] for name, match in found if match]
