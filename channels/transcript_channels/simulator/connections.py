"""The long connection: the endpoint that hands out addresses, the handshake, and the open sockets."""

import asyncio
import json
import logging
import random
import secrets
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiohttp import WSCloseCode, WSMsgType, web

from transcript_channels.simulator import frames
from transcript_channels.simulator.world import App, Connection, World

if TYPE_CHECKING:
    from transcript_channels.simulator.changes import Changes
    from transcript_channels.simulator.delivery import Delivery

__all__ = ["MAX_CONNECTIONS", "ClientConfig", "Gate", "Refusal"]

logger = logging.getLogger(__name__)

MAX_CONNECTIONS = 50
"""Long connections that one app may hold."""

AUTH_FAILED = 514
NO_CREDENTIAL = 1000040344
CONNECTION_LIMIT = 1000040350


@dataclass(slots=True)
class ClientConfig:
    """What the platform tells clients about reconnecting and pinging, in seconds; sent at connect and in each
    pong.

    ``reconnect_count`` -1 = without end; ``reconnect_nonce`` bounds a random wait before the first attempt.
    The real platform's values (nonce 30, interval 120) would make every test of a reconnect slow.
    """

    reconnect_count: int = -1
    reconnect_interval: int = 1
    reconnect_nonce: int = 0
    ping_interval: int = 120

    def as_json(self) -> dict[str, int]:
        """The platform's spelling."""
        return {
            "ReconnectCount": self.reconnect_count,
            "ReconnectInterval": self.reconnect_interval,
            "ReconnectNonce": self.reconnect_nonce,
            "PingInterval": self.ping_interval,
        }


@dataclass(slots=True)
class Refusal:
    """The next ``times`` handshakes of an app (None = of every app) fail with these headers."""

    status: int
    message: str
    auth_code: int | None = None
    app: App | None = None
    times: int = 1


class Gate:
    """Lets clients in: ``/callback/ws/endpoint`` and the WebSocket itself."""

    PATH = "/ws/v2"

    def __init__(self, world: World, changes: "Changes", config: ClientConfig) -> None:
        self.config = config
        self.delivery: Delivery
        self.refusals: list[Refusal] = []
        self.closing = False
        self._world = world
        self._changes = changes
        self._tickets: dict[str, App] = {}

    def endpoint(self, app_id: str, app_secret: str, host: str) -> dict[str, object]:
        """The answer to a client that asks where to connect."""
        app = self._world.apps.get(app_id)
        if not app_id or not app_secret:
            return {"code": NO_CREDENTIAL, "msg": "no credential", "data": {}}
        if app is None or app.app_secret != app_secret:
            return {"code": AUTH_FAILED, "msg": "app_id or app_secret is wrong", "data": {}}
        if len(app.connections) >= MAX_CONNECTIONS:
            return {
                "code": CONNECTION_LIMIT,
                "msg": "the number of connections exceeded the limit",
                "data": {},
            }
        ticket = secrets.token_hex(16)
        self._tickets[ticket] = app
        device = random.randint(10**18, 10**19)
        url = (
            f"ws://{host}{self.PATH}?fpid=493&aid=552564&device_id={device}&access_key={secrets.token_hex(8)}"
            f"&service_id=33554678&ticket={ticket}"
        )
        return {"code": 0, "msg": "", "data": {"URL": url, "ClientConfig": self.config.as_json()}}

    async def open(self, request: web.Request) -> web.StreamResponse:
        """Handle a WebSocket request from handshake to close."""
        app = self._tickets.pop(request.query.get("ticket", ""), None)
        refusal = self._refusal(app)
        if refusal is not None or app is None:
            return _refused(refusal or Refusal(AUTH_FAILED, "auth failed", 0))
        socket = web.WebSocketResponse(timeout=1.0, max_msg_size=0, compress=False)
        await socket.prepare(request)
        connection = Connection(app, socket, request, request.query["device_id"], int(request.query["service_id"]))
        writer = asyncio.create_task(connection.write())
        app.connections.append(connection)
        self._changes.tell("connected", connection)
        try:
            self.delivery.opened(connection)
            await self._read(connection)
        finally:
            app.connections.remove(connection)
            writer.cancel()
            with suppress(asyncio.CancelledError, ConnectionError):
                await writer
            self.delivery.closed(connection)
            self._changes.tell("disconnected", connection)
        return socket

    def _refusal(self, app: App | None) -> Refusal | None:
        if self.closing:
            return Refusal(1, "system busy")
        for refusal in self.refusals:
            if refusal.app in (None, app):
                refusal.times -= 1
                if refusal.times <= 0:
                    self.refusals.remove(refusal)
                return refusal
        if app is not None and len(app.connections) >= MAX_CONNECTIONS:
            return Refusal(AUTH_FAILED, "the number of connections exceeded the limit", CONNECTION_LIMIT)
        return None

    async def _read(self, connection: Connection) -> None:
        async for message in connection.socket:
            if message.type is not WSMsgType.BINARY:
                continue
            try:
                frame = frames.Frame.decode(message.data)
            except frames.FrameError:
                logger.warning("%r sent bytes that are no frame", connection)
                continue
            if frame.method is frames.Method.CONTROL:
                self._control(connection, frame)
            else:
                self.delivery.acknowledged(connection, frame)

    def _control(self, connection: Connection, frame: frames.Frame) -> None:
        if frame.headers.get("type") == "ping":
            connection.pings += 1
            connection.send(frames.pong(frame, json.dumps(self.config.as_json()).encode()))
            self._changes.tell("ping", connection)

    async def drop(self, connections: list[Connection], *, abrupt: bool) -> None:
        """End connections: by cutting the line, or with a closing handshake."""
        for connection in connections:
            if abrupt:
                connection.abort()
            else:
                await connection.socket.close(code=WSCloseCode.GOING_AWAY)

    async def close(self) -> None:
        """End all connections and let nobody in any more."""
        self.closing = True
        open_ones = [connection for app in self._world.apps.values() for connection in app.connections]
        await asyncio.gather(
            *(connection.socket.close(code=WSCloseCode.GOING_AWAY) for connection in open_ones),
            return_exceptions=True,
        )


def _refused(refusal: Refusal) -> web.Response:
    headers = {"Handshake-Status": str(refusal.status), "Handshake-Msg": refusal.message}
    if refusal.auth_code is not None:
        headers["Handshake-Autherrcode"] = str(refusal.auth_code)
    return web.Response(status=403, headers=headers, text=refusal.message)
