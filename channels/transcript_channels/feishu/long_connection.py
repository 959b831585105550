"""Events over Feishu's long connection: lark-oapi's client, in a thread and an event loop of its own.

A process may have several connections. The SDK would run them all on one global event loop and cannot be stopped; here
each connection runs on its own loop, is reopened by us, and ends when it is told to.
"""

import asyncio
import logging
import random
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import httpx

from nanobot_transcript.errors import (
    ConfigError,
    CredentialsRefusedError,
    NoAnswerError,
    NotPermittedError,
    PlatformError,
    RateLimitedError,
    RequestRefusedError,
    TranscriptError,
    UnexpectedAnswerError,
)
from transcript_channels.feishu.addresses import FEISHU_URL, is_loopback, web_origin
from transcript_channels.feishu.lark_client import Handler, make_client
from transcript_channels.feishu.responses import CHECK_APP, CHECK_NETWORK, decode

__all__ = ["LongConnection", "OnEvent", "Reconnect"]

logger = logging.getLogger(__name__)

OnEvent = Callable[[dict[str, Any]], Any]
"""Called with each event before it is acknowledged. When it raises, the platform pushes the event again. What it
returns is the answer to a callback such as ``card.action.trigger`` (a toast, a card), and ignored for events. Called in
another thread, one event after the other; it has to be quick (the platform waits for three seconds)."""

_ENDPOINT: Final = "/callback/ws/endpoint"
_BUSY: Final = frozenset({1, 1000040343})
_NO_CREDENTIALS: Final = frozenset({514, 1000040344})
_FORBIDDEN: Final = 403
_TOO_MANY: Final = 1000040350
_OK: Final = 200
_TIMEOUT: Final = 10.0
_GRACE: Final = 2.0
_JOIN: Final = 15.0
_LEAST: Final = 0.1
"""Seconds between two attempts at least, whatever the platform asks for."""


@dataclass(frozen=True, slots=True)
class Reconnect:
    """Seconds to wait before connecting again: at random up to ``first`` after a lost connection, ``interval`` after a
    failed attempt. What the platform asks for at each connect replaces both; ``longest`` bounds them.
    """

    first: float = 5.0
    interval: float = 10.0
    longest: float = 120.0


