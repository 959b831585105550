"""Events that the platform pushes to an address of ours: a handler for aiohttp, and a server for several bots.

The handler answers the platform's check of the address, and hands each event over before acknowledging it. It accepts a
request only with the right signature, encryption and token, dated about now, and never twice:
https://open.feishu.cn/document/event-subscription-guide/event-subscriptions/event-subscription-configure-/encrypt-key-encryption-configuration-case
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from aiohttp import web

from nanobot_transcript.errors import ConfigError, TranscriptError
from nanobot_transcript.files.os_errors import reason
from transcript_channels.feishu.events import CALLBACKS
from transcript_channels.feishu.long_connection import OnEvent
from transcript_channels.feishu.responses import decode

__all__ = ["Envelopes", "FeishuWebhook", "RefusedError", "Seen", "WebhookOptions", "WebhookSeat", "WebhookServer"]

logger = logging.getLogger(__name__)

_LONGEST_CHALLENGE: Final = 1024
_ON_THEIR_WAY: Final = 8  # times `at_once`: requests whose body is still coming in
_MOST_BYTES: Final = 1024 * 1024
_BLOCK: Final = 16
_LONGEST_HEADER: Final = 256


@dataclass(frozen=True, slots=True)
class WebhookOptions:
    """``most_bytes`` of a request; ``window``: seconds by which its time may be off; ``reading``: seconds in which its
    body has to arrive; ``at_once``: signed requests that are handled at the same time (eight times as many, from
    anybody, may be arriving); ``remembered``: requests and events that are recognised when they come again;
    ``events_kept``: seconds for which an event is. The platform repeats an event for up to 7.1 hours.
    """

    most_bytes: int = 1024 * 1024
    window: float = 600.0
    reading: float = 5.0
    at_once: int = 64
    remembered: int = 20_000
    events_kept: float = 7.2 * 3600.0


class FeishuWebhook:
    """Receives the events of one app.

    ``on_event`` is called in a thread, perhaps several at once; when it raises, the answer is 500 and the platform
    pushes the event again. What it returns for a card's button is the answer to the press. At least one of
    ``encrypt_key`` and ``verification_token`` is needed: ConfigError. With an encrypt key everything else must be
    encrypted and signed.
    """

    def __init__(
        self,
        on_event: OnEvent,
        *,
        encrypt_key: str = "",
        verification_token: str = "",
        options: WebhookOptions | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._on_event: OnEvent = on_event
        self._options: WebhookOptions = options or WebhookOptions()
        kept = self._options.remembered
        nonces = Seen(kept, 2 * self._options.window, clock)
        self._envelopes: Envelopes = Envelopes(encrypt_key, verification_token, self._options.window, clock, nonces)
        self._taken: Seen = Seen(kept, self._options.events_kept, clock)
        self._taking: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._busy: int = 0
        self._reading: int = 0
        # Threads of its own: `on_event` may wait in one for work on the event loop. That work needs the loop's default
        # threads, and would never get one if handlers had taken them all.
        self._threads: ThreadPoolExecutor = ThreadPoolExecutor(self._options.at_once, "feishu-webhook")

    def application(self, path: str = "/feishu/events") -> web.Application:
        """An application with this one route, to be served or to be added to another."""
        application = web.Application(client_max_size=self._options.most_bytes)
        application.router.add_post(path, self.handle)
        return application

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one request."""
        if self._reading >= _ON_THEIR_WAY * self._options.at_once:
            return _said(503, "busy")
        self._reading += 1
        try:
            event, mark = self._envelopes.open(await self._body(request), request.headers)
        except RefusedError as error:
            logger.warning("A request to the webhook was refused with %d: %s", error.status, error)
            return _said(error.status, "refused")
        finally:
            self._reading -= 1
        if self._busy >= self._options.at_once:
            self._envelopes.nonces.forget(mark)
            return _said(503, "busy")
        self._busy += 1
        try:
            return await self._answer(event, mark)
        finally:
            self._busy -= 1

    async def _body(self, request: web.Request) -> bytes:
        """The whole body. Raises RefusedError when it is too large or too slow."""
        most = self._options.most_bytes
        if request.content_length is not None and request.content_length > most:
            raise RefusedError(413, "a body that is too large")
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._options.reading):
                async for part in request.content.iter_any():
                    size += len(part)
                    if size > most:
                        raise RefusedError(413, "a body that is too large")
                    parts.append(part)
        except TimeoutError:
            raise RefusedError(408, "a body that does not come") from None
        except (web.RequestPayloadError, ConnectionError):
            raise RefusedError(400, "a body that cannot be read") from None
        return b"".join(parts)

    async def _answer(self, event: dict[str, Any], mark: str) -> web.Response:
        if event.get("type") == "url_verification":
            challenge = event.get("challenge")
            usable = isinstance(challenge, str) and len(challenge) <= _LONGEST_CHALLENGE
            return web.json_response({"challenge": challenge}) if usable else _said(400, "no challenge")
        key, kind = _name(event)
        if not key:
            logger.warning("A request to the webhook has no event")
            return _said(400, "no event")
        if self._taken.known(key):
            return _taken(self._taken.value(key))
        taking = self._taking.get(key)
        if taking is None:  # else it came a second time before the first one was done
            taking = self._taking[key] = asyncio.ensure_future(self._take(event, key, kind))
        try:
            return _taken(await asyncio.shield(taking))
        except Exception:
            logger.exception("An event could not be handled; Feishu will push it again")
            self._envelopes.nonces.forget(mark)
            return _said(500, "not taken")

    async def _take(self, event: dict[str, Any], key: str, kind: str) -> dict[str, Any]:
        """Hand an event over, once; the answer to it is remembered for when it comes again."""
        try:
            answer = await asyncio.get_running_loop().run_in_executor(self._threads, self._on_event, event)
            answer = answer if kind in CALLBACKS and isinstance(answer, dict) else {}
            self._taken.add(key, answer)
            return answer
        finally:
            del self._taking[key]


