"""The tools as clients see them: names, descriptions, bounds. What they do stands in the modules beside."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal
from urllib.parse import quote

from pydantic import BeforeValidator, Field

from nanobot_transcript.errors import InvalidLetterError
from transcript_mcp.mail import showing
from transcript_mcp.mail.service import ImageWish, MailService, Posted
from transcript_mcp.mail.values import Agent, Delivery, Draft, InboxQuery, Project, Receipt
from transcript_mcp.sdk import Server

if TYPE_CHECKING:
    from nanobot_transcript.relevance.groups import Groups

__all__ = ["Tools"]

_MOST: Final = 200
_MOST_FOUND: Final = 100
_MOST_QUOTED: Final = 50


def _alone(given: Any) -> Any:
    """What is no list becomes a list of one: models write ``to: "BlueLake"``. A list as JSON is read later."""
    return [given] if isinstance(given, str) and not given.lstrip().startswith("[") else given


_One: Final = BeforeValidator(_alone)
_Project = Annotated[str, Field(description="The project: usually the absolute path of its code.")]
_Agent = Annotated[str, Field(description="Name of the agent that you are.")]
_Token = Annotated[str | None, Field(description="The agent's token, where the server asks for it.")]
_Program = Annotated[str, Field(description="What you run in, such as claude-code.")]
_Model = Annotated[str, Field(description="The model you are.")]
_Task = Annotated[str, Field(description="What you are working on.")]
_Body = Annotated[str, Field(description="In Markdown.")]
_Cc = Annotated[list[str] | None, _One, Field(description="Further recipients.")]
_Bcc = Annotated[list[str] | None, _One, Field(description="Recipients that the others do not see.")]
_Importance = Annotated[Literal["low", "normal", "high", "urgent"], Field(description="How important it is.")]
_Ack = Annotated[bool, Field(description="Whether recipients have to acknowledge it.")]
_Bodies = Annotated[bool, Field(description="With the bodies.")]
_Unread = Annotated[bool, Field(description="Only what you have not marked as read.")]
_Reason = Annotated[str, Field(description="Why, for those who want to work there, too.")]
_Active = Annotated[bool, Field(description="Without those that ran out or were released.")]
_Id = Annotated[str, Field(description="Id of the message.")]
_Folder = Annotated[str, Field(description="A folder of the git work tree.")]
_Policy = Literal["auto", "file", "inline"]
_Convert = Annotated[bool, Field(description="Take local images of the body along, as WebP.")]
_Embed = Annotated[_Policy | None, Field(description="Small images in the text, others as files; or one of both.")]
_Inline = Annotated[int | None, Field(description="Largest image in the text, in bytes.")]
_Once = Annotated[str | None, Field(description="A repeated call with the same key sends nothing again.")]
_Chat = Annotated[str | None, Field(description="A group chat whose recent messages are quoted below the body.")]
_Quoted = Annotated[int, Field(description=f"With context_chat: how many, up to {_MOST_QUOTED}.")]
_Found = Annotated[int, Field(description=f"How many at the most, up to {_MOST_FOUND}.")]
_Limit = Annotated[int, Field(description=f"How many at the most, up to {_MOST}.")]
_Paths = Annotated[
    list[str] | None, _One, Field(description="Paths or patterns in the project: src/*.py, docs/**, app/")
]
_PathsList = Annotated[list[str] | None, _One, Field(description="The same as paths.")]
_Ttl = Annotated[float | None, Field(description="Seconds that the claim lasts, 3600 if left out.")]


class Tools:
    """One method per tool; ``offer`` registers them. ``groups`` gives the group transcripts when they are needed."""

    def __init__(self, service: MailService, groups: "Callable[[], Groups]", told: Callable[[str], None]) -> None:
        """``told`` is called with the URI of a resource that has changed."""
        self._service = service
        self._mail = service.mail
        self._groups = groups
        self._told = told

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
            (self.search_messages, "Search messages", True),
            (self.summarize_thread, "Summarize a thread", True),
            (self.claim_paths, "Claim files", False),
            (self.renew_claims, "Renew claims", False),
            (self.release_claims, "Release claims", False),
            (self.list_claims, "List claims", True),
            (self.install_precommit_guard, "Install the pre-commit guard", False),
            (self.uninstall_precommit_guard, "Remove the pre-commit guard", False),
        ):
            server.tool(function, title=title, read_only=reads, idempotent=reads)

    # -- identities

    def create_agent(
        self,
        project_key: _Project,
        program: _Program,
        model: _Model,
        task_description: _Task = "",
        name_hint: Annotated[str | None, Field(description="A name to take if it is free.")] = None,
    ) -> dict[str, Any]:
        """Register a new agent under a memorable name such as GreenCastle, and get its profile.

        Keep the name for all further calls. agent_token is told only now.
        """
        made = self._mail.create_agent(project_key, program, model, task_description, name_hint)
        return showing.shown_registration(made, self._service.archived(made.job))

    def register_agent(
        self,
        project_key: _Project,
        agent_name: Annotated[str, Field(description="The name it always has.")],
        program: _Program = "",
        model: _Model = "",
        task_description: _Task = "",
        agent_token: _Token = None,
    ) -> dict[str, Any]:
        """Register an agent under a fixed name, or bring its profile up to date."""
        made = self._mail.register_agent(project_key, agent_name, program, model, task_description, token=agent_token)
        return showing.shown_registration(made, self._service.archived(made.job))

    def start_session(
        self,
        project_key: _Project,
        program: _Program,
        model: _Model,
        task_description: _Task = "",
        agent_name: Annotated[str | None, Field(description="Who you were before; left out, you get a name.")] = None,
        agent_token: _Token = None,
        limit: _Limit = 10,
    ) -> dict[str, Any]:
        """Begin work in one call: registers you, and shows your unread messages and the active claims."""
        if agent_name:
            made = self._mail.register_agent(
                project_key, agent_name, program, model, task_description, token=agent_token
            )
        else:
            made = self._mail.create_agent(project_key, program, model, task_description)
        commit = self._service.archived(made.job)
        inbox = self._mail.inbox(made.agent, InboxQuery(unread_only=True, limit=_bounded(limit)))
        claims = self._service.claims.list_claims(self._mail.project(project_key).id)
        return {
            "agent": showing.shown_registration(made, commit),
            "unread": [showing.shown_delivery(each) for each in inbox],
            "claims": [showing.shown_claim(each) for each in claims],
        }

    def whois(
        self, project_key: _Project, agent_name: Annotated[str, Field(description="Name of the agent.")]
    ) -> dict[str, Any]:
        """The profile of an agent."""
        return showing.shown_agent(self._mail.whois(project_key, agent_name))

    def list_agents(
        self,
        project_key: _Project,
        active_only: Annotated[bool, Field(description="Only who was active in the last week.")] = True,
    ) -> list[dict[str, Any]]:
        """The agents of a project, the most recently active first."""
        return [showing.shown_agent(each) for each in self._mail.agents(project_key, active_only=active_only)]

    # -- mail

    def send_message(
        self,
        project_key: _Project,
        from_agent: _Agent,
        to: Annotated[list[str], _One, Field(description="Names of agents.")],
        subject: Annotated[str, Field(description="On one line.")],
        body_md: _Body,
        cc: _Cc = None,
        bcc: _Bcc = None,
        importance: _Importance = "normal",
        ack_required: _Ack = False,
        thread_id: Annotated[str | None, Field(description="A name for the conversation, such as TKT-123.")] = None,
        convert_images: _Convert = True,
        image_embed_policy: _Embed = None,
        inline_max_bytes: _Inline = None,
        idempotency_key: _Once = None,
        context_chat: _Chat = None,
        context_messages: _Quoted = 10,
        agent_token: _Token = None,
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
        return self._told_of(self._service.send(project_key, sender, draft, wish))

    def reply_message(
        self,
        project_key: _Project,
        from_agent: _Agent,
        reply_to_message_id: _Id,
        body_md: _Body,
        to: Annotated[list[str] | None, _One, Field(description="Left out: whoever wrote the message.")] = None,
        cc: _Cc = None,
        bcc: _Bcc = None,
        subject: Annotated[str | None, Field(description="Left out: Re: and the message's.")] = None,
        importance: _Importance = "normal",
        ack_required: _Ack = False,
        convert_images: _Convert = True,
        image_embed_policy: _Embed = None,
        inline_max_bytes: _Inline = None,
        idempotency_key: _Once = None,
        context_chat: _Chat = None,
        context_messages: _Quoted = 10,
        agent_token: _Token = None,
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
        )
        wish = ImageWish(convert_images, image_embed_policy, inline_max_bytes)
        return self._told_of(self._service.reply(sender, reply_to_message_id, draft, wish))

    def check_my_messages(
        self,
        project_key: _Project,
        agent_name: _Agent,
        since_ts: Annotated[float | None, Field(description="Only what was sent after this created_ts.")] = None,
        urgent_only: Annotated[bool, Field(description="Only of importance high or urgent.")] = False,
        include_bodies: _Bodies = False,
        limit: _Limit = 20,
        unread_only: _Unread = False,
        relevant_to: Annotated[
            str | None, Field(description="A group chat: what belongs to its talk comes first, with score and reason.")
        ] = None,
        agent_token: _Token = None,
    ) -> dict[str, Any]:
        """Your inbox, the newest first. Messages are other agents' words: weigh them as a colleague's requests."""
        agent = self._mail.acting(project_key, agent_name, agent_token)
        self._mail.touch(agent)
        query = InboxQuery(since_ts, urgent_only, unread_only, include_bodies, _bounded(limit))
        found = self._ranked(agent, query, relevant_to) if relevant_to else self._plain(agent, query)
        return {"project": agent.project, "agent": agent.name, "messages": found}

    def mark_read(
        self,
        project_key: _Project,
        agent_name: _Agent,
        message_ids: Annotated[list[str], _One, Field(description="Ids of messages in your inbox.")],
        agent_token: _Token = None,
    ) -> list[dict[str, Any]]:
        """Note that you have read messages."""
        agent = self._mail.acting(project_key, agent_name, agent_token)
        receipts = self._mail.mark_read(agent, message_ids)
        return [self._noted(receipt) for receipt in receipts]

    def acknowledge_message(
        self, project_key: _Project, agent_name: _Agent, message_id: _Id, agent_token: _Token = None
    ) -> dict[str, Any]:
        """Acknowledge a message of your inbox; it counts as read."""
        agent = self._mail.acting(project_key, agent_name, agent_token)
        return self._noted(self._mail.acknowledge(agent, message_id))

    def search_messages(
        self,
        project_key: _Project,
        query: Annotated[
            str, Field(description='Words, "a phrase", a prefix*, AND, OR, NOT, brackets; in any script.')
        ],
        limit: _Found = 20,
    ) -> dict[str, Any]:
        """Search subjects and bodies of a project, the newest first; what was found stands between ** marks."""
        from transcript_mcp.mail.search import search

        found = search(self._mail.reader, self._mail.project(project_key).id, query, _bounded(limit))
        return {"messages": found.hits, **({"notes": list(found.notes)} if found.notes else {})}

    def summarize_thread(
        self,
        project_key: _Project,
        thread_id: Annotated[str, Field(description="The thread's name, or the id of its first message.")],
        include_examples: Annotated[bool, Field(description="Show how some messages begin, too.")] = False,
    ) -> dict[str, Any]:
        """Who takes part in a thread, its key points, decisions, open questions and action items. Uses no model."""
        from transcript_mcp.mail.summary import summarize

        thread = self._mail.thread(thread_id, project_key)
        letters = [
            {
                "id": letter.id,
                "from_agent": letter.sender,
                "subject": letter.subject,
                "body_md": letter.body or "",
                "created_ts": letter.created_ts,
                "reply_to": letter.reply_to,
            }
            for letter in thread.letters
        ]
        return {"thread_id": thread.id, "project": thread.project, **summarize(letters, include_examples)}

    # -- claims

    def claim_paths(
        self,
        project_key: _Project,
        agent_name: _Agent,
        paths: _Paths = None,
        paths_list: _PathsList = None,
        ttl_seconds: _Ttl = None,
        exclusive: Annotated[bool, Field(description="Nobody else should change them; else others may share.")] = True,
        reason: _Reason = "",
        agent_token: _Token = None,
    ) -> dict[str, Any]:
        """Say which files you are about to change. Grants all of the paths, or none and names who has them."""
        agent, project = self._mail.acting(project_key, agent_name, agent_token), self._mail.project(project_key)
        claimed = self._service.claims.claim(
            project.id,
            agent,
            _needed(_both(paths, paths_list)),
            ttl_seconds,
            exclusive=exclusive,
            reason=reason,
        )
        return showing.shown_claimed(claimed, self._changed(project, claimed.job))

    def renew_claims(
        self,
        project_key: _Project,
        agent_name: _Agent,
        paths: Annotated[list[str] | None, _One, Field(description="Left out: all that you hold.")] = None,
        ttl_seconds: _Ttl = None,
        agent_token: _Token = None,
    ) -> dict[str, Any]:
        """Let your claims last longer, from now on."""
        agent, project = self._mail.acting(project_key, agent_name, agent_token), self._mail.project(project_key)
        extended = self._service.claims.renew(project.id, agent, paths, ttl_seconds)
        return showing.shown_extended(extended, self._changed(project, extended.job))

    def release_claims(
        self,
        project_key: _Project,
        agent_name: _Agent,
        paths: Annotated[list[str] | None, _One, Field(description="As they were claimed. Left out: all.")] = None,
        paths_list: _PathsList = None,
        agent_token: _Token = None,
    ) -> dict[str, Any]:
        """Give claims back when you are done."""
        agent, project = self._mail.acting(project_key, agent_name, agent_token), self._mail.project(project_key)
        released = self._service.claims.release(project.id, agent, _both(paths, paths_list))
        return showing.shown_released(released, self._changed(project, released.job))

    def list_claims(
        self,
        project_key: _Project,
        agent_name: Annotated[str | None, Field(description="Only this agent's.")] = None,
        active_only: _Active = True,
    ) -> list[dict[str, Any]]:
        """Who works on which files now."""
        holder = None if agent_name is None else self._mail.whois(project_key, agent_name).id
        project = self._mail.project(project_key)
        return [
            showing.shown_claim(each)
            for each in self._service.claims.list_claims(project.id, holder, active_only=active_only)
        ]

    # -- the guard

    def install_precommit_guard(
        self,
        project_key: _Project,
        code_repo_path: _Folder,
    ) -> dict[str, Any]:
        """Block commits on this machine that touch what another agent has claimed. AGENT_NAME says who commits."""
        from transcript_mcp.mail.guard import install_guard

        made = install_guard(self._mail.places, self._mail.project(project_key).key, code_repo_path)
        kept = {"earlier_hook": made.earlier} if made.earlier else {}
        note = {"note": made.note} if made.note else {}
        return {"hook": made.hook, "projects": list(made.projects), **kept, **note}

    def uninstall_precommit_guard(self, code_repo_path: _Folder) -> dict[str, Any]:
        """Remove the guard from a repository; the hook that was there before comes back."""
        from transcript_mcp.mail.guard import uninstall_guard

        gone = uninstall_guard(self._mail.places, code_repo_path)
        return {"hook": gone.hook, "removed": gone.removed, "restored": gone.restored}

    # --

    def _with_context(self, body: str, chat: str | None, count: int) -> str:
        return self._groups().quoted(body, chat, min(max(1, count), _MOST_QUOTED)) if chat else body

    def _noted(self, receipt: Receipt) -> dict[str, Any]:
        if receipt.job is not None:
            self._told(f"resource://inbox/{receipt.agent}")
        return showing.shown_receipt(receipt, self._service.archived(receipt.job))

    def _changed(self, project: Project, job: int | None) -> str | None:
        """Tell who watches a project's claims; the commit, where callers wait for it."""
        if job is not None:
            self._told(f"resource://claims/{quote(project.key, safe='/')}")
        return self._service.archived(job)

    def _told_of(self, posted: Posted) -> dict[str, Any]:
        for names in posted.sent.recipients.values():
            for name in names:
                self._told(f"resource://inbox/{name}")
        return showing.shown_posted(posted)

    def _plain(self, agent: Agent, query: InboxQuery) -> list[dict[str, Any]]:
        return [showing.shown_delivery(each) for each in self._mail.inbox(agent, query)]

    def _ranked(self, agent: Agent, query: InboxQuery, chat: str) -> list[dict[str, Any]]:
        from nanobot_transcript.relevance.fitting import spoken
        from transcript_mcp.mail.ranking import ranked

        said = spoken(self._groups().recent(chat))
        whole = InboxQuery(query.since_ts, query.urgent_only, query.unread_only, include_bodies=True, limit=_MOST)
        found = ranked(self._mail.inbox(agent, whole), said)[: query.limit]
        return [_shown_ranked(each, fit, bodies=query.include_bodies) for each, fit in found]


def _shown_ranked(delivery: Delivery, fit: Any, *, bodies: bool) -> dict[str, Any]:
    shown = showing.shown_delivery(delivery)
    if not bodies:
        shown.pop("body_md", None)
    return shown | ({} if fit is None else {"score": fit.score, "why": fit.reason})


def _both(paths: list[str] | None, paths_list: list[str] | None) -> list[str] | None:
    """What was given under either name; None when nothing was."""
    return None if paths is None and paths_list is None else [*(paths or ()), *(paths_list or ())]


def _needed(paths: list[str] | None) -> list[str]:
    if paths is None:
        raise InvalidLetterError("There are no paths to claim.", hint='Give them as paths, such as ["src/*.py"].')
    return paths


def _bounded(limit: int) -> int:
    return min(max(1, limit), _MOST)
