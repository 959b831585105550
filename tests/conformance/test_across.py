"""Other clients: the MCP Inspector, and each generation of the SDK with a server on the other."""

import json
import subprocess
from pathlib import Path

import pytest
from support.conformance import PYTHONS, inspect
from support.mailboxes import Office
from support.waiting import PATIENCE

pytestmark = [pytest.mark.conformance]

TESTS = Path(__file__).resolve().parents[1]
SERVER = str(TESTS / "support" / "mcp_server.py")
CLIENT = """
import asyncio, json, sys
sys.path.insert(0, sys.argv[1])
from support.mcp_client import SDK, connected

async def main():
    async with connected(sys.argv[2:]) as client:
        print(json.dumps([
            SDK,
            client.begun["protocolVersion"],
            await client.text("echo", text="小明"),
            (await client.call("numbers", count=2))["structuredContent"],
            (await client.read("chat://one?limit=3"))["contents"][0]["text"],
        ]))

asyncio.run(main())
"""


@pytest.mark.parametrize(("client", "server"), [("SDK 1", "SDK 2"), ("SDK 2", "SDK 1")])
def test_an_older_client_and_a_newer_server_understand_each_other_and_the_reverse(client: str, server: str) -> None:
    command = [str(PYTHONS[client]), "-c", CLIENT, str(TESTS), str(PYTHONS[server]), SERVER]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    number = int(client[-1])
    assert json.loads(done.stdout) == [number, "2025-11-25", "小明", {"result": [0, 1]}, '{"name":"one","limit":3}']


@pytest.mark.parametrize("sdk", PYTHONS)
def test_the_inspector_calls_and_reads(sdk: str) -> None:
    command = [str(PYTHONS[sdk]), SERVER]
    called = inspect(command, "tools/call", "--tool-name", "echo", "--tool-arg", "text=小明")
    assert called == {"content": [{"type": "text", "text": "小明"}], "isError": False}
    read = inspect(command, "resources/read", "--uri", "chat://one?limit=3")
    assert read["contents"][0]["text"] == '{"name":"one","limit":3}'


def test_two_agents_exchange_and_resolve_a_message_through_the_inspector(tmp_path: Path) -> None:
    office = Office(tmp_path, "qa_agent", "dev_agent")

    def call(agent: str, tool: str, **arguments: str) -> str:
        program = [str(PYTHONS["SDK 1"]), "-m", "nanobot_transcript", "mcp", "filebox"]
        command = ["env", "-C", str(office.roots[agent]), f"HOME={office.home}", *program]
        given = [word for name, value in arguments.items() for word in ("--tool-arg", f"{name}={value}")]
        answer = inspect(command, "tools/call", "--tool-name", tool, *given)
        assert answer["isError"] is False, answer
        return answer["content"][0]["text"]

    title = "登录页面验证码显示异常"
    call("qa_agent", "filebox_send_message", receiver_id="dev_agent", msg_type="BR", title=title, content="无法显示。")
    (mail,) = json.loads(call("dev_agent", "filebox_wait", timeout="10"))["messages"]
    assert mail["title"] == title
    call(
        "dev_agent",
        "filebox_send_message",
        receiver_id="qa_agent",
        msg_type="ACK",
        title=title,
        content="已修复。",
        original_message_id=mail["id"],
    )
    assert call("qa_agent", "filebox_resolve_message", filename=mail["file"]) == "Message resolved"
    assert office.everywhere("qa_agent") == [("done", mail["file"])]