class LongConnection:
    """The long connection of one app.

    ``on_state`` is told ``connected`` (first time), ``reconnected``, ``lost`` and ``failed`` (for good), in the
    connection's thread: after ``reconnected`` there may be a gap in what was heard.
    """

    def __init__(
        self,
        app_id: str,
        app_secret: str,
        on_event: OnEvent,
        base_url: str = FEISHU_URL,
        *,
        on_state: Callable[[str], None] | None = None,
        reconnect: Reconnect | None = None,
    ) -> None:
        self.app_id: str = app_id
        self._secret: str = app_secret
        self._base_url: str = web_origin(base_url)
        self._on_event: OnEvent = on_event
        self._on_state: Callable[[str], None] = on_state or (lambda state: None)
        self._reconnect: Reconnect = reconnect or Reconnect()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._main: asyncio.Task[None] | None = None
        self._stopping: bool = False
        self._ready: threading.Event = threading.Event()
        self._over: threading.Event = threading.Event()
        self._connected: bool = False
        self.failure: TranscriptError | None = None
        """Why the connection ended for good; None while it lives."""

    @property
    def connected(self) -> bool:
        """True while the connection is open."""
        return self._connected

    def start(self) -> None:
        """Begin to connect, in a thread; returns at once. Raises ConfigError the second time."""
        if self._thread is not None:
            raise ConfigError("A long connection can be started only once.", hint="Create a new one.")
        name = f"feishu-{self.app_id[-6:]}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def stop(self, timeout: float = _JOIN) -> bool:
        """Close the connection and wait for its thread; False when that took longer than ``timeout`` seconds.

        An event that is being handled is finished and acknowledged.
        """
        self._stopping = True
        if self._thread is None:
            return True
        self._ready.wait(timeout)
        loop, main = self._loop, self._main
        if loop is not None and main is not None and not self._over.is_set():
            with suppress(RuntimeError):  # the loop has just been closed
                loop.call_soon_threadsafe(main.cancel)
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)
        return not self._thread.is_alive()

    async def aclose(self, timeout: float = _JOIN) -> bool:  # noqa: ASYNC109
        """``stop`` for code on an event loop."""
        return await asyncio.to_thread(self.stop, timeout)

    # --- in the thread

    def _run(self) -> None:
        try:
            asyncio.run(self._live())
        except asyncio.CancelledError:
            logger.debug("The long connection of %s was stopped", self.app_id)
        except TranscriptError as error:
            self._fail(error)
        except Exception as error:
            logger.exception("The long connection of %s ended", self.app_id)
            self._fail(ConfigError(f"The long connection cannot be used: {error}", hint="Is lark-oapi installed?"))
        finally:
            self._connected = False
            self._over.set()
            self._ready.set()

    async def _live(self) -> None:
        """Connect, stay connected and connect again, until cancelled. Raises what another attempt will not mend."""
        self._loop, self._main = asyncio.get_running_loop(), asyncio.current_task()
        self._ready.set()
        if self._stopping:
            return
        client = make_client(self.app_id, self._secret, self._base_url, Handler(self._on_event))
        times = 0
        trust = not is_loopback(self._base_url)
        async with httpx.AsyncClient(timeout=_TIMEOUT, trust_env=trust) as http:
            while True:
                opened = await self._opened(client, http, first=times == 0)
                if opened:
                    times += 1
                    self._tell("connected" if times == 1 else "reconnected")
                    await self._stay(client)
                    self._tell("lost")
                await asyncio.sleep(self._wait(lost=opened))

    async def _opened(self, client: Any, http: httpx.AsyncClient, *, first: bool) -> bool:
        """Try to connect once. Raises CredentialsRefusedError the first time only: an app whose secret was once right
        may get it back.
        """
        try:
            url, config = await self._endpoint(http)
            client.url = url
            self._adopt(config)
            client.ended.clear()
            async with asyncio.timeout(_TIMEOUT):
                await client._connect()
        except PlatformError as error:
            if first and isinstance(error, CredentialsRefusedError):
                raise
            logger.warning("No long connection for %s: %s %s", self.app_id, error, error.hint)
        except Exception as error:  # whatever the SDK and the network throw: the next attempt may do better
            logger.warning("No long connection for %s: %s: %s", self.app_id, type(error).__name__, error)
            logger.debug("why there is no connection", exc_info=True)
        else:
            self._connected = True
            return True
        await self._close(client)
        return False

    async def _stay(self, client: Any) -> None:
        """Answer and ping until the connection is lost, or this is cancelled."""
        pinging = asyncio.create_task(client._ping_loop())
        try:
            await client.ended.wait()
        finally:
            self._connected = False
            pinging.cancel()
            await self._close(client)

    async def _close(self, client: Any) -> None:
        """Let events that are being handled be acknowledged, then close."""
        if client.handling:
            await asyncio.wait(set(client.handling), timeout=_GRACE)
        if client.receiving is not None:
            client.receiving.cancel()
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(_GRACE):
                await client._disconnect()

    async def _endpoint(self, http: httpx.AsyncClient) -> tuple[str, Mapping[str, Any]]:
        """Where to connect, and how to reconnect. Raises PlatformError kinds. The SDK's own request has no timeout."""
        body = {"AppID": self.app_id, "AppSecret": self._secret}
        try:
            response = await http.post(self._base_url + _ENDPOINT, json=body, headers={"locale": "zh"})
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise NoAnswerError(
                f"Feishu cannot be reached at {self._base_url}: {reason}.", hint=CHECK_NETWORK
            ) from None
        answer = decode(response.content)
        if answer is None or response.status_code != _OK:
            sentence = f"Feishu does not say where to connect (HTTP {response.status_code})."
            raise NoAnswerError(sentence, hint=CHECK_NETWORK)
        if answer.get("code") != 0:
            raise _refusal(answer)
        data = answer.get("data")
        data = data if isinstance(data, Mapping) else {}
        config = data.get("ClientConfig")
        return _usable(data.get("URL")), config if isinstance(config, Mapping) else {}

    # --- waiting and telling

    def _adopt(self, config: Mapping[str, Any]) -> None:
        """Reconnect as the platform asks from now on."""
        usual = self._reconnect
        first, interval = config.get("ReconnectNonce"), config.get("ReconnectInterval")
        self._reconnect = Reconnect(
            first if isinstance(first, int) and first >= 0 else usual.first,
            interval if isinstance(interval, int) and interval >= 0 else usual.interval,
            usual.longest,
        )

    def _wait(self, *, lost: bool) -> float:
        usual = self._reconnect
        return min(random.random() * usual.first if lost else max(usual.interval, _LEAST), usual.longest)

    def _tell(self, state: str) -> None:
        logger.info("The long connection of %s: %s", self.app_id, state)
        try:
            self._on_state(state)
        except Exception:
            logger.exception("Handling the state %s of the long connection of %s failed", state, self.app_id)

    def _fail(self, error: TranscriptError) -> None:
        self.failure = error
        logger.error("The long connection of %s ended for good: %s %s", self.app_id, error, error.hint)
        self._tell("failed")


def _refusal(answer: Mapping[str, Any]) -> PlatformError:
    code, said = answer.get("code"), answer.get("msg")
    told = f"(code {code}: {said})"
    if code in _BUSY:
        return NoAnswerError(f"Feishu is busy {told}", hint="It will be tried again.")
    if code in _NO_CREDENTIALS:
        return CredentialsRefusedError(f"Feishu does not accept the app's credentials {told}", hint=CHECK_APP)
    if code == _TOO_MANY:
        return RateLimitedError(f"The app has too many long connections {told}", hint="50 are allowed; close some.")
    if code == _FORBIDDEN:
        hint = "In the developer console, under events and callbacks, choose to receive them by long connection."
        return NotPermittedError(f"The app may not open a long connection {told}", hint=hint)
    return RequestRefusedError(
        f"Feishu refuses a long connection {told}", hint="Look up the code in Feishu's documentation."
    )


def _usable(url: Any) -> str:
    """The address, once it has what the SDK looks for in it. Raises UnexpectedAnswerError."""
    parts = urlsplit(url) if isinstance(url, str) else urlsplit("")
    query = parse_qs(parts.query)
    service = query.get("service_id", [""])[0]
    if parts.scheme not in ("ws", "wss") or not query.get("device_id") or not service.isdecimal():
        raise UnexpectedAnswerError("Feishu does not say where to connect.", hint=CHECK_NETWORK)
    return parts.geturl()
