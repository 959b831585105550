"""The API of Agent Mail that tools, commands and pages call."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from nanobot_transcript.errors import ActingRefusedError, UnknownProjectError
from nanobot_transcript.sql.contract import Database, Sql
from transcript_mcp.mail.agents import addresses, names, projects
from transcript_mcp.mail.agents import registry as agents
from transcript_mcp.mail.messages import inboxes, letters, receipts
from transcript_mcp.mail.messages.boxes import MOST
from transcript_mcp.mail.messages.drafts import check_count, checked
from transcript_mcp.mail.messages.receipts import OVERDUE, Overdue, Whose, overdue, until
from transcript_mcp.mail.store import Archive, MailStore
from transcript_mcp.mail.values import (
    Agent,
    Delivery,
    Draft,
    InboxQuery,
    Letter,
    LetterPage,
    LetterThread,
    MailOptions,
    Project,
    ReadReceipt,
    Registration,
    Sent,
    to_the_millisecond,
)

__all__ = ["AgentMail"]

_T = TypeVar("_T")
_EVERYTHING: Final = InboxQuery()


class AgentMail:
    """The mail of all projects under ``store``. Safe for any process and any thread; a call takes milliseconds.

    ``acting`` says who acts; what is done as an agent takes what it returned. All calls raise StoreError kinds when
    the database cannot be read or written; then nothing was changed.
    """

    def __init__(
        self,
        store: str | Path | MailStore,
        options: MailOptions | None = None,
        *,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """``store`` is created with the first agent. ``clock`` returns seconds since 1970 and must be the same for all
        processes that share the store."""
        self.options: MailOptions = options or MailOptions()
        self.places: MailStore = store if isinstance(store, MailStore) else MailStore(Path(store).expanduser())
        self.archive: Archive = Archive(self.options.shard)
        self.database: Database = self.places.opened(self.options.busy)
        # A separate connection, so that readers never wait for this process's writer.
        self.reader: Database = self.places.opened(self.options.busy)
        self._clock: Callable[[], float] = clock or self.places.clock

    @property
    def file(self) -> Path | None:
        """The database's file, which guards on this machine read; None where the database is on a server."""
        return None if self.places.tables.is_remote else self.places.database

    def now(self) -> float:
        """The time to record for an event that happens now."""
        return to_the_millisecond(self._clock())

    # -- projects and agents

    def projects(self) -> list[Project]:
        """All projects, in order of creation."""
        return self.reader.read(projects.all_projects, [])

    def project(self, key: str) -> Project:
        """The project with this key. Raises UnknownProjectError."""
        return self._read(lambda db: projects.get(db, key))

    def create_agent(
        self, project: str, program: str, model: str, task: str, name_hint: str | None = None
    ) -> Registration:
        """Create an agent, named after the hint if that is free, else with a memorable name; and its project if new."""
        key, said = self._kept_key(project), agents.about(program, model, task)
        return self.database.write(lambda db: agents.create(db, key, said, name_hint, self.now()))

    def register_agent(
        self, project: str, name: str, program: str = "", model: str = "", task: str = "", *, token: str | None = None
    ) -> Registration:
        """The agent with a fixed name: created if missing, else updated with the values that are not empty.
        Raises InvalidLetterError, and ActingRefusedError for a reserved name or, with ``require_agent_token``, when
        ``token`` is not the existing agent's.
        """
        key, said = self._kept_key(project), agents.about(program, model, task)
        clean, needed = names.checked_name(name), self.options.require_agent_token
        return self.database.write(
            lambda db: agents.register(db, key, clean, said, self.now(), token=token, token_needed=needed)
        )

    def whois(self, project: str, name: str) -> Agent:
        """The agent that a name means in a project. Raises UnknownProjectError, UnregisteredAgentError."""
        return self._read(lambda db: addresses.resolve(db, projects.get(db, project), name, "agent_name"))

    def agents(
        self, project: str, *, active_only: bool = True, limit: int | None = None, before: str | None = None
    ) -> LetterPage[Agent]:
        """Agents registered in a project or with mail or claims there, the most recently active first."""
        since = self.now() - self.options.active_within if active_only else None
        return self._read(lambda db: agents.listing(db, projects.get(db, project).id, since, limit, before))

    def most_recent(self, name: str) -> Agent:
        """The most recently active agent of this name in any project. Raises UnregisteredAgentError."""
        return self._read(lambda db: addresses.most_recent(db, name))

    # -- who acts

    def acting(self, project: str, name: str, token: str | None = None, *, parameter: str = "agent_name") -> Agent:
        """The agent on whose behalf a call acts. ``parameter`` is the argument's name in error messages.
        Raises UnknownProjectError, UnregisteredAgentError, and ActingRefusedError for a reserved name or when a token
        is required and is missing or wrong.
        """

        def work(db: Sql) -> Agent:
            found = addresses.resolve(db, projects.get(db, project), name, parameter)
            self._check_token(db, found, token)
            return found

        _refuse_reserved(str(name))
        return self._read(work)

    def allow(self, agent: Agent, token: str | None) -> Agent:
        """Return ``agent`` if the caller may act as it, however it was found. Raises ActingRefusedError."""

        def work(db: Sql) -> Agent:
            self._check_token(db, agent, token)
            return agent

        return self._read(work)

    def human(self, project: str) -> Agent:
        """The agent as which a person acts in a project; for the command line and web pages, never for agents."""

        def work(db: Sql) -> Agent:
            return agents.human(db, projects.get(db, project), self.now())

        self.project(project)
        return self.database.write(work)

    def touch(self, agent: Agent) -> None:
        """Record that an agent is active, unless that was recorded in the last half minute."""
        now = self.now()
        if agents.is_stale(agent, now):
            self.database.write(lambda db: agents.touch(db, agent.id, now))

    # -- sending

    def send(self, project: str, sender: Agent, draft: Draft) -> Sent:
        """Send a message in a project; it is in all inboxes when this returns.

        Raises InvalidLetterError, UnknownProjectError, and UnregisteredAgentError for an unknown recipient; then
        nobody received it.
        """
        clean = checked(draft, self.options, is_reply=False)
        known = self._read(lambda db: letters.addressed(db, project, clean))
        return self.database.write(lambda db: letters.put(db, known, sender, self.archive, self.now()))

    def reply(self, sender: Agent, message_id: str, draft: Draft) -> Sent:
        """Answer a message, in the project and the thread that it belongs to.

        Raises what ``send`` raises, and LetterNotFoundError.
        """
        clean = checked(draft, self.options, is_reply=True)
        known = self._read(lambda db: letters.addressed_reply(db, sender, message_id, clean))
        check_count(len(known.people), self.options)
        return self.database.write(lambda db: letters.put(db, known, sender, self.archive, self.now()))

    # -- reading

    def inbox(self, agent: Agent, query: InboxQuery = _EVERYTHING) -> LetterPage[Delivery]:
        """Messages that an agent received, in all projects, the newest first. Changes nothing.
        Raises InvalidLetterError, and LetterNotFoundError when the query's ``before`` is no known message.
        """
        return self._read(lambda db: inboxes.inbox(db, agent, query))

    def outbox(
        self,
        agent: Agent,
        *,
        since_ts: float | None = None,
        include_bodies: bool = False,
        limit: int = 20,
        before: str | None = None,
    ) -> LetterPage[Letter]:
        """Messages that an agent sent, in all projects, the newest first. Raises what ``inbox`` raises."""
        return self._read(
            lambda db: inboxes.outbox(
                db, agent, since_ts=since_ts, include_bodies=include_bodies, limit=limit, before=before
            )
        )

    def message(self, message_id: str, project: str | None = None) -> Letter:
        """One message with its body. Raises LetterNotFoundError, and UnknownProjectError for a wrong project."""
        return self._read(lambda db: inboxes.message(db, message_id, projects.get(db, project) if project else None))

    def thread(
        self,
        thread_id: str,
        project: str | None = None,
        *,
        include_bodies: bool = True,
        limit: int = MOST,
        before: str | None = None,
    ) -> LetterThread:
        """The newest messages of a conversation, oldest first; without ``project``, in the project with the newest.
        ``before`` is a message's id: only messages accepted before it. Raises LetterNotFoundError, and
        UnknownProjectError for a wrong project.
        """

        def work(db: Sql) -> LetterThread:
            known = projects.get(db, project) if project else None
            return inboxes.thread(db, thread_id, known, include_bodies=include_bodies, limit=limit, before=before)

        return self._read(work)

    def overdue(
        self,
        of: Agent | Project,
        *,
        as_sender: bool = False,
        older_than: float = OVERDUE,
        limit: int = 20,
        before: str | None = None,
    ) -> LetterPage[Overdue]:
        """Messages still to be acknowledged that are older than ``older_than`` seconds (0: all), the oldest first.
        Those that an agent received, or sent (``as_sender``), or those of a project. ``before`` comes from an earlier
        page. Raises InvalidLetterError.
        """
        whose: Whose = "project" if isinstance(of, Project) else "sender" if as_sender else "recipient"
        sent_until = until(self.now(), older_than)
        return self._read(lambda db: overdue(db, whose, of.id, sent_until, limit, before))

    # -- receipts

    def mark_read(self, agent: Agent, message_ids: Sequence[str]) -> list[ReadReceipt]:
        """Mark messages as read by an agent; the first time counts.
        Raises LetterNotFoundError when one is not in its inbox; then none is marked.
        """
        ids = [message_ids] if isinstance(message_ids, str) else message_ids
        return self.database.write(lambda db: receipts.note(db, agent, ids, self.now(), ack=False))

    def acknowledge(self, agent: Agent, message_id: str) -> ReadReceipt:
        """Mark a message as acknowledged, and so read, by an agent. Raises LetterNotFoundError."""
        return self.database.write(lambda db: receipts.note(db, agent, [message_id], self.now(), ack=True))[0]

    # -- the store

    def close(self) -> None:
        """Close the database connections; they are opened again when needed."""
        self.reader.close()
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def _read(self, work: Callable[[Sql], _T]) -> _T:
        found: list[_T] = self.reader.read(lambda db: [work(db)], [])
        if not found:
            raise UnknownProjectError(
                f"There is no mail in {self.places.root} yet.", hint="create_agent or register_agent creates a project."
            )
        return found[0]

    def _kept_key(self, project: str) -> str:
        """A project's key as it is stored or, for a new project, will be."""
        clean = projects.checked_key(project)
        found = self.reader.read(lambda db: projects.find(db, clean), None)
        return projects.canonical(clean) if found is None else found.key

    def _check_token(self, db: Sql, agent: Agent, token: str | None) -> None:
        _refuse_reserved(agent.name)
        if self.options.require_agent_token and not agents.token_fits(db, agent, token):
            raise agents.refused(agent.name)


def _refuse_reserved(name: str) -> None:
    if names.is_reserved(names.normal(name)):
        raise ActingRefusedError(
            f"Nobody can act as {name}: the name is reserved.", hint="Act under the name you are registered as."
        )
