"""Agent Mail on the web page: projects, agents, inboxes, threads, search and claims, and what people can do there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from nanobot_transcript.sql.contract import Sql
from transcript_mcp.mail import views
from transcript_mcp.mail.messages.boxes import COUNTED, LAST, MOST, number_of
from transcript_mcp.mail.messages.letters import HEADERS, letter
from transcript_mcp.mail.service import ImageWish, MailService, Posted
from transcript_mcp.mail.values import Draft, InboxQuery, Letter, LetterPage
from transcript_mcp.mail.views import claims_uri, inbox_uris
from transcript_mcp.page import PageCall, PageWatch, WebPage, get_handler, polling, post_handler, stamp

__all__ = ["MailPage", "RecentThread", "conversations", "unread"]

_FIRST: Final = 100
"""Default number of rows in an answer; the page may ask for up to ``MOST``."""


class MailPage(WebPage):
    """The page's view of the mail; reading changes nothing. Its functions run in threads."""

    def __init__(self, service: MailService, updated: Callable[[str], None]) -> None:
        """``updated`` is called with the URI of each resource that changes."""
        self._service = service
        self._mail = service.mail
        self._updated = updated

    def routes(self) -> list[web.RouteDef]:
        """Below ``/api/mail``."""
        return [
            web.get("/api/mail/projects", get_handler(self.projects)),
            web.get("/api/mail/agents", get_handler(self.agents)),
            web.get("/api/mail/threads", get_handler(self.threads)),
            web.get("/api/mail/thread", get_handler(self.thread)),
            web.get("/api/mail/inbox", get_handler(self.inbox)),
            web.get("/api/mail/outbox", get_handler(self.outbox)),
            web.get("/api/mail/search", get_handler(self.search)),
            web.get("/api/mail/claims", get_handler(self.claims)),
            web.post("/api/mail/send", post_handler(self.send)),
            web.post("/api/mail/reply", post_handler(self.reply)),
            web.post("/api/mail/release", post_handler(self.release)),
        ]

    def projects(self, _asked: PageCall) -> dict[str, Any]:
        """All projects, and the key of the one with the newest message (null when there are no messages)."""
        newest = self._mail.reader.read(_written_to_last, None)
        return {"projects": [{"key": each.key, "slug": each.slug} for each in self._mail.projects()], "newest": newest}

    def agents(self, asked: PageCall) -> dict[str, Any]:
        """The agents of a project, the most recently active first, each with its number of unread messages."""
        project = self._mail.project(asked.text("project"))
        waiting = self._mail.reader.read(lambda db: unread(db, project.id), {})
        limit, before = _stretch(asked)
        found = self._mail.agents(project.key, active_only=False, limit=limit, before=before)
        agents = [{**views.shown_agent(each), "unread": waiting.get(each.name, 0)} for each in found]
        return {"agents": agents, **views.shown_more(found)}

    def threads(self, asked: PageCall) -> dict[str, Any]:
        """The threads of a project, the most recently written first."""
        project = self._mail.project(asked.text("project"))
        limit, before = _stretch(asked)
        found = self._mail.reader.read(lambda db: conversations(db, project.id, limit, before), LetterPage())
        return {
            "threads": [
                {
                    "id": each.id,
                    "subject": each.subject,
                    "messages": each.messages,
                    "senders": list(each.senders),
                    "last_from": each.newest.sender,
                    "last_ts": each.newest.created_ts,
                    "importance": each.newest.importance,
                }
                for each in found
            ],
            **views.shown_more(found),
        }

    def thread(self, asked: PageCall) -> dict[str, Any]:
        """The newest messages of a thread, oldest first, and a summary of these."""
        from transcript_mcp.mail.messages.summary import summarize_letters

        limit, before = _stretch(asked, MOST)
        thread = self._mail.thread(asked.text("id"), asked.text("project"), limit=limit, before=before)
        project = self._mail.project(thread.project).id
        return {
            "id": thread.id,
            "project": thread.project,
            "subject": self._mail.reader.read(lambda db: _subject_of(db, project, thread.id), ""),
            "messages": [views.shown_letter(each) for each in thread.letters],
            "summary": summarize_letters(thread.letters, older=thread.more),
            **views.shown_more(thread),
        }

    def inbox(self, asked: PageCall) -> dict[str, Any]:
        """Messages that an agent received, the newest first. Nothing is marked as read."""
        who = self._mail.whois(asked.text("project"), asked.text("agent"))
        limit, before = _stretch(asked)
        query = InboxQuery(unread_only=asked.flag("unread"), limit=limit, before=before)
        found = self._mail.inbox(who, query)
        return {"messages": [views.shown_delivery(each) for each in found], **views.shown_more(found)}

    def outbox(self, asked: PageCall) -> dict[str, Any]:
        """Messages that an agent sent, the newest first."""
        who = self._mail.whois(asked.text("project"), asked.text("agent"))
        limit, before = _stretch(asked)
        found = self._mail.outbox(who, limit=limit, before=before)
        return {"messages": [views.shown_letter(each) for each in found], **views.shown_more(found)}

    def search(self, asked: PageCall) -> dict[str, Any]:
        """Search a project's messages; matches are between ``**``."""
        from transcript_mcp.mail.search.hits import search

        project = self._mail.project(asked.text("project"))
        limit, before = asked.number("limit", 50, 100), asked.optional("before")
        found = search(self._mail.reader, project.id, asked.text("q"), limit, before)
        return {"hits": found.hits, "more": found.hits.more, "before": found.hits.before, "notes": list(found.notes)}

    def claims(self, asked: PageCall) -> dict[str, Any]:
        """The files that agents have claimed, and until when."""
        project = self._mail.project(asked.text("project"))
        limit, before = _stretch(asked)
        found = self._service.claims.list_claims(project.id, limit=limit, before=before)
        claims = [views.shown_claim(each) for each in found]
        return {"claims": claims, "now": self._mail.now(), **views.shown_more(found)}

    def send(self, asked: PageCall) -> dict[str, Any]:
        """Write to agents as a person."""
        project = self._mail.project(asked.text("project"))
        text = asked.text("body", longest=None)
        draft = Draft(
            asked.text("subject"),
            text,
            to=asked.texts("to"),
            cc=asked.texts("cc") or None,
            importance=asked.text("importance", "normal"),
            ack_required=asked.flag("ack"),
            thread_id=asked.optional("thread"),
            idempotency_key=asked.optional("key"),
            original_body=text,
        )
        return self._shown_posted(self._service.send(project.key, self._mail.human(project.key), draft, ImageWish()))

    def reply(self, asked: PageCall) -> dict[str, Any]:
        """Answer a message as a person, in its thread."""
        text, answered_to = asked.text("body", longest=None), asked.text("id")
        human = self._mail.human(self._mail.message(answered_to).project)
        draft = Draft(
            body=text,
            importance=asked.text("importance", "normal"),
            ack_required=asked.flag("ack"),
            idempotency_key=asked.optional("key"),
            original_body=text,
        )
        return self._shown_posted(self._service.reply(human, answered_to, draft, ImageWish()))

    def release(self, asked: PageCall) -> dict[str, Any]:
        """Release an agent's claims as a person: those on ``paths``, or with ``all`` every one in the project."""
        project = self._mail.project(asked.text("project"))
        holder = self._mail.whois(project.key, asked.text("agent"))
        paths = None if asked.flag("all") else asked.texts("paths")
        released = self._service.claims.release(project.id, holder, paths, by_person=True)
        if released.job is not None:
            self._updated(claims_uri(project.key))
        return views.shown_released(released, self._service.archived(released.job))

    @property
    def watch(self) -> PageWatch:
        """See ``WebPage.watch``."""
        return polling(self.look)

    def look(self) -> Mapping[tuple[tuple[str, str], ...], Any]:
        """The database's current edition and file stamp. The file changes before a write becomes readable."""
        return {(): (self._mail.reader.edition(), stamp(self._mail.places.database))}

    def _shown_posted(self, posted: Posted) -> dict[str, Any]:
        for uri in inbox_uris(posted.sent):
            self._updated(uri)
        return views.shown_posted(posted)


