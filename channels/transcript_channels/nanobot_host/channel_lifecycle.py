"""Parts of our channel class that follow its life: tasks that run while it runs, and what happens when it connects."""

import asyncio
from typing import Any

from transcript_channels.nanobot_host.channel import Core, Gated
from transcript_channels.nanobot_host.channel_tasks import ChannelTasks
from transcript_channels.nanobot_host.events_thread import take_events_in_a_thread

__all__ = ["ChannelLifecycle", "Connected"]


class ChannelLifecycle(Core):
    """Hears other bots and serves the outbox while nanobot's channel runs."""

    async def start(self) -> None:
        """See nanobot's channel."""
        tasks = ChannelTasks(self._transcript_host, self._transcript_bot, gated=isinstance(self, Gated))
        working = asyncio.get_running_loop().create_task(tasks.run())
        try:
            await super().start()
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)


class Connected(Core):
    """Whenever the long connection is opened, messages that were missed meanwhile are asked for."""

    @property
    def _ws_client(self) -> Any:
        return self.__dict__.get("_transcript_connection")

    @_ws_client.setter
    def _ws_client(self, client: Any) -> None:
        connect = getattr(client, "_connect", None)  # the SDK also calls it to reconnect
        if callable(connect):
            client._connect = self._transcript_connecting(connect)
        if client is not None and self._transcript_host.conversation.hears_slowly:  # the record is far away
            take_events_in_a_thread(client)
        self.__dict__["_transcript_connection"] = client

    def _transcript_connecting(self, connect: Any) -> Any:
        async def connecting() -> None:
            await connect()
            self._transcript_host.connected(self._transcript_bot)

        return connecting
