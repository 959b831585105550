"""Serves a running hub's server over stdin and stdout, for clients that can only start programs.

Messages are passed on unchanged in both directions. This process knows no tools and stores nothing: the hub stays the
only writer.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import aiohttp

from nanobot_transcript.errors import HubUnreachableError
from nanobot_transcript.settings import Settings
from nanobot_transcript.settings.hub_address import no_hub_at, url_of
from transcript_mcp.hub.plain_calls import SESSION, VERSION
from transcript_mcp.sdk.dispatch import PARSE_ERROR
from transcript_mcp.sdk.streams import Lines, Outlet, claimed_streams, signals_set
from transcript_mcp.tokens import own_token

__all__ = ["serve_remote"]

logger = logging.getLogger(__name__)

_VERSION_FIELD: Final = "io.modelcontextprotocol/protocolVersion"
_FAILED: Final = -32000
_AGAIN: Final = "It is unknown whether the call was made; check before you repeat it."
_GRACE: Final = 0.5
_CONNECTING: Final = aiohttp.ClientTimeout(total=None, sock_connect=5)
_HEAR_AGAIN: Final = 1.0
_EVERY_LINE: Final = 64 * 1024 * 1024


async def serve_remote(settings: Settings, server: str) -> None:
    """Serve ``server`` of the hub that the settings describe, until stdin ends or a signal arrives.

    While no hub runs, requests are answered with an error that says how to start one.
    """
    hub = settings.hub
    token, url = own_token(hub.tokens), f"{url_of(hub.host, hub.port)}/mcp/{server}"
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
        self._before: asyncio.Task[None] | None = None
        """The last message that must be answered before any later one is sent: the handshake, or a notification."""
        self._introducing = asyncio.Lock()
        self._subscribed: dict[str, Any] = {}
        """By URI, the message that subscribed to it: sent again after the hub was restarted."""
        self._gone = asyncio.Event()

    async def serve(self, lines: Lines, stop: asyncio.Event) -> None:
        reading = asyncio.create_task(self._read(lines))
        ends = [asyncio.create_task(each.wait()) for each in (stop, self._gone)]
        await asyncio.wait((reading, *ends), return_when=asyncio.FIRST_COMPLETED)
        if self._asked and not stop.is_set() and not self._gone.is_set():
            await asyncio.wait(self._asked, timeout=_GRACE)
        tasks: list[asyncio.Task[Any]] = [reading, *ends, *self._asked]
        tasks += [self._listening] if self._listening is not None else []
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                logger.error("Serving has failed", exc_info=outcome)
        await self._leave()

    async def _read(self, lines: Lines) -> None:
        async for line in lines:
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                await self._say(PARSE_ERROR)
                continue
            if _method(message) == "initialize":
                self._hello = message
            task = asyncio.create_task(self._relayed(message, self._before))
            if _method(message) == "initialize" or _asked_id(message) is None:
                self._before = task  # the handshake comes first, and notifications keep their order
            self._asked.add(task)
            task.add_done_callback(self._asked.discard)

    async def _relayed(self, message: Any, before: asyncio.Task[None] | None) -> None:
        """Pass a message to the hub and its answers to the client; a request always gets an answer."""
        if before is not None:
            await asyncio.wait((before,))
        asked, answered = _asked_id(message), False
        try:
            async for answer in self._exchanged(message):
                self._note_subscription(message, answer)
                answered = answered or (asked is not None and _answers(answer, asked))
                await self._say(answer)
            problem = f"The hub at {self._url} ended its answer too early. {_AGAIN}"
        except HubUnreachableError as error:
            problem = f"{error} {error.hint}"
        except (aiohttp.ClientError, OSError, ValueError) as error:
            problem = f"The hub at {self._url} broke off its answer ({type(error).__name__}). {_AGAIN}"
        except Exception:
            logger.exception("A message could not be passed on")
            problem = "Internal error. The log of this process says more."
        if asked is not None and not answered:
            logger.warning("%s", problem)
            await self._say({"jsonrpc": "2.0", "id": asked, "error": {"code": _FAILED, "message": problem}})

    async def _exchanged(self, message: Any) -> AsyncIterator[Any]:
        """The hub's answers. A 404 means that the hub lost the session, as by a restart: shake hands again, once."""
        begins = message is self._hello
        for attempt in (1, 2):
            session = self._session
            async with self._posted(message) as response:
                if response.status == 404 and session and not begins and attempt == 1:
                    await self._introduced_again(session)
                    continue
                await self._check(response)
                self._session = response.headers.get(SESSION, self._session)
                async for answer in _messages(response):
                    if begins and isinstance(result := answer.get("result"), dict):
                        self._version = result.get("protocolVersion")
                    yield answer
            if _method(message) == "notifications/initialized":
                self._listen()
            return

    async def _check(self, response: aiohttp.ClientResponse) -> None:
        if response.status >= 400:
            text = (await response.text(errors="replace")).strip()[:200]
            raise HubUnreachableError(f"The hub at {self._url} answered {response.status}: {text}.")

    async def _introduced_again(self, lost: str) -> None:
        async with self._introducing:
            if self._session != lost or self._hello is None:
                return  # another request has renewed the session meanwhile
            self._session = None
            async with self._posted(self._hello) as response:
                await self._check(response)
                self._session = response.headers.get(SESSION)
                async for _ in _messages(response):
                    pass
            for message in ({"jsonrpc": "2.0", "method": "notifications/initialized"}, *self._subscribed.values()):
                async with self._posted(message) as response:
                    async for _ in _messages(response):
                        pass
            self._listen()

    def _posted(self, message: Any) -> "_Posting":
        return _Posting(self._http, self._url, self._headers(message), message)

    def _headers(self, message: Any) -> dict[str, str]:
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if self._session and message is not self._hello:
            headers[SESSION] = self._session
        version = _version_of(message) or self._version
        if version and message is not self._hello:
            headers[VERSION] = version
        return headers

    def _note_subscription(self, message: Any, answer: Any) -> None:
        params = message.get("params") if isinstance(message, dict) else None
        uri = params.get("uri") if isinstance(params, dict) else None
        if not isinstance(uri, str) or not isinstance(answer, dict) or "result" not in answer:
            return
        if _method(message) == "resources/subscribe":
            self._subscribed[uri] = message
        elif _method(message) == "resources/unsubscribe":
            self._subscribed.pop(uri, None)

    def _listen(self) -> None:
        """Listen for the hub's notifications, such as that a resource changed."""
        if self._session is None:
            return
        if self._listening is not None and self._listening is not asyncio.current_task():
            self._listening.cancel()
        self._listening = asyncio.create_task(self._follow(self._session))

    async def _follow(self, session: str) -> None:
        while self._session == session:
            try:
                if not await self._follow_once(session):
                    return
            except (aiohttp.ClientError, HubUnreachableError, OSError, ValueError) as error:
                logger.info("Lost the stream of notifications from the hub, retrying: %s", type(error).__name__)
            except Exception:
                logger.exception("Lost the stream of notifications from the hub, retrying")
            await asyncio.sleep(_HEAR_AGAIN)

    async def _follow_once(self, session: str) -> bool:
        """Pass on notifications until the stream ends. False when the hub offers no stream (405)."""
        headers = self._headers(None) | {"Accept": "text/event-stream"}
        async with self._http.get(self._url, headers=headers) as response:
            if response.status == 200:
                async for message in _messages(response):
                    await self._say(message)
            elif response.status == 404:
                await self._introduced_again(session)
            return response.status != 405

    async def _leave(self) -> None:
        if self._session is None:
            return
        try:
            async with asyncio.timeout(_GRACE), self._http.delete(self._url, headers=self._headers(None)):
                pass
        except (aiohttp.ClientError, OSError, TimeoutError):
            return  # the hub ends idle sessions by itself

    async def _say(self, message: Any) -> None:
        line = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode(errors="replace") + b"\n"
        try:
            await self._outlet.write(line)
        except OSError:  # nobody reads any more
            self._gone.set()


