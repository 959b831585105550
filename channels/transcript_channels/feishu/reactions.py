"""Reactions that come and go beside the work of a bot: an emoji on a message while it is being answered."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import quote

from nanobot_transcript.errors import NotPermittedError, PlatformError, UnexpectedAnswerError
from transcript_channels.feishu.answers import Patience
from transcript_channels.feishu.client import FeishuClient
from transcript_channels.feishu.fields import string

__all__ = ["Reactions"]

logger = logging.getLogger(__name__)

_NEEDS: Final = ("im:message.reactions:write_only", "im:message")
_PATIENCE: Final = Patience(timeout=5.0, attempts=2, waiting=2.0)
_LAST: Final = 3.0
"""Seconds that reactions which are being taken away get when the bot stops."""


class Reactions:
    """Puts emojis on messages as the app of ``client``, and takes them away. Nobody waits for that; what fails is told
    in the log at debug. An app that has not the scope asks once.
    """

    def __init__(self, client: FeishuClient) -> None:
        self._client: FeishuClient = client.patient(_PATIENCE)
        self._permitted: bool = True
        self._at_work: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def working(self, message_id: str, emoji: str) -> AsyncIterator[None]:
        """Show an emoji on a message until the end of the block."""
        if not self._permitted:
            yield
            return
        done = asyncio.Event()
        task = asyncio.get_running_loop().create_task(self._shown(message_id, emoji, done))
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)
        try:
            yield
        finally:
            done.set()

    async def close(self) -> None:
        """Take away what is still there, and wait a moment for that."""
        if self._at_work:
            await asyncio.wait(self._at_work, timeout=_LAST)
        for task in self._at_work:
            task.cancel()

    async def _shown(self, message_id: str, emoji: str, done: asyncio.Event) -> None:
        path = f"/open-apis/im/v1/messages/{quote(message_id, safe='')}/reactions"
        try:
            body = {"reaction_type": {"emoji_type": emoji}}
            reaction = string(await self._client.call("POST", path, body=body, needs=_NEEDS), "reaction_id")
            if not reaction:
                raise UnexpectedAnswerError("The platform gave the reaction no id.")
            await done.wait()
            await self._client.call("DELETE", f"{path}/{quote(reaction, safe='')}", needs=_NEEDS)
        except PlatformError as error:
            self._permitted = not (isinstance(error, NotPermittedError) and error.scopes)
            logger.debug("A reaction to %s is not shown as it should be: %s %s", message_id, error, error.hint)
