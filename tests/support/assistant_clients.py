"""Programs that talk to Agent Assistant: a plain protobuf client of ``/ws``, and one that calls over Connect."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
from google.protobuf.message import Message
from support.waiting import PATIENCE

from transcript_mcp.assistant.protocol import proto, wire

__all__ = ["Caller", "Page", "answer_times", "bare_relay", "page", "text_content", "transport_of"]

_ROOT = Path(__file__).resolve().parents[2]
_M = TypeVar("_M", bound=Message)


def text_content(text: str) -> Any:
    """A text as content of an answer."""
    return proto.McpResultContent(type=1, text=proto.TextContent(type="text", text=text))


def transport_of(socket: aiohttp.ClientWebSocketResponse) -> asyncio.Transport:
    """What a socket's bytes go through; the library shows it nowhere."""
    connection = socket._response.connection
    assert connection is not None
    assert isinstance(connection.transport, asyncio.Transport)
    return connection.transport


class Page:
    """A client of ``/ws``."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.raw: list[bytes] = []

    async def send(self, cmd: str, **fields: Any) -> None:
        """One frame."""
        await self.socket.send_bytes(proto.WebsocketMessage(Cmd=cmd, **fields).SerializeToString())

    async def frame(self, timeout: float = PATIENCE) -> Any:
        """The next frame. Raises ConnectionError when the socket was closed."""
        message = await self.socket.receive(timeout=timeout)
        if message.type is not aiohttp.WSMsgType.BINARY:
            raise ConnectionError(f"closed with {self.socket.close_code}")
        self.raw.append(message.data)
        return proto.WebsocketMessage.FromString(message.data)

    async def until(self, cmd: str) -> Any:
        """The next frame with this command; those before it are dropped."""
        async with asyncio.timeout(PATIENCE):
            while True:
                frame = await self.frame()
                if frame.Cmd == cmd:
                    return frame

    async def login(self, token: str, nickname: str = "") -> Any:
        """The answer to a login."""
        await self.send("UserLogin", StrParam=token, Nickname=nickname)
        return (await self.until("UserLogin")).UserLoginResponse

    async def reply(self, id: str, text: str) -> None:
        """Answer a question as the original pages do: the request echoed beside the response."""
        response = proto.AskQuestionResponse(ID=id, contents=[text_content(text)])
        request = proto.AskQuestionRequest(ID=id, UserToken="anything")
        await self.send("AskQuestionReply", AskQuestionRequest=request, AskQuestionResponse=response)

    async def confirm(self, id: str, text: str, cmd: str = "TaskFinishReply") -> None:
        """Confirm a report."""
        response = proto.WorkReportResponse(ID=id, contents=[text_content(text)])
        await self.send(cmd, WorkReportRequest=proto.WorkReportRequest(ID=id), WorkReportResponse=response)


@asynccontextmanager
async def page(url: str, token: str | None = None, nickname: str = "", **headers: str) -> AsyncIterator[Page]:
    """A page, logged in when a token is given."""
    async with (
        aiohttp.ClientSession() as http,
        http.ws_connect(f"{url}/ws", headers=headers, max_msg_size=0) as socket,
    ):
        opened = Page(socket)
        if token is not None:
            answer = await opened.login(token, nickname)
            assert answer.success, answer.error_message
        yield opened


class Caller:
    """Calls over Connect, as the original's adapter makes them."""

    def __init__(self, url: str, token: str = "test-token") -> None:
        self._url = url
        self.token = token

    async def call(self, method: str, message: Message, answer: type[_M], *, service: str = "SrvAgentAssist") -> _M:
        """A call in protobuf. Raises AssertionError for anything but 200."""
        headers = {"Content-Type": "application/proto", "Connect-Protocol-Version": "1", "Accept-Encoding": "gzip"}
        if service == "SrvAgentAssistReply":
            headers["Authorization"] = f"Bearer {self.token}"
        async with (
            aiohttp.ClientSession() as http,
            http.post(
                f"{self._url}/agentassistproto.{service}/{method}", data=message.SerializeToString(), headers=headers
            ) as response,
        ):
            body = await response.read()
            assert response.status == 200, (response.status, body)
            assert response.content_type == "application/proto"
            return wire.decoded(answer, body)

    async def ask(self, id: str, question: str = "Deploy?", timeout: int = 600, **more: Any) -> Any:
        """Ask and wait for the answer."""
        outer = {name: more.pop(name) for name in ("Wait", "Fetched") if name in more}
        about = {"ProjectDirectory": "/srv/shop", "AgentName": "Alpha"} | more
        request = proto.McpAskQuestionRequest(Question=question, Timeout=timeout, **about)
        message = proto.AskQuestionRequest(ID=id, UserToken=self.token, Request=request, **outer)
        return await self.call("AskQuestion", message, proto.AskQuestionResponse)

    async def report(self, method: str, id: str, summary: str, **more: Any) -> Any:
        """Report under the method's name, and wait for the confirmation."""
        about = {"ProjectDirectory": "/srv/shop", "AgentName": "Alpha", "Timeout": 600} | more
        request = proto.McpWorkReportRequest(Summary=summary, **about)
        message = proto.WorkReportRequest(ID=id, UserToken=self.token, Request=request)
        return await self.call(method, message, proto.WorkReportResponse)


async def answer_times(port: int, rounds: int, count: int) -> list[list[float]]:
    """Milliseconds of ``count`` answers at once to callers of a hub, by processes of their own that cost little."""
    async with _benchmark("answering", "assistant", str(port), str(rounds), str(count)) as measuring:
        assert measuring.stdout is not None
        return json.loads(await asyncio.wait_for(measuring.stdout.read(), PATIENCE))


@asynccontextmanager
async def bare_relay() -> AsyncIterator[int]:
    """The port of a server that only hands answers on."""
    async with _benchmark("relay") as relay:
        assert relay.stdout is not None
        yield int(await asyncio.wait_for(relay.stdout.readline(), PATIENCE))


@asynccontextmanager
async def _benchmark(name: str, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", f"benchmarks.{name}", *arguments), cwd=_ROOT, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