def _stretch(asked: PageCall, default: int = _FIRST) -> tuple[int, str | None]:
    """The limit and the position to continue from that the page asked for."""
    return asked.number("limit", default, MOST), asked.optional("before")


@dataclass(frozen=True, slots=True)
class RecentThread:
    """A thread, or a message without answers: its id, newest message, subject, number of messages, and senders."""

    id: str
    newest: Letter
    subject: str
    messages: int
    senders: tuple[str, ...]


# The newest message of each thread represents it. The first message of a thread may have no ``thread_id``; its answers
# then have its own id as theirs.
_NEWEST: Final = (
    "messages AS newest WHERE newest.project_id = :project AND newest.seq < :below AND NOT EXISTS ("
    "SELECT 1 FROM messages AS later WHERE later.thread_id = coalesce(newest.thread_id, newest.id)"
    " AND later.project_id = :project AND later.seq > newest.seq)"
)
_OF_THREAD: Final = "FROM messages WHERE project_id = :project AND (thread_id = :thread OR id = :thread)"
_SENDERS: Final = (
    f"SELECT from_agent, count(*) AS messages, max(seq) AS last {_OF_THREAD} GROUP BY from_agent ORDER BY last DESC"
)


def conversations(db: Sql, project_id: int, limit: int, before: str | None = None) -> LetterPage[RecentThread]:
    """The threads of a project, the most recently written first.
    ``before`` is a message's id: only threads whose newest message was accepted before it. Raises
    LetterNotFoundError.
    """
    bounds = {"project": project_id, "below": number_of(db, before) if before else LAST}
    rows = db.execute(
        f"SELECT {HEADERS} FROM messages JOIN projects ON projects.id = messages.project_id"
        f" WHERE seq IN (SELECT newest.seq FROM {_NEWEST} ORDER BY newest.seq DESC LIMIT :limit) ORDER BY seq DESC",
        bounds | {"limit": limit},
    )
    found = [_conversation(db, project_id, letter(row)) for row in rows]
    if len(found) < limit:
        return LetterPage(found)
    end = found[-1].newest.id
    counted = f"SELECT count(*) FROM (SELECT 1 FROM {_NEWEST} ORDER BY newest.seq DESC LIMIT {COUNTED}) AS found"
    more = db.execute(counted, bounds | {"below": number_of(db, end)}).fetchone()[0]
    return LetterPage(found, more, end)


