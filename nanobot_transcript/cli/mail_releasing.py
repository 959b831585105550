"""``mail release``: people release the claims of an agent that is gone."""

import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from nanobot_transcript.cli.mail_options import (
    AgentArgument,
    MailStoreOption,
    ProjectOption,
    meant_agent,
    meant_project,
    opened_service,
)
from nanobot_transcript.cli.moments import local
from nanobot_transcript.cli.options import ConfigOption, JsonOption
from nanobot_transcript.cli.output import amount, emit_json, notice
from nanobot_transcript.cli.problems import NEGATIVE, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transcript_mcp.mail.claim_values import Claim
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
        from transcript_mcp.mail.showing import shown_released

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
            notice(f"Released {amount(len(released.released), 'claim')} of {who.name}.")
        elif not paths:
            notice(f"{who.name} has no claims in {where.key}.")
    if not released.released:
        raise typer.Exit(NEGATIVE)


def _tell_not_held(paths: "Sequence[str]", who: "Agent") -> None:
    for path in paths:
        notice(f"{who.name} has no claim on {path}.")


def _ask(claims: "Sequence[Claim]", not_held: "Sequence[str]", who: "Agent", project: str, *, json: bool) -> None:
    paths = ", ".join(claim.path for claim in claims[:_SHOWN])
    more = f" and {len(claims) - _SHOWN} more" if len(claims) > _SHOWN else ""
    active = f"{local(who.last_active_ts * 1000):%Y-%m-%d %H:%M}"
    sentence = (
        f"{amount(len(claims), 'claim')} of {who.name}, active last at {active}, will be released in {project}: "
        f"{paths}{more}."
    )
    if json or not sys.stdin.isatty():
        raise UsageError(f"Cannot ask without a terminal: {sentence}", hint="Use --yes to skip the question.")
    _tell_not_held(not_held, who)
    notice(sentence)
    if not typer.confirm("Release them?", err=True):
        notice("Nothing was released.")
        raise typer.Exit(NEGATIVE)
