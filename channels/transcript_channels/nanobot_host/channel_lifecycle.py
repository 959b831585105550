"""The parts of our channel class beside messages: what works as long as the channel runs, pressed buttons, and its
connection.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

from transcript_channels.nanobot_host.channel import Core, Gated
from transcript_channels.nanobot_host.channel_tasks import Beside
from transcript_channels.nanobot_host.events_thread import take_events_in_a_thread
from transcript_channels.nanobot_host.inbound import plain

__all__ = ["Actions", "ChannelLifecycle", "Connected"]

logger = logging.getLogger(__name__)

_PRESSED: Final = "register_p2_card_action_trigger"


class ChannelLifecycle(Core):
    """Hears other bots and serves the outbox while nanobot's channel runs."""

    async def start(self) -> None:
        """See nanobot's channel."""
        beside = Beside(self._transcript_host, self._transcript_bot, gated=isinstance(self, Gated))
        working = asyncio.get_running_loop().create_task(beside.run())
        try:
            await super().start()
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)


class Actions(Core):
    """Pressed buttons go to whoever posted the card."""

    _transcript_pressing: Any = None
    _transcript_also_pressed: Any = None

    def _register_optional_event(self, builder: Any, method_name: str, handler: Any) -> Any:
        if method_name == _PRESSED:  # a nanobot that listens itself: both hear it, and it gives the answer
            self._transcript_also_pressed = handler
        if self._transcript_pressing is not builder:
            self._transcript_pressing = builder
            builder = super()._register_optional_event(builder, _PRESSED, self._transcript_pressed)
        if method_name == _PRESSED:
            return builder
        return super()._register_optional_event(builder, method_name, handler)

    def _transcript_pressed(self, data: Any) -> Any:
        try:
            self._transcript_keep_pressed(plain(data))
        except Exception:
            logger.exception("A pressed button could not be kept; the platform tells the person to try again")
            raise
        return self._transcript_also_pressed(data) if self._transcript_also_pressed is not None else None

    def _transcript_keep_pressed(self, event: Mapping[str, Any]) -> None:
        from transcript_channels.feishu.channel import action_from_event

        posts = self._transcript_host.posts
        if posts is not None:
            posts.pressed(action_from_event(event))


class Connected(Core):
    """Whenever the long connection is open, what was missed meanwhile is asked for."""

    @property
    def _ws_client(self) -> Any:
        return self.__dict__.get("_transcript_connection")

    @_ws_client.setter
    def _ws_client(self, client: Any) -> None:
        connect = getattr(client, "_connect", None)
        if callable(connect):
            client._connect = self._transcript_connecting(connect)
        if client is not None and self._transcript_host.conversation.hears_slowly:
            take_events_in_a_thread(client)
        self.__dict__["_transcript_connection"] = client

    def _transcript_connecting(self, connect: Any) -> Any:
        async def connecting() -> None:
            await connect()
            self._transcript_host.connected(self._transcript_bot)

        return connecting
