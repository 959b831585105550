"""Tells subscribers of a chat's resource about new messages. Only chats with a subscriber are followed."""

import asyncio
import logging
from contextlib import aclosing
from typing import Final

from nanobot_transcript.errors import StoreError, TranscriptError
from nanobot_transcript.store.front import GroupTranscriptStore
from nanobot_transcript.store.names import chat_to_be
from nanobot_transcript.threads import in_thread
from transcript_mcp.sdk import Server
from transcript_mcp.sdk.uritemplate import canonical

__all__ = ["Following"]

logger = logging.getLogger(__name__)

_PAUSE: Final = 10.0


class Following:
    """One task for each chat with a subscriber, however the URI is spelled. For one event loop.

    A chat that cannot be followed is tried again after ``pause`` seconds.
    """

    def __init__(self, server: Server, store: GroupTranscriptStore, *, pause: float = _PAUSE) -> None:
        self._server = server
        self._store = store
        self._pause = pause
        self._wanted: set[str] = set()
        self._chats: dict[str, str] = {}  # session keys by URI
        self._spellings: dict[str, dict[str, str]] = {}  # by session key: URIs as clients spell them
        self._tasks: dict[str, asyncio.Task[None]] = {}  # by session key
        server.on_subscribe(self.begin)
        server.on_unsubscribe(self.end)

    async def begin(self, uri: str) -> None:
        """Follow the chat of a URI. Once this has returned, every new message is announced."""
        known = canonical(uri)
        self._wanted.add(known)
        place = await in_thread(self._place, uri)
        if place is None or known not in self._wanted or known in self._chats:
            return
        session_key, end = place
        self._chats[known] = session_key
        self._spellings.setdefault(session_key, {})[known] = uri
        if session_key not in self._tasks:
            self._tasks[session_key] = asyncio.create_task(self._follow(session_key, end))

    def end(self, uri: str) -> None:
        """Stop following: the last subscriber has left."""
        known = canonical(uri)
        self._wanted.discard(known)
        session_key = self._chats.pop(known, None)
        if session_key is None:
            return
        del self._spellings[session_key][known]
        if not self._spellings[session_key]:
            del self._spellings[session_key]
            self._tasks.pop(session_key).cancel()

    def _tell(self, session_key: str) -> None:
        for uri in list(self._spellings.get(session_key, {}).values()):
            self._server.updated(uri)

    def _place(self, uri: str) -> tuple[str, str] | None:
        """Session key and present end of the chat; None when there is no such chat."""
        found = self._server.find(uri)
        if found is None:
            return None
        try:
            session_key = chat_to_be(self._store, found[1]["chat"])
            return session_key, self._store.end(session_key)
        except TranscriptError as error:
            logger.warning("Subscribers of %s get no updates: %s %s", uri, error, error.hint)
            return None

    async def _follow(self, session_key: str, after: str | None) -> None:
        while True:
            try:
                async with aclosing(self._store.follow(session_key, after)) as entries:
                    async for _ in entries:
                        self._tell(session_key)
            except StoreError as error:
                logger.warning("%s cannot be followed; trying again: %s %s", session_key, error, error.hint)
            except Exception:
                logger.exception("%s cannot be followed; trying again", session_key)
            after = None
            await asyncio.sleep(self._pause)
            self._tell(session_key)  # messages may have been missed meanwhile