class WebhookServer:
    """Listens at ``host:port`` as long as a bot has a seat at it; port 0 is a free one."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self._host: str = host
        self._port: int = port
        self._seats: dict[str, WebhookSeat] = {}
        self._runner: web.AppRunner | None = None
        self._opening: asyncio.Lock = asyncio.Lock()

    @property
    def url(self) -> str:
        """Its address on this machine; empty while it does not listen."""
        addresses = self._runner.addresses if self._runner is not None else []
        return f"http://{addresses[0][0]}:{addresses[0][1]}" if addresses else ""

    def seat(self, path: str, webhook: FeishuWebhook, on_state: Callable[[str], None]) -> "WebhookSeat":
        """A connection for the bot whose events come to ``path``."""
        return WebhookSeat(self, path, webhook, on_state)

    async def take(self, seat: "WebhookSeat") -> None:
        """Accept requests for a seat. Raises ConfigError when nothing can listen at the port."""
        async with self._opening:
            self._seats[seat.path] = seat
            if self._runner is not None:
                return
            application = web.Application(client_max_size=_MOST_BYTES)
            application.router.add_post("/{path:.*}", self._handle)
            # The platform compresses nothing. By default aiohttp would decompress whatever a stranger sends, before we
            # can refuse it.
            self._runner = web.AppRunner(application, access_log=None, handle_signals=False, auto_decompress=False)
            await self._runner.setup()
            try:
                await web.TCPSite(self._runner, self._host, self._port).start()
            except OSError as error:
                await self._runner.cleanup()
                self._runner = None
                raise ConfigError(
                    f"The webhook cannot listen at {self._host}:{self._port}: {reason(error)}.",
                    hint="Choose another port, or stop the program that uses it.",
                ) from error
            logger.info("The webhook listens at %s", self.url)

    async def leave(self, seat: "WebhookSeat") -> None:
        """Accept no more requests for a seat; after the last one the port is closed."""
        async with self._opening:
            self._seats.pop(seat.path, None)
            if not self._seats and self._runner is not None:
                await self._runner.cleanup()
                self._runner = None

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        seat = self._seats.get(request.path)
        if seat is None:
            raise web.HTTPNotFound
        return await seat.webhook.handle(request)


@dataclass(slots=True, eq=False)
class WebhookSeat:
    """One bot at a webhook server. ``on_state`` is told ``connected``, or ``failed`` for good."""

    server: WebhookServer
    path: str
    webhook: FeishuWebhook
    on_state: Callable[[str], None]
    failure: TranscriptError | None = field(default=None, init=False)
    _starting: asyncio.Task[None] | None = field(default=None, init=False)

    def start(self) -> None:
        """Begin to listen on the running event loop; returns at once."""
        self._starting = asyncio.get_running_loop().create_task(self._start())

    async def aclose(self) -> bool:
        """Stop listening; requests that are being handled are finished."""
        if self._starting is not None:
            await asyncio.gather(self._starting, return_exceptions=True)
        await self.server.leave(self)
        return True

    async def _start(self) -> None:
        try:
            await self.server.take(self)
        except TranscriptError as error:
            self.failure = error
            self.on_state("failed")
        else:
            self.on_state("connected")


class RefusedError(Exception):
    """A request that is not accepted; ``status`` is the HTTP status to answer with."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(slots=True, eq=False)
class Seen:
    """Remembers keys for ``seconds``, at most ``most`` of them; the oldest go first."""

    most: int
    seconds: float
    clock: Callable[[], float]
    _until: OrderedDict[str, tuple[float, Any]] = field(default_factory=OrderedDict, init=False)

    def add(self, key: str, value: Any = None) -> bool:
        """Remember a key and a value; False if the key is remembered already."""
        if self.known(key):
            return False
        self._until[key] = (self.clock() + self.seconds, value)
        while len(self._until) > self.most:
            self._until.popitem(last=False)
        return True

    def known(self, key: str) -> bool:
        """True if the key is remembered."""
        now = self.clock()
        while self._until and next(iter(self._until.values()))[0] <= now:
            self._until.popitem(last=False)
        return key in self._until

    def value(self, key: str) -> Any:
        """The value that was remembered with a key; None if there is none."""
        return self._until.get(key, (0.0, None))[1]

    def forget(self, key: str) -> None:
        """The key may come again."""
        self._until.pop(key, None)


