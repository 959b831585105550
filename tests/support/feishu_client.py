"""A client of the simulated platform that behaves as a test says: REST calls with a token, and a long connection."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from transcript_channels.simulator import App, FeishuSimulator
from transcript_channels.simulator.frames import Frame, Method

__all__ = ["Api", "LongConnection", "long_connection"]

JSON = dict[str, Any]


class Api:
    """REST as one app; each answer is the decoded JSON with the HTTP status under ``status``."""

    def __init__(self, feishu: FeishuSimulator, app: App, session: aiohttp.ClientSession) -> None:
        self.app = app
        self.session = session
        self._base = feishu.base_url
        self.headers: dict[str, str] = {}
        self.to: JSON = {"receive_id_type": "chat_id"}
        """The query of ``send``."""

    async def log_in(self) -> None:
        """Fetch a tenant token."""
        body = {"app_id": self.app.app_id, "app_secret": self.app.app_secret}
        answer = await self.call("POST", "/open-apis/auth/v3/tenant_access_token/internal", body)
        self.headers["Authorization"] = f"Bearer {answer['tenant_access_token']}"

    async def call(self, method: str, path: str, body: JSON | None = None, **query: Any) -> JSON:
        """One request."""
        params = {key: str(value) for key, value in query.items()}
        url = self._base + path
        async with self.session.request(method, url, json=body, params=params, headers=self.headers) as answer:
            return {**json.loads(await answer.text()), "status": answer.status}

    async def send(self, chat_id: str, text: str = "", **body: Any) -> JSON:
        """Send a text, or ``msg_type`` with ``content`` as an object."""
        return await self.call("POST", "/open-apis/im/v1/messages", self._message(text, body, chat_id), **self.to)

    async def reply(self, message_id: str, text: str = "", **body: Any) -> JSON:
        """Reply to a message."""
        return await self.call("POST", f"/open-apis/im/v1/messages/{message_id}/reply", self._message(text, body))

    def _message(self, text: str, body: JSON, receive_id: str | None = None) -> JSON:
        content = body.pop("content", {"text": text})
        raw = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        message = {"msg_type": "text", "content": raw, **body}
        return {"receive_id": receive_id, **message} if receive_id else message

    async def history(self, container_id: str, **query: Any) -> JSON:
        """A page of history; ``data`` of the answer, which must be a success."""
        asked = {"container_id_type": "chat", "container_id": container_id, **query}
        answer = await self.call("GET", "/open-apis/im/v1/messages", None, **asked)
        assert answer["code"] == 0, answer
        return answer["data"]


class LongConnection:
    """A long connection that answers events as ``answer(event)`` says: a code, a payload, or None for silence."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, answer: Callable[[JSON], int | JSON | None]) -> None:
        self.socket = socket
        self.events: list[JSON] = []
        self.frames: list[Frame] = []
        self.pongs: list[Frame] = []
        self._answer = answer
        self._pieces: dict[str, dict[int, bytes]] = {}

    async def read(self) -> None:
        """Receive until the end."""
        async for message in self.socket:
            frame = Frame.decode(message.data)
            if frame.method is Method.CONTROL:
                self.pongs.append(frame)
            else:
                await self._receive(frame)

    async def _receive(self, frame: Frame) -> None:
        self.frames.append(frame)
        pieces = self._pieces.setdefault(frame.headers["message_id"], {})
        pieces[int(frame.headers["seq"])] = frame.payload
        if len(pieces) < int(frame.headers["sum"]):
            return
        event = json.loads(b"".join(piece for _, piece in sorted(pieces.items())))
        self.events.append(event)
        answer = self._answer(event)
        if answer is not None:
            await self.acknowledge(frame, answer)

    async def acknowledge(self, frame: Frame, answer: int | JSON) -> None:
        """Send a frame back with a code or a payload."""
        payload = json.dumps(answer if isinstance(answer, dict) else {"code": answer}).encode()
        back = Frame(Method.DATA, {**frame.headers, "biz_rt": "1"}, payload, service=frame.service)
        await self.socket.send_bytes(back.encode())

    async def ping(self) -> None:
        """Send a ping."""
        await self.socket.send_bytes(Frame(Method.CONTROL, {"type": "ping"}, service=1).encode())


@asynccontextmanager
async def long_connection(
    feishu: FeishuSimulator,
    app: App,
    session: aiohttp.ClientSession,
    answer: Callable[[JSON], int | JSON | None] = lambda event: 200,
) -> AsyncIterator[LongConnection]:
    """Connect as ``app`` for the length of a block."""
    body = {"AppID": app.app_id, "AppSecret": app.app_secret}
    async with session.post(f"{feishu.base_url}/callback/ws/endpoint", json=body) as response:
        where = (await response.json())["data"]["URL"]
    known = len(app.connections)
    async with session.ws_connect(where) as socket:
        connection = LongConnection(socket, answer)
        reader = asyncio.create_task(connection.read())
        await feishu.wait_for(lambda: len(app.connections) > known)
        try:
            yield connection
        finally:
            await socket.close()
            await reader
