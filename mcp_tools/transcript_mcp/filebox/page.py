"""The page of mailboxes: the boxes and threads of each FileBox agent, and acting as an agent if permitted."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from nanobot_transcript.errors import ConfigError, RunAsRefusedError, TranscriptError
from transcript_mcp.filebox import views
from transcript_mcp.filebox.agents import acting
from transcript_mcp.filebox.filebox import FileBox
from transcript_mcp.filebox.mailbox import Mailbox
from transcript_mcp.filebox.search import MailQuery
from transcript_mcp.filebox.values import BOXES
from transcript_mcp.page import PageCall, PageWatch, WebPage, get_handler, polling, post_handler, stamp

__all__ = ["BoxesPage"]

_MOST: Final = 1000
"""Rows in one answer."""


@dataclass(eq=False)
class BoxesPage(WebPage):
    """The page's handlers run in threads.

    A person may act as an agent under the same rule as ``runAs``: ``filebox.run_as``. Looking marks nothing as read,
    because the agent has not seen it yet.
    """

    filebox: FileBox
    agent: str

    @property
    def is_there(self) -> bool:
        """False where no configuration file names agents."""
        try:
            return self.filebox.source.file() is not None
        except ConfigError:
            return True

    def routes(self) -> list[web.RouteDef]:
        """Below ``/api/boxes``."""
        return [
            web.get("/api/boxes", get_handler(self.agents)),
            web.get("/api/boxes/page", get_handler(self.page)),
            web.get("/api/boxes/thread", get_handler(self.thread)),
            web.get("/api/boxes/search", get_handler(self.search)),
            web.post("/api/boxes/send", post_handler(self.send)),
            web.post("/api/boxes/resolve", post_handler(self.resolve)),
            web.post("/api/boxes/reject", post_handler(self.reject)),
        ]

    def agents(self, _asked: PageCall) -> dict[str, Any]:
        """All agents, whether a person may act as them, and the size of their inbox."""
        roster = self.filebox.roster()
        agents: list[dict[str, Any]] = []
        for place in roster.agents.values():
            shown: dict[str, Any] = {"name": place.agent, "permitted": self._permitted(place.agent)}
            if place.problem:
                shown["problem"] = place.problem
            elif shown["permitted"]:
                shown |= self._counts(place.agent)
            agents.append(shown)
        return {"agents": agents, "types": list(self.filebox.options.types)}

    def page(self, asked: PageCall) -> dict[str, Any]:
        """The headers of a box, the newest first, after the ``offset`` newest ones."""
        box, limit = asked.text("box"), asked.number("limit", 100, _MOST)
        offset = asked.number("offset", 0, sys.maxsize, least=0)
        page = self._mailbox(asked).page(box, limit, offset)
        return views.shown_page(box, page) | {"more": max(0, page.total - page.offset - len(page.mails))}

    def thread(self, asked: PageCall) -> dict[str, Any]:
        """A conversation, newest entry first; it stays unread."""
        thread = self._mailbox(asked).thread(asked.text("id"), mark_read=False)
        return views.shown_thread(thread, self.filebox.options.max_read)

    def search(self, asked: PageCall) -> dict[str, Any]:
        """The newest mails of all four boxes with some words, and whether there are more."""
        limit = asked.number("limit", 50, _MOST)
        found = self._mailbox(asked).search(MailQuery(asked.text("q")), limit + 1)
        return {"hits": views.shown_found(found[:limit]), "more": len(found) > limit}

    def send(self, asked: PageCall) -> dict[str, Any]:
        """Send a new mail, or with ``original`` a reply."""
        original = asked.text("original", "")
        title = asked.text("title", "-" if original else None)
        content = asked.text("content", longest=None)
        sent = self._mailbox(asked).send(asked.text("to"), asked.text("type"), title, content, original)
        return {"id": sent.id, "file": sent.file, "note": sent.note}

    def resolve(self, asked: PageCall) -> dict[str, Any]:
        """Move a mail from the inbox to ``done``."""
        return {"file": self._mailbox(asked).resolve(asked.text("file")).file}

    def reject(self, asked: PageCall) -> dict[str, Any]:
        """Move a mail from the inbox to ``cancel``."""
        return {"file": self._mailbox(asked).reject(asked.text("file")).file}

    @property
    def watch(self) -> PageWatch:
        """See ``WebPage.watch``."""
        return polling(self.look)

    def look(self) -> Mapping[tuple[tuple[str, str], ...], Any]:
        """The stamps of all boxes and read marks."""
        seen: dict[tuple[tuple[str, str], ...], Any] = {}
        for place in self.filebox.roster().agents.values():
            if not place.problem:
                folders = [stamp(place.mailbox / box) for box in BOXES]
                seen[(("agent", place.agent),)] = *folders, stamp(place.mailbox / ".state" / "read.jsonl")
        return seen

    def _mailbox(self, asked: PageCall) -> Mailbox:
        return self.filebox.mailbox(asked.text("agent"), identity=self.agent)

    def _permitted(self, agent: str) -> bool:
        try:
            acting(self.filebox.roster(), self.filebox.options, agent, self.agent)
        except RunAsRefusedError:
            return False
        except TranscriptError:
            return True  # permitted, but the agent has a problem, which is shown instead
        return True

    def _counts(self, agent: str) -> dict[str, Any]:
        try:
            mailbox = self.filebox.mailbox(agent, identity=self.agent)
            return {
                "inbox": mailbox.page("inbox", 1).total,
                "unread": mailbox.page("inbox", 1, unread=True).total,
            }
        except TranscriptError as error:
            return {"problem": f"{error} {error.hint}".strip()}
