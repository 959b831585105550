"""Tells subscribers of an inbox about changes. Only inboxes with a subscriber are watched."""

import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from nanobot_transcript.errors import TranscriptError
from nanobot_transcript.threads import in_thread
from transcript_mcp.filebox.filebox import FileBox
from transcript_mcp.filebox.mailbox import Mailbox
from transcript_mcp.sdk import Server
from transcript_mcp.sdk.uritemplate import canonical

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Watching"]

logger = logging.getLogger(__name__)


class Watching:
    """The watched inboxes, each once, in however many forms its URI has subscribers. For one event loop."""

    def __init__(self, server: Server, filebox: FileBox) -> None:
        self._server: Final = server
        self._filebox: Final = filebox
        self._wanted: Final[dict[str, set[str]]] = {}  # the forms of an inbox's URI, by the one without a query
        self._stops: Final[dict[str, Callable[[], None]]] = {}
        server.on_subscribe(self.begin)
        server.on_unsubscribe(self.end)

    async def begin(self, uri: str) -> None:
        """Watch the inbox of a URI. Once this has returned, every change is announced."""
        found = self._server.find(uri)
        if found is None or "agent" not in found[1]:
            return
        inbox = _without_query(uri)
        self._wanted.setdefault(inbox, set()).add(canonical(uri))
        if inbox in self._stops:
            return
        try:
            mailbox, seen = await in_thread(self._look, found[1]["agent"])
        except TranscriptError as error:
            logger.warning("Subscribers of %s get no updates: %s", uri, error)
            return
        if inbox in self._wanted and inbox not in self._stops:
            self._stops[inbox] = mailbox.listen(partial(self._server.updated, inbox), seen)

    def end(self, uri: str) -> None:
        """Stop watching when the last subscriber has left."""
        inbox = _without_query(uri)
        forms = self._wanted.get(inbox, set())
        forms.discard(canonical(uri))
        if not forms:
            self._wanted.pop(inbox, None)
            if (stop := self._stops.pop(inbox, None)) is not None:
                stop()

    def _look(self, agent: str) -> tuple[Mailbox, object]:
        mailbox = self._filebox.mailbox(identity=agent)
        return mailbox, mailbox.inbox_edition()


def _without_query(uri: str) -> str:
    return canonical(uri).partition("?")[0]