class _Posting:
    """One POST; raises HubUnreachableError when no hub answers."""

    def __init__(self, http: aiohttp.ClientSession, url: str, headers: Mapping[str, str], message: Any) -> None:
        self._url = url
        self._request = http.post(url, headers=headers, data=json.dumps(message).encode())

    async def __aenter__(self) -> aiohttp.ClientResponse:
        try:
            return await self._request.__aenter__()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise no_hub_at(self._url, "hub.host and hub.port") from error

    async def __aexit__(self, *of: Any) -> None:
        await self._request.__aexit__(*of)


async def _messages(response: aiohttp.ClientResponse) -> AsyncIterator[Any]:
    """The messages of an answer: one of JSON, or those of an event stream."""
    if response.content_type == "application/json":
        if body := await response.read():
            yield json.loads(body)
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


def _method(message: Any) -> str | None:
    return message.get("method") if isinstance(message, dict) else None


def _asked_id(message: Any) -> Any:
    """The id of a request, None for everything else."""
    return message.get("id") if _method(message) is not None else None


def _answers(message: Any, asked: Any) -> bool:
    return isinstance(message, dict) and message.get("id") == asked and "method" not in message


def _version_of(message: Any) -> str | None:
    value = message
    for key in ("params", "_meta", _VERSION_FIELD):
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None
