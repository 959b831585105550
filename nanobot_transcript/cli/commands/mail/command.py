"""``mail``: lets people read what agents write to each other, see which files they claim, and take part."""

from typing import TYPE_CHECKING, Annotated

import typer

from nanobot_transcript.cli.commands.mail import doctor, guard, overdue, release, send
from nanobot_transcript.cli.commands.mail.options import (
    AgentArgument,
    BeforeOption,
    LimitOption,
    MailStoreOption,
    ProjectOption,
    meant_agent,
    meant_project,
    more_of,
    opened_mail,
    project_here,
    tell_more,
)
from nanobot_transcript.cli.terminal.entries import nothing_found
from nanobot_transcript.cli.terminal.help import PlainUsage, WholeSentences
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.moments import SinceOption, moment_ms
from nanobot_transcript.cli.terminal.options import ConfigOption, JsonOption
from nanobot_transcript.cli.terminal.output import emit_json, notice
from nanobot_transcript.errors import LetterNotFoundError

if TYPE_CHECKING:
    from pathlib import Path

    from transcript_mcp.mail.mail import AgentMail
    from transcript_mcp.mail.values import LetterThread, Project

__all__ = ["app"]

app = typer.Typer(
    name="mail",
    cls=WholeSentences,
    help="Mail between agents on the same code: read it and take part.\n\n"
    "Reading changes nothing: no message counts as read because a person has seen it here.\n\n\b\nExample:\n"
    "  nanobot-transcript mail inbox BlueLake",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command(cls=PlainUsage)
def inbox(
    agent: AgentArgument,
    unread: Annotated[
        bool, typer.Option("--unread", help="Only messages that the agent has not marked as read.")
    ] = False,
    urgent: Annotated[bool, typer.Option("--urgent", help="Only messages of high or urgent importance.")] = False,
    since: SinceOption = None,
    bodies: Annotated[bool, typer.Option("--bodies", help="Show full messages instead of a table.")] = False,
    limit: LimitOption = 20,
    before: BeforeOption = None,
    project: ProjectOption = None,
    json: JsonOption = False,
    store: MailStoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Show an agent's inbox.

    Shows mail from all projects; --project only says which agent of that name is meant. Replies of agents to a person
    are in the inbox of "human".

    \b
    Example:
      nanobot-transcript mail inbox BlueLake --unread
    """
    with opened_mail(config, store) as mail:
        from transcript_mcp.mail.values import InboxQuery
        from transcript_mcp.mail.views import shown_delivery

        who = meant_agent(mail, agent, project)
        query = InboxQuery(_seconds(since), urgent, unread, bodies, limit, before)
        found, repos = mail.inbox(who, query), _repos(mail)
    if json:
        messages = [shown_delivery(each) for each in found]
        emit_json({"project": who.project, "agent": who.name, "messages": messages, **more_of(found)})
        return
    from nanobot_transcript.cli.commands.mail.tables import print_inbox, print_letters

    if not found:
        notice(said("No messages."))
    elif bodies:
        print_letters([each.letter for each in reversed(found)], repos)
    else:
        print_inbox(found)
    tell_more(found)


@app.command(cls=PlainUsage)
def outbox(
    agent: AgentArgument,
    since: SinceOption = None,
    bodies: Annotated[bool, typer.Option("--bodies", help="Show full messages instead of a table.")] = False,
    limit: LimitOption = 20,
    before: BeforeOption = None,
    project: ProjectOption = None,
    json: JsonOption = False,
    store: MailStoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Show what an agent sent.

    \b
    Example:
      nanobot-transcript mail outbox GreenCastle --since 2h --bodies
    """
    with opened_mail(config, store) as mail:
        from transcript_mcp.mail.views import shown_letter

        who = meant_agent(mail, agent, project)
        found = mail.outbox(who, since_ts=_seconds(since), include_bodies=bodies, limit=limit, before=before)
        repos = _repos(mail)
    if json:
        messages = [shown_letter(each) for each in found]
        emit_json({"project": who.project, "agent": who.name, "messages": messages, **more_of(found)})
        return
    from nanobot_transcript.cli.commands.mail.tables import print_letters, print_outbox

    if not found:
        notice(said("No messages."))
    elif bodies:
        print_letters(list(reversed(found)), repos)
    else:
        print_outbox(found)
    tell_more(found)


@app.command(cls=PlainUsage)
def thread(
    thread_id: Annotated[
        str,
        typer.Argument(metavar="THREAD", help="Its name, or the id of one of its messages.", show_default=False),
    ],
    limit: LimitOption = 200,
    before: BeforeOption = None,
    project: ProjectOption = None,
    json: JsonOption = False,
    store: MailStoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Show a conversation, the oldest message first.

    Without --project: the one in the working directory's project or, if there is none of this name, the one last active
    in any project.

    \b
    Example:
      nanobot-transcript mail thread TKT-123
    """
    with opened_mail(config, store) as mail:
        from transcript_mcp.mail.views import shown_letter

        here = meant_project(mail, project) if project is not None or not mail.projects() else project_here(mail)
        found, repos = _thread(mail, thread_id, here, limit, before, elsewhere=project is None), _repos(mail)
    if json:
        messages = [shown_letter(each) for each in found.letters]
        emit_json({"project": found.project, "thread_id": found.id, "messages": messages, **more_of(found)})
        return
    from nanobot_transcript.cli.commands.mail.tables import print_letters

    print_letters(found.letters, repos)
    tell_more(found)


@app.command(cls=PlainUsage)
def search(
    query: Annotated[
        str,
        typer.Argument(
            metavar="QUERY", help='Words, "a phrase", a prefix*, AND, OR, NOT, brackets.', show_default=False
        ),
    ],
    limit: LimitOption = 20,
    before: BeforeOption = None,
    project: ProjectOption = None,
    json: JsonOption = False,
    store: MailStoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Search a project's messages by the words of subject and body.

    Finds Chinese from one character on. Matches are shown between **. Exit code 1: nothing was found.

    \b
    Example:
      nanobot-transcript mail search "发布窗口 OR mig* NOT legacy"
    """
    with opened_mail(config, store) as mail:
        from transcript_mcp.mail.search.hits import search as find

        where = meant_project(mail, project)
        found = find(mail.reader, where.id, query, limit, before)
    if json:
        emit_json(
            {
                "project": where.key,
                "query": query,
                "hits": found.hits,
                "notes": list(found.notes),
                **more_of(found.hits),
            }
        )
    else:
        from nanobot_transcript.cli.commands.mail.tables import print_hits

        print_hits(found.hits)
        for note in found.notes:
            notice(note)
        tell_more(found.hits)
    if not found.hits:
        nothing_found()


@app.command(cls=PlainUsage)
def agents(
    everybody: Annotated[
        bool, typer.Option("--all", help="Include agents that were not active in the last week.")
    ] = False,
    project: ProjectOption = None,
    json: JsonOption = False,
    store: MailStoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Show who works in a project, the most recently active first.

    \b
    Example:
      nanobot-transcript mail agents --project /abs/path/backend
    """
    with opened_mail(config, store) as mail:
        from transcript_mcp.mail.views import shown_agent

        where = meant_project(mail, project)
        found = mail.agents(where.key, active_only=not everybody)
    if json:
        emit_json({"project": where.key, "agents": [shown_agent(each) for each in found]})
        return
    from nanobot_transcript.cli.commands.mail.tables import print_agents

    if found:
        print_agents(found, where.key)
    else:
        notice(said("No agent was active in the last week; --all shows the others."))


@app.command(cls=PlainUsage)
def claims(
    agent: Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Only claims of this agent.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Include expired and released claims.")] = False,
    limit: LimitOption = 200,
    project: ProjectOption = None,
    json: JsonOption = False,
    store: MailStoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Show who has claimed which files of a project.

    \b
    Example:
      nanobot-transcript mail claims --project /abs/path/backend
    """
    with opened_mail(config, store) as mail:
        from transcript_mcp.mail.claims.ledger import Claims
        from transcript_mcp.mail.views import shown_claim

        where = meant_project(mail, project)
        holder = None if agent is None else meant_agent(mail, agent, where.key).id
        known = Claims(mail.reader, mail.now)
        found = known.list_claims(where.id, holder, active_only=not everything, limit=limit)
    if json:
        shown = [shown_claim(each) for each in found]
        emit_json({"project": where.key, "claims": shown, **({"more": found.more} if found.more else {})})
        return
    from nanobot_transcript.cli.commands.mail.tables import print_claims

    tell_more(found, f"--limit {limit + found.more}")
    if found:
        print_claims(found)
    else:
        notice(said("No claims.") if everything else said("No active claims; --all shows earlier ones."))


def _thread(
    mail: "AgentMail", thread_id: str, here: "Project | None", limit: int, before: str | None, *, elsewhere: bool
) -> "LetterThread":
    try:
        found = mail.thread(thread_id, None if here is None else here.key, limit=limit, before=before)
    except LetterNotFoundError as error:
        if here and elsewhere:
            return _thread(mail, thread_id, None, limit, before, elsewhere=False)
        hint = said("Give its name, or the id of one of its messages; `mail search` and `mail inbox` show the ids.")
        raise LetterNotFoundError(str(error), hint=hint) from error
    name = found.letters[0].thread_id
    if len(found.letters) > 1 or name in (None, thread_id):
        return found
    # `thread_id` was the id of a message, and its thread has another name.
    return mail.thread(name, found.project, limit=limit, before=before)


def _repos(mail: "AgentMail") -> "dict[str, Path]":
    return {project.key: mail.places.repo(project.slug) for project in mail.projects()}


def _seconds(since: str | None) -> float | None:
    moment = moment_ms(since)
    return None if moment is None else moment / 1000


app.command(cls=PlainUsage)(overdue.overdue)
app.command(cls=PlainUsage)(release.release)
app.command(cls=PlainUsage)(send.send)
app.command(cls=PlainUsage)(send.reply)
app.command(cls=PlainUsage)(doctor.doctor)
app.add_typer(guard.app, name="guard")
