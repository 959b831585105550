"""A server of a running hub over this process's stdin and stdout, for clients that can only start programs.

What the client says goes to the hub as it stands, and what the hub says goes to the client: this process knows no tools
and keeps nothing, so that the hub stays the one that writes.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import aiohttp

from nanobot_transcript.errors import HubUnreachableError
from nanobot_transcript.settings import Settings
from transcript_mcp.sdk.streams import Lines, Outlet, claimed_streams, signals_set

__all__ = ["serve_remote"]

logger = logging.getLogger(__name__)

_SESSION: Final = "Mcp-Session-Id"
_VERSION: Final = "MCP-Protocol-Version"
_VERSION_FIELD: Final = "io.modelcontextprotocol/protocolVersion"
_FAILED: Final = -32000
_GRACE: Final = 0.5
_CONNECTING: Final = aiohttp.ClientTimeout(total=None, sock_connect=5)
_ANYWHERE: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
_EVERY_LINE: Final = 64 * 1024 * 1024


async def serve_remote(settings: Settings, server: str) -> None:
    """Serve ``server`` of the hub that the settings describe, until stdin ends or a signal comes.

    A request that finds no hub is answered with an error that says how to start one.
    """
    hub = settings.hub
    token = next((token.get_secret_value() for token in hub.tokens.values()), None)
    host = _ANYWHERE.get(hub.host, hub.host)
    url = f"http://{f'[{host}]' if ':' in host else host}:{hub.port}/mcp/{server}"
    stop = asyncio.Event()
    with claimed_streams() as (source, sink), signals_set(stop):
        async with aiohttp.ClientSession(timeout=_CONNECTING, read_bufsize=_EVERY_LINE) as http:
            await _Relay(http, url, token, Outlet(sink)).serve(Lines(source), stop)


class _Relay:
    """One client of one hub."""

    def __init__(self, http: aiohttp.ClientSession, url: str, token: str | None, outlet: Outlet) -> None:
        self._http = http
        self._url = url
        self._token = token
        self._outlet = outlet
        self._session: str | None = None
        self._version: str | None = None
        self._hello: dict[str, Any] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._asked: set[asyncio.Task[None]] = set()

    async def serve(self, lines: Lines, stop: asyncio.Event) -> None:
        reading = asyncio.create_task(self._read(lines))
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait((reading, stopping), return_when=asyncio.FIRST_COMPLETED)
        if self._asked and not stop.is_set():
            await asyncio.wait(self._asked, timeout=_GRACE)
        for task in (reading, stopping, self._listening, *self._asked):
            if task is not None:
                task.cancel()
        await self._leave()

    async def _read(self, lines: Lines) -> None:
        async for line in lines:
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                await self._say({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}})
                continue
            if isinstance(message, dict) and message.get("method") == "initialize":
                self._hello = message
                await self._relayed(message)  # nothing else makes sense before its answer
                continue
            task = asyncio.create_task(self._relayed(message))
            self._asked.add(task)
            task.add_done_callback(self._asked.discard)

    async def _relayed(self, message: Any) -> None:
        try:
            async for answer in self._exchanged(message):
                await self._say(answer)
        except HubUnreachableError as error:
            logger.warning("%s %s", error, error.hint)
            if isinstance(message, dict) and message.get("id") is not None and "method" in message:
                told = {"code": _FAILED, "message": f"{error} {error.hint}"}
                await self._say({"jsonrpc": "2.0", "id": message["id"], "error": told})

    async def _exchanged(self, message: Any) -> AsyncIterator[Any]:
        """What the hub answers; after it was started anew, once the handshake is made again."""
        begins = message is self._hello
        for attempt in (1, 2):
            async with self._posted(message) as response:
                if response.status == 404 and self._session and not begins and attempt == 1:
                    await self._introduced_again()
                    continue
                if response.status >= 400:
                    raise HubUnreachableError(*_refused(self._url, response.status, await response.text()))
                self._session = response.headers.get(_SESSION, self._session)
                async for answer in _messages(response):
                    if begins and isinstance(result := answer.get("result"), dict):
                        self._version = result.get("protocolVersion")
                    yield answer
            if begins or (isinstance(message, dict) and message.get("method") == "notifications/initialized"):
                self._listen()
            return

    async def _introduced_again(self) -> None:
        self._session = None
        if self._hello is None:
            return
        async with self._posted(self._hello) as response:
            self._session = response.headers.get(_SESSION)
            async for _ in _messages(response):
                pass
        async with self._posted({"jsonrpc": "2.0", "method": "notifications/initialized"}):
            self._listen()

    def _posted(self, message: Any) -> "_Posting":
        return _Posting(self._http, self._url, self._headers(message), message)

    def _headers(self, message: Any) -> dict[str, str]:
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if self._session and message is not self._hello:
            headers[_SESSION] = self._session
        version = _version_of(message) or self._version
        if version and message is not self._hello:
            headers[_VERSION] = version
        return headers

    def _listen(self) -> None:
        """Hear what the hub says without being asked, such as that a resource changed."""
        if self._session is None:
            return
        if self._listening is not None:
            self._listening.cancel()
        self._listening = asyncio.create_task(self._heard())

    async def _heard(self) -> None:
        headers = self._headers(None) | {"Accept": "text/event-stream"}
        try:
            async with self._http.get(self._url, headers=headers) as response:
                if response.status == 200:
                    async for message in _messages(response):
                        await self._say(message)
        except (aiohttp.ClientError, OSError) as error:
            logger.info("The hub is not heard any more: %s", error)

    async def _leave(self) -> None:
        if self._session is None:
            return
        try:
            async with asyncio.timeout(_GRACE), self._http.delete(self._url, headers=self._headers(None)):
                pass
        except (aiohttp.ClientError, OSError, TimeoutError):
            return  # the hub forgets sessions by itself

    async def _say(self, message: Any) -> None:
        await self._outlet.write(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


class _Posting:
    """One POST; a hub that is not there becomes HubUnreachableError."""

    def __init__(self, http: aiohttp.ClientSession, url: str, headers: Mapping[str, str], message: Any) -> None:
        self._url = url
        self._request = http.post(url, headers=headers, data=json.dumps(message).encode())

    async def __aenter__(self) -> aiohttp.ClientResponse:
        try:
            return await self._request.__aenter__()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise HubUnreachableError(
                f"No hub answers at {self._url}.",
                hint="Start it with `nanobot-transcript serve`, or correct hub.host and hub.port.",
            ) from error

    async def __aexit__(self, *of: Any) -> None:
        await self._request.__aexit__(*of)


async def _messages(response: aiohttp.ClientResponse) -> AsyncIterator[Any]:
    """The messages of an answer, be it JSON or a stream of events."""
    if response.content_type == "application/json":
        yield json.loads(await response.read())
    elif response.content_type == "text/event-stream":
        data: list[str] = []
        async for raw in response.content:
            line = raw.decode("utf-8", "replace").rstrip("\r\n")
            if line.startswith("data:"):
                data.append(line[5:].removeprefix(" "))
            elif not line and data:
                text, data = "\n".join(data), []
                if text:
                    yield json.loads(text)


def _version_of(message: Any) -> str | None:
    meta = message.get("params", {}).get("_meta", {}) if isinstance(message, dict) else {}
    version = meta.get(_VERSION_FIELD) if isinstance(meta, dict) else None
    return version if isinstance(version, str) else None


def _refused(url: str, status: int, text: str) -> tuple[str]:
    return (f"The hub at {url} answered {status}: {text.strip()[:200]}.",)
