"""The MCP resources of Agent Mail: URIs, names, descriptions and limits as clients see them."""

from typing import Annotated, Any, Final

from pydantic import Field

from nanobot_transcript.errors import ActingRefusedError, InvalidLetterError
from transcript_mcp.mail import arguments as given
from transcript_mcp.mail import views
from transcript_mcp.mail.agents.projects import checked_key
from transcript_mcp.mail.messages.boxes import MOST
from transcript_mcp.mail.service import MailService
from transcript_mcp.mail.values import Agent, InboxQuery
from transcript_mcp.mail.views import claims_uri
from transcript_mcp.sdk import Context, Embedded, Server
from transcript_mcp.sdk.content import json_text

__all__ = ["Resources"]

_PAGE: Final = 20
_JSON: Final = "application/json"


class Resources:
    """One method per resource template; ``offer`` registers them all."""

    def __init__(self, service: MailService) -> None:
        self._mail = service.mail
        self._claims = service.claims

    def offer(self, server: Server) -> None:
        """Register all templates."""
        for uri, function, title, admits in (
            (
                "resource://inbox/{agent}{?project,since_ts,urgent_only,include_bodies,limit,before}",
                self.inbox,
                "Inbox of an agent",
                self._check_owner,
            ),
            (
                "resource://outbox/{agent}{?project,since_ts,include_bodies,limit,before}",
                self.outbox,
                "What an agent sent",
                self._check_owner,
            ),
            ("resource://message/{id}{?project}", self.message, "A message", None),
            ("resource://thread/{thread_id}{?project,include_bodies,limit,before}", self.thread, "A thread", None),
            ("resource://agents/{+project}{?before}", self.agents, "Agents of a project", self._check_project),
            ("resource://claims/{+project}{?before}", self.claims, "Claims in a project", self._check_project),
        ):
            server.template(uri, function, title=title, mime_type=_JSON, admits=admits)

    def _agent(self, agent: str, project: str | None) -> Agent:
        who = self._mail.whois(project, agent) if project else self._mail.most_recent(agent)
        try:
            return self._mail.allow(who, None)
        except ActingRefusedError as error:
            raise ActingRefusedError(str(error), hint="Call check_my_messages, which takes an agent_token.") from None

    def inbox(
        self,
        agent: Annotated[str, Field(description="Name of the agent.")],
        project: Annotated[str | None, Field(description="Its project. Default: where it was active last.")] = None,
        since_ts: Annotated[float, Field(description="Only messages sent after this time, in epoch seconds.")] = 0,
        urgent_only: Annotated[bool, Field(description="Only messages of high or urgent importance.")] = False,
        include_bodies: Annotated[bool, Field(description="Include the bodies.")] = False,
        limit: given.Limit = _PAGE,
        before: given.Before = None,
    ) -> dict[str, Any]:
        """The inbox of an agent, newest message first. Can be subscribed to."""
        who = self._agent(agent, project)
        query = InboxQuery(since_ts, urgent_only, False, include_bodies, given.bounded(limit), before)
        page = self._mail.inbox(who, query)
        messages = [views.shown_delivery(each) for each in page]
        return {"project": who.project, "agent": who.name, "messages": messages, **views.shown_more(page)}

    def outbox(
        self,
        agent: Annotated[str, Field(description="Name of the agent.")],
        project: Annotated[str | None, Field(description="Its project. Default: where it was active last.")] = None,
        since_ts: Annotated[float, Field(description="Only messages sent after this time, in epoch seconds.")] = 0,
        include_bodies: Annotated[bool, Field(description="Include the bodies.")] = False,
        limit: given.Limit = _PAGE,
        before: given.Before = None,
    ) -> dict[str, Any]:
        """What an agent sent, newest message first."""
        who = self._agent(agent, project)
        page = self._mail.outbox(
            who, since_ts=since_ts, include_bodies=include_bodies, limit=given.bounded(limit), before=before
        )
        messages = [views.shown_letter(each) for each in page]
        return {"project": who.project, "agent": who.name, "messages": messages, **views.shown_more(page)}

    def message(
        self,
        id: Annotated[str, Field(description="Id of the message.")],  # noqa: A002 - the template's word
        project: Annotated[str | None, Field(description="Its project; optional, ids are unique.")] = None,
    ) -> dict[str, Any]:
        """One message with its body."""
        return views.shown_letter(self._mail.message(id, project))

    def thread(
        self,
        thread_id: Annotated[str, Field(description="The thread's name, or the id of its first message.")],
        project: Annotated[str | None, Field(description="Its project. Default: where it was active last.")] = None,
        include_bodies: Annotated[bool, Field(description="Include the bodies.")] = False,
        limit: Annotated[int, Field(description=f"How many at most (the newest), up to {MOST:,}.")] = MOST,
        before: given.Before = None,
    ) -> dict[str, Any]:
        """The messages of a thread, oldest first."""
        found = self._mail.thread(thread_id, project, include_bodies=include_bodies, limit=limit, before=before)
        letters = [views.shown_letter(each) for each in found.letters]
        return {"project": found.project, "thread_id": found.id, "messages": letters, **views.shown_more(found)}

    def agents(
        self,
        project: Annotated[str, Field(description="The project's key.")],
        before: given.Before = None,
    ) -> dict[str, Any]:
        """The agents of a project, most recently active first."""
        page = self._mail.agents(project, active_only=False, limit=given.MOST, before=before)
        return {"agents": [views.shown_agent(each) for each in page], **views.shown_more(page)}

    def claims(
        self,
        project: Annotated[str, Field(description="The project's key.")],
        before: given.Before = None,
    ) -> list[Any]:
        """The active claims of a project. Can be subscribed to."""
        known = self._mail.project(project)
        uri = claims_uri(known.key)
        page = self._claims.list_claims(known.id, before=before)
        shown = [views.shown_claim(each) for each in page]
        if not page.more:
            return shown
        return [Embedded(uri, json_text(shown), _JSON), Embedded(uri, views.told_more(page))]

    def _check_owner(self, _context: Context, values: dict[str, str]) -> None:
        self._agent(values["agent"], values.get("project"))

    def _check_project(self, _context: Context, values: dict[str, str]) -> None:
        key = self._mail.project(values["project"]).key
        if key != checked_key(values["project"]):  # updates are sent for the canonical URI only
            raise InvalidLetterError(f"The project is called {key} here.", hint=f"Subscribe to {claims_uri(key)}.")