@dataclass(frozen=True, slots=True)
class Envelopes:
    """Opens the requests for one app. ``window``: seconds by which the sender's clock may differ.

    Raises ConfigError without a key and a token, because then anybody could send events.
    """

    encrypt_key: str = field(repr=False)
    verification_token: str = field(repr=False)
    window: float
    clock: Callable[[], float]
    nonces: Seen

    def __post_init__(self) -> None:
        if not self.encrypt_key and not self.verification_token:
            raise ConfigError(
                "A webhook without an encrypt key and without a verification token would take events from anybody.",
                hint="Copy them from the app's page on events and callbacks, under encryption strategy.",
            )

    def open(self, body: bytes, headers: Mapping[str, str]) -> tuple[dict[str, Any], str]:
        """The JSON object in a request, and the request's mark, which no other has (empty when it is not signed).

        Raises RefusedError for what does not come from the platform, and for a replay of what does.
        """
        mark = self._signed(body, headers)
        outer = decode(body)
        if outer is None:
            raise RefusedError(400, "no JSON object")
        event = self._decrypted(outer) if self.encrypt_key else outer
        if not mark and self.encrypt_key and event.get("type") != "url_verification":
            raise RefusedError(401, "no signature")
        self._check_token(event)
        if mark and not self.nonces.add(mark):
            raise RefusedError(403, "the same request again")
        return event, mark

    def _signed(self, body: bytes, headers: Mapping[str, str]) -> str:
        """The signature of a request that has the right one; the empty string for an unsigned request."""
        stamp, nonce = headers.get("X-Lark-Request-Timestamp", ""), headers.get("X-Lark-Request-Nonce", "")
        signature = headers.get("X-Lark-Signature", "")
        if not self.encrypt_key or not (stamp or nonce or signature):
            return ""
        if max(map(len, (stamp, nonce, signature))) > _LONGEST_HEADER:
            raise RefusedError(401, "headers that are too long")
        signed = hashlib.sha256(
            f"{stamp}{nonce}{self.encrypt_key}".encode("utf-8", "surrogateescape") + body
        ).hexdigest()
        if not _same(signed, signature):
            raise RefusedError(401, "a wrong signature")
        if not stamp.isdecimal() or not stamp.isascii() or abs(self.clock() - int(stamp)) > self.window:
            raise RefusedError(401, "a time that is too far off")
        return signed

    def _decrypted(self, outer: Mapping[str, Any]) -> dict[str, Any]:
        sealed = outer.get("encrypt")
        if not isinstance(sealed, str):
            raise RefusedError(401, "an event that is not encrypted")
        event = decode(_decrypt(sealed, self.encrypt_key))
        if event is None:
            raise RefusedError(400, "nothing that the encrypt key opens")
        return event

    def _check_token(self, event: Mapping[str, Any]) -> None:
        if not self.verification_token:
            return
        header = event.get("header")
        token = header.get("token") if isinstance(header, Mapping) else event.get("token")
        if not isinstance(token, str) or not _same(token, self.verification_token):
            raise RefusedError(401, "a wrong verification token")


def _name(event: dict[str, Any]) -> tuple[str, str]:
    """An event's unique name and its type, in either of the platform's two schemas; two empty texts if it is none."""
    header, body = event.get("header"), event.get("event")
    if isinstance(header, dict):
        event_id, kind, app = header.get("event_id"), header.get("event_type"), header.get("app_id")
    else:
        body = body if isinstance(body, dict) else {}
        event_id, kind, app = event.get("uuid"), body.get("type"), body.get("app_id")
    if not isinstance(event_id, str) or not event_id or not isinstance(kind, str):
        return "", ""
    return f"{app}/{event_id}", kind


def _said(status: int, message: str) -> web.Response:
    return web.json_response({"msg": message}, status=status)


def _taken(answer: dict[str, Any]) -> web.Response:
    return web.json_response(answer)


def _same(given: str, wanted: str) -> bool:
    """Compare in constant time: how long it takes must not tell how much of a guess was right."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode("utf-8", "replace"))


def _decrypt(sealed: str, key: str) -> bytes:
    """The decrypted bytes (AES-256-CBC, the first block is the IV); none when the key is wrong."""
    aes = _aes()
    try:
        raw = base64.b64decode(sealed, validate=True)
    except (binascii.Error, ValueError):
        return b""
    if len(raw) < 2 * _BLOCK or len(raw) % _BLOCK:
        return b""
    cipher = aes.new(hashlib.sha256(key.encode()).digest(), aes.MODE_CBC, raw[:_BLOCK])
    padded = cipher.decrypt(raw[_BLOCK:])
    missing = padded[-1]
    if not 1 <= missing <= _BLOCK or padded[-missing:] != bytes([missing]) * missing:
        return b""
    return padded[:-missing]


def _aes() -> Any:
    try:
        from Crypto.Cipher import AES
    except ImportError as error:
        raise ConfigError(
            "An encrypted webhook needs pycryptodome.", hint="pip install 'nanobot-transcript[feishu]'"
        ) from error
    return AES
