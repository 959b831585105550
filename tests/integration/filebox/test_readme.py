"""What the README tells a new user to do, done: two folders, a file in each, a client's configuration, and mail."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from support.mcp_client import SdkClient, connected
from support.waiting import PATIENCE

pytestmark = pytest.mark.mcp

ROOT = Path(__file__).resolve().parents[3]
README = ROOT / "README.md"
TITLE = "登录页面验证码显示异常"
AGENTS = ("qa_agent", "dev_agent")

Client = Callable[[str], AbstractAsyncContextManager[SdkClient]]


def printed_configuration(readme: str) -> dict[str, Any]:
    """The ``.filebox`` that the README prints."""
    text = (ROOT / readme).read_text(encoding="utf-8")
    (block,) = re.findall(r"```json\n(.*?)```", text, flags=re.DOTALL)
    return json.loads(block)


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    """The two agents' folders, with what the README says is to be put there; only the paths are this machine's."""
    printed = printed_configuration("README.md")
    assert tuple(printed["agents"]) == AGENTS
    places = {agent: tmp_path / Path(path).name for agent, path in printed["agents"].items()}
    for agent, folder in places.items():
        folder.mkdir()
        chosen = {**printed, "current_agent": agent, "agents": {name: str(path) for name, path in places.items()}}
        (folder / ".filebox").write_text(json.dumps(chosen), encoding="utf-8")
    return places


@pytest.fixture
def client(folders: dict[str, Path], tmp_path: Path) -> Client:
    """``async with client("qa_agent") as connection``: as Claude Code starts it, by what ``mcp-config`` wrote."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NANOBOT_")}
    environment["HOME"] = str(tmp_path)

    def connect(agent: str) -> AbstractAsyncContextManager[SdkClient]:
        (printed,) = re.findall(r"transcript (mcp-config .*filebox --write)", README.read_text("utf-8"))
        program = [sys.executable, "-m", "nanobot_transcript.cli", *printed.split()]
        subprocess.run(program, cwd=folders[agent], env=environment, check=True, capture_output=True, timeout=PATIENCE)
        written = json.loads((folders[agent] / ".mcp.json").read_text(encoding="utf-8"))
        entry = written["mcpServers"]["nanobot-transcript"]
        assert entry["type"] == "stdio"
        return connected(["env", "-C", str(folders[agent]), f"HOME={tmp_path}", entry["command"], *entry["args"]])

    return connect


async def test_two_agents_in_two_folders_exchange_wait_for_and_resolve_a_message(
    client: Client, folders: dict[str, Path]
) -> None:
    async with client("qa_agent") as qa, client("dev_agent") as dev:
        assert json.loads(await qa.text("filebox_agents"))["you"] == "qa_agent"
        waiting = asyncio.create_task(dev.text("filebox_wait", timeout=PATIENCE))
        sent = await qa.text(
            "filebox_send_message", receiver_id="dev_agent", msg_type="BR", title=TITLE, content="验证码图片无法显示。"
        )
        assert sent.startswith("Message sent successfully")
        (mail,) = json.loads(await asyncio.wait_for(waiting, PATIENCE))["messages"]
        assert mail["title"] == TITLE
        assert (folders["dev_agent"] / "docs" / "mailbox" / "inbox" / mail["file"]).is_file()
        assert TITLE in mail["file"]
        answer = {"receiver_id": "qa_agent", "msg_type": "ACK", "title": TITLE, "content": "已修复。"}
        await dev.text("filebox_send_message", **answer, original_message_id=mail["id"])
        (answered,) = json.loads(await qa.text("filebox_wait", timeout=PATIENCE))["messages"]
        read = await qa.text("filebox_read_message", box_type="inbox", filename=answered["file"])
        assert "已修复。" in read
        assert "验证码图片无法显示。" in read
        assert await qa.text("filebox_resolve_message", filename=answered["file"]) == "Message resolved"
    assert (folders["qa_agent"] / "docs" / "mailbox" / "done" / mail["file"]).is_file()


def test_the_readme_prints_the_same_in_chinese() -> None:
    assert printed_configuration("README.zh-CN.md") == printed_configuration("README.md")
