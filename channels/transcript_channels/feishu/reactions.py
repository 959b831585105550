"""Emoji reactions of a bot to messages: while it answers them, or for good."""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import quote

from nanobot_transcript.errors import NotPermittedError, PlatformError, UnexpectedAnswerError
from transcript_channels.feishu.addresses import message_path
from transcript_channels.feishu.client import FeishuClient
from transcript_channels.feishu.fields import string
from transcript_channels.feishu.retries import Patience

__all__ = ["Reactions"]

logger = logging.getLogger(__name__)

_NEEDS: Final = ("im:message.reactions:write_only", "im:message")
_PATIENCE: Final = Patience(timeout=5.0, attempts=2, waiting=2.0)
_LAST: Final = 3.0
"""Seconds for which a bot that stops waits until its reactions are gone."""


class Reactions:
    """Adds and removes reactions as the app of ``client``, in the background; nothing raises. Without the scope it
    tries only once. For one event loop.

    A failure is logged: for ``working`` at debug; for ``react`` the first of each kind as a warning.
    """

    def __init__(self, client: FeishuClient) -> None:
        self._client: FeishuClient = client.patient(_PATIENCE)
        self._refused: NotPermittedError | None = None
        self._told: set[str] = set()
        self._at_work: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def working(self, message_id: str, emoji: str) -> AsyncIterator[None]:
        """Show a reaction to a message until the end of the block."""
        if self._refused is not None:
            yield
            return
        done = asyncio.Event()
        self._begin(self._shown(message_id, emoji, done))
        try:
            yield
        finally:
            done.set()

    def react(self, message_id: str, emoji: str) -> None:
        """Add a reaction to a message, for good."""
        if self._refused is None:
            self._begin(self._left(message_id, emoji))
        else:
            self._tell(message_id, self._refused)

    async def close(self) -> None:
        """Wait a moment for reactions to be removed, then give up."""
        if self._at_work:
            await asyncio.wait(self._at_work, timeout=_LAST)
        for task in self._at_work:
            task.cancel()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)

    async def _shown(self, message_id: str, emoji: str, done: asyncio.Event) -> None:
        try:
            reaction = await self._put(message_id, emoji)
            await done.wait()
            path = f"{_path(message_id)}/{quote(reaction, safe='')}"
            await self._client.call("DELETE", path, needs=_NEEDS)
        except PlatformError as error:
            self._note(error)
            logger.debug("A reaction to %s could not be updated: %s %s", message_id, error, error.hint)

    async def _left(self, message_id: str, emoji: str) -> None:
        try:
            await self._put(message_id, emoji)
        except PlatformError as error:
            self._note(error)
            self._tell(message_id, error)

    async def _put(self, message_id: str, emoji: str) -> str:
        """The id of the reaction. Raises PlatformError kinds."""
        body = {"reaction_type": {"emoji_type": emoji}}
        reaction = string(await self._client.call("POST", _path(message_id), body=body, needs=_NEEDS), "reaction_id")
        if not reaction:
            raise UnexpectedAnswerError("The platform gave the reaction no id.")
        return reaction

    def _note(self, error: PlatformError) -> None:
        """Remember that the scope is missing."""
        if isinstance(error, NotPermittedError) and error.scopes:
            self._refused = error

    def _tell(self, message_id: str, error: PlatformError) -> None:
        level = logging.DEBUG if error.code in self._told else logging.WARNING
        self._told.add(error.code)
        logger.log(level, "No reaction to %s: %s %s", message_id, error, error.hint)


def _path(message_id: str) -> str:
    return f"{message_path(message_id)}/reactions"
