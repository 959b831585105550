"""Tells subscribers of an inbox that something has changed in it; nothing runs for inboxes nobody subscribed to."""

import asyncio
import logging
from typing import Final

from nanobot_transcript.errors import TranscriptError
from transcript_mcp.filebox.filebox import FileBox
from transcript_mcp.filebox.mailbox import Mailbox
from transcript_mcp.sdk import Server
from transcript_mcp.sdk.threads import in_thread
from transcript_mcp.sdk.uritemplate import canonical

__all__ = ["Watching"]

_LOOK_EVERY: Final = 0.25
_PAUSE: Final = 10.0

logger = logging.getLogger(__name__)


class Watching:
    """The tasks that watch inboxes, one for each URI that has a subscriber. For one event loop."""

    def __init__(self, server: Server, filebox: FileBox) -> None:
        self._server: Final = server
        self._filebox: Final = filebox
        self._tasks: Final[dict[str, asyncio.Task[None]]] = {}
        server.on_subscribe(self.begin)
        server.on_unsubscribe(self.end)

    async def begin(self, uri: str) -> None:
        """Watch the inbox of a URI; whatever changes from the return of this on is told."""
        found = self._server.find(uri)
        if found is None or "agent" not in found[1]:
            return
        try:
            mailbox = await in_thread(self._filebox.mailbox, identity=found[1]["agent"])
            version = await in_thread(mailbox.inbox_version)
        except TranscriptError as error:
            logger.warning("Nobody is told of changes of %s: %s", uri, error)
            return
        if canonical(uri) not in self._tasks:
            self._tasks[canonical(uri)] = asyncio.create_task(self._watch(uri, mailbox, version))

    def end(self, uri: str) -> None:
        """Nobody is subscribed any more."""
        task = self._tasks.pop(canonical(uri), None)
        if task is not None:
            task.cancel()

    async def _watch(self, uri: str, mailbox: Mailbox, version: object) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            try:
                now = mailbox.inbox_version()
            except TranscriptError as error:
                logger.warning("%s cannot be watched, and is tried again: %s", uri, error)
                await asyncio.sleep(_PAUSE)
                continue
            if now != version:
                version = now
                self._server.updated(uri)
