"""Events that the platform pushes to an address of ours: an aiohttp handler.

Answers the check of the address, opens what is encrypted, lets in only what the platform signed, and hands each event
over before it is acknowledged.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from transcript_channels.feishu.envelopes import Envelopes, RefusedError, Seen
from transcript_channels.feishu.long_connection import OnEvent

__all__ = ["FeishuWebhook", "WebhookOptions"]

logger = logging.getLogger(__name__)

_CALLBACKS: Final = frozenset({"card.action.trigger", "url.preview.get"})
_LONGEST_CHALLENGE: Final = 1024
_ON_THEIR_WAY: Final = 8


@dataclass(frozen=True, slots=True)
class WebhookOptions:
    """``most_bytes`` of a request, ``window`` in seconds by which its time may be off, ``reading`` in seconds until it
    must be here, ``at_once``: signed requests that are handled at the same time (eight times as many may be on their
    way, from whomever), ``remembered``: requests and events that are known again. The platform repeats an event for up
    to 7.1 hours.
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
        # Threads of its own: a handler waits in one for work on the event loop that needs the loop's usual threads.
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
            logger.warning("A request to the webhook holds no event")
            return _said(400, "no event")
        if self._taken.known(key):
            return _taken(self._taken.value(key))
        taking = self._taking.get(key)
        if taking is None:  # else it came a second time before the first one was done
            taking = self._taking[key] = asyncio.ensure_future(self._take(event, key, kind))
        try:
            return _taken(await asyncio.shield(taking))
        except Exception:
            logger.exception("An event could not be taken; Feishu will push it again")
            self._envelopes.nonces.forget(mark)
            return _said(500, "not taken")

    async def _take(self, event: dict[str, Any], key: str, kind: str) -> dict[str, Any]:
        """Hand an event over; what to answer to it, now and when it comes again."""
        try:
            answer = await asyncio.get_running_loop().run_in_executor(self._threads, self._on_event, event)
            answer = answer if kind in _CALLBACKS and isinstance(answer, dict) else {}
            self._taken.add(key, answer)
            return answer
        finally:
            del self._taking[key]


def _name(event: dict[str, Any]) -> tuple[str, str]:
    """What tells an event from others (empty: it is none), and its type; of both schemas."""
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
