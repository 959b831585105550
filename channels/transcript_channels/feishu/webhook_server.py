"""A webhook with a port of its own, as the connection of a channel."""

import asyncio
import logging
from collections.abc import Callable

from aiohttp import web

from nanobot_transcript.errors import ConfigError, TranscriptError
from transcript_channels.feishu.webhook import FeishuWebhook

__all__ = ["WebhookServer"]

logger = logging.getLogger(__name__)


class WebhookServer:
    """Listens at ``host:port`` under ``path``. ``on_state`` is told ``connected``, or ``failed`` for good."""

    def __init__(
        self,
        webhook: FeishuWebhook,
        on_state: Callable[[str], None],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        path: str = "/feishu/events",
    ) -> None:
        self._webhook: FeishuWebhook = webhook
        self._on_state: Callable[[str], None] = on_state
        self._host: str = host
        self._port: int = port
        self._path: str = path
        self._runner: web.AppRunner | None = None
        self._opening: asyncio.Task[None] | None = None
        self.failure: TranscriptError | None = None
        """Why it does not listen; None while it does."""

    @property
    def url(self) -> str:
        """Its address on this machine; empty until it listens."""
        addresses = self._runner.addresses if self._runner is not None else []
        return f"http://{addresses[0][0]}:{addresses[0][1]}{self._path}" if addresses else ""

    def start(self) -> None:
        """Begin to listen on the running event loop; returns at once."""
        self._opening = asyncio.get_running_loop().create_task(self._open())

    async def aclose(self) -> bool:
        """Stop listening; requests that are being handled are handled to their end."""
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)
        if self._runner is not None:
            await self._runner.cleanup()
        return True

    async def _open(self) -> None:
        self._runner = web.AppRunner(self._webhook.application(self._path), access_log=None, handle_signals=False)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self._port).start()
        except OSError as error:
            self.failure = ConfigError(
                f"The webhook cannot listen at {self._host}:{self._port}: {error.strerror or error}.",
                hint="Choose another port, or end the program that has it.",
            )
            self._on_state("failed")
            return
        logger.info("The webhook listens at %s", self.url)
        self._on_state("connected")
