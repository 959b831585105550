"""The mailboxes as real MCP clients meet them: over stdin and stdout in a folder, and over HTTP from elsewhere."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from support.hubs import listening
from support.mailboxes import Office
from support.mcp_client import SdkClient, connected
from support.waiting import PATIENCE, until

from nanobot_transcript.settings import Settings
from transcript_mcp.hub import create_app

pytestmark = pytest.mark.mcp

BUG = {
    "receiver_id": "dev_agent",
    "msg_type": "BR",
    "title": "登录页面验证码显示异常",
    "content": "在Chrome浏览器中发现验证码图片无法正常显示。",
}
TOKENS = {"qa_agent": "token-of-qa", "dev_agent": "token-of-dev"}

Client = Callable[[str], AbstractAsyncContextManager[SdkClient]]


def command(home: Path, folder: Path, *more: str) -> list[str]:
    """How a client starts the server in a folder."""
    program = [sys.executable, "-m", "nanobot_transcript", *more, "mcp", "filebox"]
    return ["env", "-C", str(folder), f"HOME={home}", *program]


@pytest.fixture
def client(office: Office) -> Client:
    """``async with client("qa_agent") as connection``: the server in a process of its own, in the agent's folder."""
    return lambda agent: connected(command(office.home, office.roots[agent]))


async def test_two_agents_in_two_folders_exchange_wait_for_and_resolve_a_message(
    client: Client, office: Office
) -> None:
    async with client("qa_agent") as qa, client("dev_agent") as dev:
        waiting = asyncio.create_task(dev.text("filebox_wait", timeout=PATIENCE))
        sent = (await qa.text("filebox_send_message", **BUG)).splitlines()
        assert sent[0] == "Message sent successfully"
        (mail,) = json.loads(await asyncio.wait_for(waiting, PATIENCE))["messages"]
        assert mail["title"] == BUG["title"]
        read = await dev.text("filebox_read_message", box_type="inbox", filename=mail["file"])
        assert read.endswith(BUG["content"])
        reply = {
            "receiver_id": "qa_agent",
            "msg_type": "ACK",
            "title": BUG["title"],
            "content": "已确认问题，开始修复。",
        }
        await dev.text("filebox_send_message", **reply, original_message_id=mail["id"])
        (answered,) = json.loads(await qa.text("filebox_wait", timeout=PATIENCE))["messages"]
        assert answered["file"] == mail["file"]
        assert await qa.text("filebox_resolve_message", filename=mail["file"]) == "Message resolved"
        assert json.loads(await qa.text("filebox_list_messages", box_type="done")) == [mail["file"]]
    assert office.everywhere("qa_agent") == [("done", mail["file"])]
    assert office.everywhere("dev_agent") == [("outbox", mail["file"])]


async def test_a_subscriber_is_told_of_new_mail(client: Client, office: Office) -> None:
    async with client("qa_agent") as qa:
        await qa.subscribe("filebox://inbox/qa_agent")
        office.mailbox("dev_agent").send("qa_agent", "INFO", "mail", "text")
        await until(lambda: "notifications/resources/updated" in qa.methods())
        (content,) = (await qa.read("filebox://inbox/qa_agent"))["contents"]
        assert json.loads(content["text"])["messages"][0]["title"] == "mail"


async def test_a_folder_without_configuration_says_what_to_do(office: Office, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (office.base / ".filebox").unlink()
    async with connected(command(office.home, elsewhere)) as somebody:
        told = await somebody.call("filebox_list_messages", box_type="inbox")
        assert told["isError"]
        assert "No agents are known" in told["content"][0]["text"]
        office.configure(office.home)
        told = await somebody.text("filebox_list_messages", box_type="inbox")
        assert "Available agents: qa_agent, dev_agent." in told
        named = await somebody.text("filebox_list_messages", box_type="inbox", runAs="qa_agent")
        assert json.loads(named) == []


def test_nothing_but_json_rpc_is_said_on_stdout(office: Office) -> None:
    asked = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    done = subprocess.run(
        command(office.home, office.roots["qa_agent"]), input=asked, capture_output=True, timeout=PATIENCE, check=True
    )
    assert done.stdout
    assert {json.loads(line)["jsonrpc"] for line in done.stdout.splitlines()} == {"2.0"}


# -- agents on other machines


def settings(office: Office, **filebox: Any) -> Settings:
    file = str(office.configure(office.base, current="qa_agent"))
    return Settings.model_validate({"filebox": {"config": file, **filebox}, "store": {"dir": office.base / "store"}})


async def test_agents_elsewhere_use_their_mailboxes_through_the_hub(office: Office) -> None:
    async with listening(create_app(settings(office, tokens=TOKENS))) as url:
        clients = {
            agent: aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"})
            for agent, token in TOKENS.items()
        }

        async def call(agent: str, tool: str, **arguments: Any) -> dict[str, Any]:
            asked = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": tool, "arguments": arguments},
            }
            async with clients[agent].post(f"{url}/mcp/filebox", json=asked) as answer:
                return (await answer.json())["result"]

        try:
            sent = await call("qa_agent", "filebox_send_message", **BUG)
            assert sent["content"][0]["text"].startswith("Message sent successfully")
            waited = await call("dev_agent", "filebox_wait", timeout=PATIENCE)
            (mail,) = waited["messages"]
            assert mail["from"] == "qa_agent"
            resolved = await call("dev_agent", "filebox_resolve_message", filename=mail["file"])
            assert resolved["content"][0]["text"] == "Message resolved"
            async with clients["dev_agent"].post(f"{url}/mcp/transcript", json={}) as elsewhere:
                assert elsewhere.status == 403
        finally:
            for session in clients.values():
                await session.close()
    assert office.everywhere("dev_agent") == [("done", mail["file"])]


async def test_on_the_hub_the_files_current_agent_is_nobody(office: Office) -> None:
    async with listening(create_app(settings(office))) as url, connected(f"{url}/mcp/filebox") as somebody:
        told = await somebody.call("filebox_list_messages", box_type="inbox")
        assert told["isError"]
        assert "Available agents: qa_agent, dev_agent." in told["content"][0]["text"]
        assert json.loads(await somebody.text("filebox_list_messages", box_type="inbox", runAs="dev_agent")) == []


async def test_on_the_hub_the_settings_may_say_who_asks(office: Office) -> None:
    chosen = settings(office, agent="dev_agent", run_as="off")
    async with listening(create_app(chosen)) as url, connected(f"{url}/mcp/filebox") as somebody:
        assert json.loads(await somebody.text("filebox_agents"))["you"] == "dev_agent"
        refused = await somebody.call("filebox_list_messages", box_type="inbox", runAs="qa_agent")
        assert refused["isError"]
