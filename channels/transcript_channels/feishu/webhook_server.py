"""One port for the webhooks of several bots, each the connection of a channel."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from aiohttp import web

from nanobot_transcript.errors import ConfigError, TranscriptError
from transcript_channels.feishu.webhook import FeishuWebhook

__all__ = ["WebhookSeat", "WebhookServer"]

logger = logging.getLogger(__name__)

_MOST_BYTES: Final = 1024 * 1024


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
        """Let requests in for a seat. Raises ConfigError when the port cannot be had."""
        async with self._opening:
            self._seats[seat.path] = seat
            if self._runner is not None:
                return
            application = web.Application(client_max_size=_MOST_BYTES)
            application.router.add_post("/{path:.*}", self._handle)
            # What a stranger packs is not unpacked, also not when it is refused: the platform packs nothing.
            self._runner = web.AppRunner(application, access_log=None, handle_signals=False, auto_decompress=False)
            await self._runner.setup()
            try:
                await web.TCPSite(self._runner, self._host, self._port).start()
            except OSError as error:
                await self._runner.cleanup()
                self._runner = None
                raise ConfigError(
                    f"The webhook cannot listen at {self._host}:{self._port}: {error.strerror or error}.",
                    hint="Choose another port, or end the program that has it.",
                ) from error
            logger.info("The webhook listens at %s", self.url)

    async def leave(self, seat: "WebhookSeat") -> None:
        """Take no more requests for a seat; without any the port is given back."""
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


class WebhookSeat:
    """One bot at a webhook server. ``on_state`` is told ``connected``, or ``failed`` for good."""

    def __init__(
        self, server: WebhookServer, path: str, webhook: FeishuWebhook, on_state: Callable[[str], None]
    ) -> None:
        self.path: str = path
        self.webhook: FeishuWebhook = webhook
        self.failure: TranscriptError | None = None
        self._server: WebhookServer = server
        self._on_state: Callable[[str], None] = on_state
        self._starting: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to listen on the running event loop; returns at once."""
        self._starting = asyncio.get_running_loop().create_task(self._start())

    async def aclose(self) -> bool:
        """Stop listening; requests that are being handled are handled to their end."""
        if self._starting is not None:
            await asyncio.gather(self._starting, return_exceptions=True)
        await self._server.leave(self)
        return True

    async def _start(self) -> None:
        try:
            await self._server.take(self)
        except TranscriptError as error:
            self.failure = error
            self._on_state("failed")
        else:
            self._on_state("connected")
