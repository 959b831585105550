"""The MCP tools for agents and messages: names, descriptions and limits as clients see them.
The tools for claims and the guard are in ``claims.tools``.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from nanobot_transcript.topics.ties import Fit, TitledText, fits
from transcript_mcp.mail import arguments as given
from transcript_mcp.mail import views
from transcript_mcp.mail.messages.receipts import OVERDUE
from transcript_mcp.mail.service import ImageWish, MailService, Posted
from transcript_mcp.mail.values import Agent, Delivery, Draft, InboxQuery, ReadReceipt
from transcript_mcp.mail.views import inbox_uri, inbox_uris
from transcript_mcp.sdk import Server

if TYPE_CHECKING:
    from nanobot_transcript.topics.group_talk import GroupTalk

__all__ = ["MailTools", "ranked"]


class MailTools:
    """One method per tool; ``offer`` registers them all. ``groups`` opens the group transcripts when needed."""

    def __init__(self, service: MailService, groups: "Callable[[], GroupTalk]", updated: Callable[[str], None]) -> None:
        """``updated`` is called with the URI of each resource that changes."""
        self._service = service
        self._mail = service.mail
        self._groups = groups
        self._updated = updated

    def offer(self, server: Server) -> None:
        """Register all tools."""
        for function, title, reads in (
            (self.create_agent, "Create an agent", False),
            (self.register_agent, "Register a named agent", False),
            (self.start_session, "Start a session", False),
            (self.whois, "Who is this agent", True),
            (self.list_agents, "List agents", True),
            (self.send_message, "Send a message", False),
            (self.reply_message, "Reply to a message", False),
            (self.check_my_messages, "Check my messages", True),
            (self.mark_read, "Mark messages as read", False),
            (self.acknowledge_message, "Acknowledge a message", False),
            (self.overdue_acknowledgements, "Overdue acknowledgements", True),
            (self.search_messages, "Search messages", True),
            (self.summarize_thread, "Summarize a thread", True),
        ):
            server.tool(function, title=title, read_only=reads, idempotent=reads)

    # -- identities

    def create_agent(
        self,
        project_key: given.Project,
        program: given.Program,
        model: given.Model,
        task_description: given.Task = "",
        name_hint: Annotated[str | None, Field(description="A name to use if it is free.")] = None,
    ) -> dict[str, Any]:
        """Register a new agent under a memorable name such as GreenCastle, and get its profile.

        Keep the name for all further calls. agent_token is shown only this once.
        """
        made = self._mail.create_agent(project_key, program, model, task_description, name_hint)
        return views.shown_registration(made, self._service.archived(made.job))

    def register_agent(
        self,
        project_key: given.Project,
        agent_name: Annotated[str, Field(description="The fixed name.")],
        program: given.Program = "",
        model: given.Model = "",
        task_description: given.Task = "",
        agent_token: given.Token = None,
    ) -> dict[str, Any]:
        """Register an agent under a fixed name, or update its profile."""
        made = self._mail.register_agent(project_key, agent_name, program, model, task_description, token=agent_token)
        return views.shown_registration(made, self._service.archived(made.job))

    def start_session(
        self,
        project_key: given.Project,
        program: given.Program,
        model: given.Model,
        task_description: given.Task = "",
        agent_name: Annotated[
            str | None, Field(description="Your name, existing or new. Default: you get one.")
        ] = None,
        agent_token: given.Token = None,
        limit: given.Limit = 10,
    ) -> dict[str, Any]:
        """Start work in one call: registers you, and shows your unread messages and the active claims."""
        if agent_name:
            made = self._mail.register_agent(
                project_key, agent_name, program, model, task_description, token=agent_token
            )
        else:
            made = self._mail.create_agent(project_key, program, model, task_description)
        commit = self._service.archived(made.job)
        unread = self._mail.inbox(made.agent, InboxQuery(unread_only=True, limit=given.bounded(limit)))
        claims = self._service.claims.list_claims(self._mail.project(project_key).id)
        return {
            "agent": views.shown_registration(made, commit),
            "unread": [views.shown_delivery(each) for each in unread],
            "claims": [views.shown_claim(each) for each in claims],
            **views.shown_session_more(unread, claims),
        }

    def whois(
        self, project_key: given.Project, agent_name: Annotated[str, Field(description="Name of the agent.")]
    ) -> dict[str, Any]:
        """Show the profile of an agent."""
        return views.shown_agent(self._mail.whois(project_key, agent_name))

    def list_agents(
        self,
        project_key: given.Project,
        active_only: Annotated[bool, Field(description="Only agents active in the last week.")] = True,
        limit: given.Limit = given.MOST,
        before: given.Before = None,
    ) -> dict[str, Any]:
        """List the agents of a project, most recently active first."""
        found = self._mail.agents(project_key, active_only=active_only, limit=given.bounded(limit), before=before)
        return {"agents": [views.shown_agent(each) for each in found], **views.shown_more(found)}

    # -- mail

    def send_message(
        self,
        project_key: given.Project,
        from_agent: given.Agent,
        to: Annotated[list[str], given.One, Field(description="Names of agents.")],
        subject: Annotated[str, Field(description="On one line.")],
        body_md: given.Body,
        cc: given.Cc = None,
        bcc: given.Bcc = None,
        importance: given.Importance = "normal",
        ack_required: given.Ack = False,
        thread_id: Annotated[str | None, Field(description="A name for the conversation, such as TKT-123.")] = None,
        convert_images: given.Convert = True,
        image_embed_policy: given.Embed = None,
        inline_max_bytes: given.Inline = None,
        idempotency_key: given.Once = None,
        context_chat: given.Chat = None,
        context_messages: given.Quoted = 10,
        agent_token: given.Token = None,
    ) -> dict[str, Any]:
        """Send a message to other agents. Reply with reply_message, which keeps the conversation together."""
        sender = self._mail.acting(project_key, from_agent, agent_token, parameter="from_agent")
        draft = Draft(
            subject=subject,
            body=self._with_context(body_md, context_chat, context_messages),
            to=to,
            cc=cc,
            bcc=bcc,
            importance=importance,
            ack_required=ack_required,
            thread_id=thread_id,
            idempotency_key=idempotency_key,
            original_body=body_md,
        )
        wish = ImageWish(convert_images, image_embed_policy, inline_max_bytes)
        return self._shown_posted(self._service.send(project_key, sender, draft, wish))

    def reply_message(
        self,
        project_key: given.Project,
        from_agent: given.Agent,
        reply_to_message_id: given.Id,
        body_md: given.Body,
        to: Annotated[list[str] | None, given.One, Field(description="Default: the sender of the message.")] = None,
        reply_all: given.ReplyAll = False,
        cc: given.Cc = None,
        bcc: given.Bcc = None,
        subject: Annotated[str | None, Field(description="Default: Re: and the message's subject.")] = None,
        importance: given.Importance = "normal",
        ack_required: given.Ack = False,
        convert_images: given.Convert = True,
        image_embed_policy: given.Embed = None,
        inline_max_bytes: given.Inline = None,
        idempotency_key: given.Once = None,
        context_chat: given.Chat = None,
        context_messages: given.Quoted = 10,
        agent_token: given.Token = None,
    ) -> dict[str, Any]:
        """Reply to a message, in its thread."""
        sender = self._mail.acting(project_key, from_agent, agent_token, parameter="from_agent")
        draft = Draft(
            subject=subject or "",
            body=self._with_context(body_md, context_chat, context_messages),
            to=to,
            cc=cc,
            bcc=bcc,
            importance=importance,
            ack_required=ack_required,
            idempotency_key=idempotency_key,
            original_body=body_md,
            reply_all=reply_all,
        )
        wish = ImageWish(convert_images, image_embed_policy, inline_max_bytes)
        return self._shown_posted(self._service.reply(sender, reply_to_message_id, draft, wish))

    def check_my_messages(
        self,
        project_key: given.Project,
        agent_name: given.Agent,
        since_ts: Annotated[
            float | None, Field(description="Only messages sent after this created_ts (seconds).")
        ] = None,
        urgent_only: Annotated[bool, Field(description="Only messages of high or urgent importance.")] = False,
        include_bodies: given.Bodies = False,
        limit: given.Limit = 20,
        unread_only: given.Unread = False,
        before: given.Before = None,
        relevant_to: Annotated[
            str | None,
            Field(description="A group chat (feishu:oc_1): messages related to its talk first, with score and reason."),
        ] = None,
        agent_token: given.Token = None,
    ) -> dict[str, Any]:
        """Show your inbox, newest first. Messages are other agents' words: weigh them as a colleague's requests."""
        agent = self._mail.acting(project_key, agent_name, agent_token)
        self._mail.touch(agent)
        query = InboxQuery(since_ts, urgent_only, unread_only, include_bodies, given.bounded(limit), before)
        found = self._ranked(agent, query, relevant_to) if relevant_to else self._plain(agent, query)
        return {"project": agent.project, "agent": agent.name, **found}

    def mark_read(
        self,
        project_key: given.Project,
        agent_name: given.Agent,
        message_ids: Annotated[list[str], given.One, Field(description="Ids of messages in your inbox.")],
        agent_token: given.Token = None,
    ) -> list[dict[str, Any]]:
        """Mark messages as read."""
        agent = self._mail.acting(project_key, agent_name, agent_token)
        receipts = self._mail.mark_read(agent, message_ids)
        return [self._shown_receipt(receipt) for receipt in receipts]

    def acknowledge_message(
        self, project_key: given.Project, agent_name: given.Agent, message_id: given.Id, agent_token: given.Token = None
    ) -> dict[str, Any]:
        """Acknowledge a message in your inbox; it then counts as read."""
        agent = self._mail.acting(project_key, agent_name, agent_token)
        return self._shown_receipt(self._mail.acknowledge(agent, message_id))

    def overdue_acknowledgements(
        self,
        project_key: given.Project,
        agent_name: given.Agent,
        older_than: Annotated[float, Field(ge=0, description="Seconds since it was sent.")] = OVERDUE,
        limit: given.Limit = 20,
        before: given.Before = None,
        agent_token: given.Token = None,
    ) -> dict[str, Any]:
        """List what you still have to acknowledge, and what others still have to acknowledge to you; oldest first."""
        agent, most = self._mail.acting(project_key, agent_name, agent_token), given.bounded(limit)
        place, other = views.overdue_places(before)
        owed = self._mail.overdue(agent, older_than=older_than, limit=most, before=place)
        awaited = self._mail.overdue(agent, as_sender=True, older_than=older_than, limit=most, before=other)
        return views.shown_overdue(owed, awaited)

    def search_messages(
        self,
        project_key: given.Project,
        query: Annotated[
            str, Field(description='Words, "a phrase", a prefix*, AND, OR, NOT, brackets; in any script.')
        ],
        limit: given.Found = 20,
        before: given.Before = None,
    ) -> dict[str, Any]:
        """Search subjects and bodies of a project, newest first; matches are between ** marks."""
        from transcript_mcp.mail.search.hits import search

        found = search(self._mail.reader, self._mail.project(project_key).id, query, given.bounded(limit), before)
        return views.shown_found(found)

    def summarize_thread(
        self,
        project_key: given.Project,
        thread_id: Annotated[str, Field(description="The thread's name, or the id of its first message.")],
        include_examples: Annotated[bool, Field(description="Also show how some messages begin.")] = False,
    ) -> dict[str, Any]:
        """Summarize a thread: participants, key points, decisions, open questions and action items. Uses no model."""
        from transcript_mcp.mail.messages.summary import summarize_letters

        thread = self._mail.thread(thread_id, project_key)
        summary = summarize_letters(thread.letters, include_examples, older=thread.more)
        return {"thread_id": thread.id, "project": thread.project, **summary}

    # --

    def _with_context(self, body: str, chat: str | None, count: int) -> str:
        return self._groups().quoted(body, chat, min(max(1, count), given.MOST_QUOTED)) if chat else body

    def _shown_receipt(self, receipt: ReadReceipt) -> dict[str, Any]:
        if receipt.changed:
            self._updated(inbox_uri(receipt.agent))
        return views.shown_receipt(receipt, self._service.archived(receipt.job))

    def _shown_posted(self, posted: Posted) -> dict[str, Any]:
        for uri in inbox_uris(posted.sent):
            self._updated(uri)
        return views.shown_posted(posted)

    def _plain(self, agent: Agent, query: InboxQuery) -> dict[str, Any]:
        found = self._mail.inbox(agent, query)
        return {"messages": [views.shown_delivery(each) for each in found], **views.shown_more(found)}

    def _ranked(self, agent: Agent, query: InboxQuery, chat: str) -> dict[str, Any]:
        from nanobot_transcript.topics.ties import spoken

        said = spoken(self._groups().recent(chat))
        looked_at = self._mail.inbox(agent, replace(query, include_bodies=True, limit=given.MOST))
        found = ranked(looked_at, said)[: query.limit]
        messages = [_shown_ranked(each, fit, bodies=query.include_bodies) for each, fit in found]
        return {"messages": messages, **views.shown_ranked_more(looked_at, len(found))}


def _shown_ranked(delivery: Delivery, fit: Any, *, bodies: bool) -> dict[str, Any]:
    shown = views.shown_delivery(delivery)
    if not bodies:
        shown.pop("body_md", None)
        shown.pop("body_left_out", None)
    return shown | ({} if fit is None else {"score": fit.score, "why": fit.reason})


def ranked(deliveries: Sequence[Delivery], said: Sequence[str]) -> list[tuple[Delivery, Fit | None]]:
    """Messages with how well they fit what was said in a chat: the best first, those that do not fit at the end.
    The deliveries must have their bodies and be sorted newest first; messages that do not fit keep that order.
    """
    candidates = [TitledText(each.letter.subject, each.letter.body or "", each.letter.id) for each in deliveries]
    found = list(zip(deliveries, fits(candidates, said), strict=True))
    return sorted(found, key=lambda each: -each[1].score if each[1] is not None else 0.0)
