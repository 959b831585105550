"""``mail release``: a person releases the claims of an agent that is gone."""

import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from nanobot_transcript.cli.commands.mail.options import (
    AgentArgument,
    MailStoreOption,
    ProjectOption,
    meant_agent,
    meant_project,
    opened_service,
)
from nanobot_transcript.cli.terminal.exit_codes import NEGATIVE, UsageError
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.moments import local
from nanobot_transcript.cli.terminal.options import ConfigOption, JsonOption
from nanobot_transcript.cli.terminal.output import amount, emit_json, listed, notice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transcript_mcp.mail.claims.values import FileClaim
    from transcript_mcp.mail.values import Agent

__all__ = ["release"]

_SHOWN: Final = 10


def release(
    agent: AgentArgument,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="Paths, exactly as claimed. Default: all.", show_default=False),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    project: ProjectOption = None,
    json: JsonOption = False,
    store: MailStoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Release the claims of an agent, as a person. Asks first.

    For an agent that is gone: others can then claim the files, and commit them. The history of the archive says that a
    person did it; the agent is not told. Exit code 1: it has no claims there.

    \b
    Example:
      nanobot-transcript mail release GreenCastle
    """
    with opened_service(config, store) as service:
        from transcript_mcp.mail.views import shown_released

        where = meant_project(service.mail, project)
        who = meant_agent(service.mail, agent, where.key)
        asked_about, not_held = (None, ()) if yes else service.claims.held(where.id, who, paths or None)
        if asked_about:
            _ask(asked_about, not_held, who, where.key, json=json)
        released = service.claims.release(where.id, who, paths or None, by_person=True, only=asked_about)
        commit = service.archived(released.job)
    if json:
        emit_json({"project": where.key, "agent": who.name, **shown_released(released, commit)})
    else:
        if not asked_about:
            _tell_not_held(released.not_held, who)
        if released.released:
            count = amount(len(released.released), "claim")
            notice(said("Released {claims} of {agent}.", claims=count, agent=who.name))
        elif not paths:
            notice(said("{agent} has no claims in {project}.", agent=who.name, project=where.key))
    if not released.released:
        raise typer.Exit(NEGATIVE)


def _tell_not_held(paths: "Sequence[str]", who: "Agent") -> None:
    for path in paths:
        notice(said("{agent} has no claim on {path}.", agent=who.name, path=path))


def _ask(claims: "Sequence[FileClaim]", not_held: "Sequence[str]", who: "Agent", project: str, *, json: bool) -> None:
    paths = listed(claim.path for claim in claims[:_SHOWN])
    more = said(" and {count} more", count=len(claims) - _SHOWN) if len(claims) > _SHOWN else ""
    active = f"{local(who.last_active_ts * 1000):%Y-%m-%d %H:%M}"
    sentence = said(
        "{claims} of {agent}, active last at {active}, will be released in {project}: {paths}{more}.",
        claims=amount(len(claims), "claim"),
        agent=who.name,
        active=active,
        project=project,
        paths=paths,
        more=more,
    )
    if json or not sys.stdin.isatty():
        hint = said("Use --yes to skip the question.")
        raise UsageError(said("Cannot ask without a terminal: {question}", question=sentence), hint=hint)
    _tell_not_held(not_held, who)
    notice(sentence)
    if not typer.confirm(said("Release them?"), err=True):
        notice(said("Nothing was released."))
        raise typer.Exit(NEGATIVE)
