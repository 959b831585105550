"""The lines for nginx with which the original's page works before the hub, as they are printed in both languages."""

import asyncio
import os
import re
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from integration.assistant.conftest import running_hub
from support.assistant_clients import Caller
from support.needs import lacks
from support.plain_frames import all_at, at, encoded
from support.ports import free_port
from support.waiting import PATIENCE, until

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["docs/en/assistant.md", "docs/zh/assistant.md"]
NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
PAGE = "<title>the page as its build has made it</title>"

pytestmark = pytest.mark.skipif(NGINX is None, reason=lacks("no nginx", "apt-get install nginx-light"))


def printed(page: str) -> str:
    """The server that a page prints."""
    text = (ROOT / page).read_text(encoding="utf-8")
    (block,) = re.findall(r"^```nginx\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return block


@asynccontextmanager
async def proxied(page: str, hub: str, folder: Path) -> AsyncIterator[str]:
    """nginx with these lines alone, in a folder of its own, for a hub that listens elsewhere."""
    port, root = free_port(), folder / "page"
    root.mkdir()
    (root / "index.html").write_text(PAGE, encoding="utf-8")
    server = printed(page).replace("http://127.0.0.1:8765", hub).replace("/srv/agentassistant", str(root))
    server = server.replace("127.0.0.1:22080", f"127.0.0.1:{port}")
    paths = "".join(
        f"{name}_temp_path {folder / name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    log = f"access_log {folder / 'access.log'};"
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {folder / 'pid'}; events {{}} http {{ {log} {paths} {server} }}",
        encoding="utf-8",
    )
    arguments = ("-p", str(folder), "-c", "nginx.conf", "-e", str(folder / "error.log"))
    process = await asyncio.create_subprocess_exec(str(NGINX), *arguments)
    try:
        await until(lambda: listens(port))
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        await process.wait()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("page", PAGES)
async def test_what_the_originals_page_and_adapter_send_comes_through_nginx(page: str, tmp_path: Path) -> None:
    async with running_hub(tmp_path / "hub") as hub:
        (tmp_path / "nginx").mkdir()
        async with proxied(page, hub.url, tmp_path / "nginx") as url, aiohttp.ClientSession() as http:
            async with http.get(f"{url}/?token=a%20b%26c", allow_redirects=False) as led:
                assert (led.status, led.headers["Location"]) == (302, "/#/?token=a%20b%26c")
            for path in ("/", "/chat", "/?other=1"):
                async with http.get(url + path) as shown:
                    assert await shown.text() == PAGE
            async with http.get(f"{url}/health") as health:
                assert await health.text() == "OK"
            async with http.ws_connect(f"{url}/ws", origin=url) as line:
                await line.send_bytes(encoded({1: "UserLogin", 12: "test-token", 18: "Ada"}))
                assert at(await line.receive_bytes(timeout=PATIENCE), 23, 2) == 1  # UserLoginResponse, success
                asking = asyncio.create_task(Caller(url).ask("q1"))
                asked = await line.receive_bytes(timeout=PATIENCE)
                assert at(asked, 1) == b"AskQuestion"
                (request,) = all_at(asked, 2)
                said = {1: "q1", 4: {1: 1, 2: {1: "text", 2: "Yes."}}}
                await line.send_bytes(encoded({1: "AskQuestionReply", 2: request, 4: said}))
                answer = await asyncio.wait_for(asking, PATIENCE)
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await http.ws_connect(f"{url}/ws", origin="http://elsewhere.example")
    assert answer.contents[0].text.text == "Yes."
    assert "token" not in (tmp_path / "nginx" / "access.log").read_text(encoding="utf-8")