def _conversation(db: Sql, project_id: int, newest: Letter) -> RecentThread:
    name = newest.thread_id or newest.id
    senders = db.execute(_SENDERS, {"project": project_id, "thread": name}).fetchall()
    messages = sum(row["messages"] for row in senders)
    subject = _subject_of(db, project_id, name)
    return RecentThread(name, newest, subject, messages, tuple(row["from_agent"] for row in senders))


def _subject_of(db: Sql, project_id: int, thread_id: str) -> str:
    """The subject of a thread's first message; empty for an unknown thread."""
    sql = f"SELECT subject {_OF_THREAD} ORDER BY seq LIMIT 1"
    row = db.execute(sql, {"project": project_id, "thread": thread_id}).fetchone()
    return "" if row is None else str(row["subject"])


def unread(db: Sql, project_id: int) -> dict[str, int]:
    """The number of a project's messages that each agent has not read, by name."""
    rows = db.execute(
        "SELECT agent_name, count(*) AS count FROM message_recipients"
        " JOIN messages ON messages.seq = message_recipients.seq"
        " WHERE message_recipients.read_ts IS NULL AND messages.project_id = ? GROUP BY agent_name",
        (project_id,),
    )
    return {row["agent_name"]: row["count"] for row in rows}


def _written_to_last(db: Sql) -> str | None:
    """The key of the project with the newest message."""
    row = db.execute(
        "SELECT human_key FROM projects WHERE id = (SELECT project_id FROM messages ORDER BY seq DESC LIMIT 1)"
    ).fetchone()
    return None if row is None else str(row["human_key"])
