"""``mail guard``: people put the pre-commit guard into a repository and take it out, as agents do with their tools."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from nanobot_transcript.cli.mail_options import MailStoreOption, ProjectOption, meant_project, opened_mail
from nanobot_transcript.cli.options import ConfigOption, JsonOption
from nanobot_transcript.cli.output import emit_json, notice
from nanobot_transcript.cli.problems import NEGATIVE
from nanobot_transcript.cli.usage import PlainUsage, WholeSentences

__all__ = ["app"]

app = typer.Typer(
    name="guard",
    cls=WholeSentences,
    help="The hook that keeps commits out of what other agents have claimed.\n\n\b\nExample:\n"
    "  nanobot-transcript mail guard install",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_Repository: TypeAlias = Annotated[
    Path,
    typer.Argument(metavar="PATH", help="A folder of the git work tree, instead of this one.", show_default=False),
]


@app.command(cls=PlainUsage)
def install(
    path: _Repository = Path(),
    project: ProjectOption = None,
    json: JsonOption = False,
    store: MailStoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Let the commits of a repository respect a project's claims.

    The hook that is there already runs before it. Doing it again brings the guard up to date.

    \b
    Example:
      nanobot-transcript mail guard install --project /abs/path/backend
    """
    from transcript_mcp.mail.guard import HOOKS, install_guard
    from transcript_mcp.mail.showing import shown_guard

    with opened_mail(config, store) as mail:
        made = install_guard(mail.places, meant_project(mail, project).key, path.absolute())
    if json:
        emit_json(shown_guard(made))
        return
    beside = ", ".join(HOOKS[1:])
    notice(f"{made.hook} guards the claims of {', '.join(made.projects)}, and beside it {beside}.")
    if made.earlier:
        notice(f"{made.earlier} runs before it.")
    if made.note:
        notice(made.note)


@app.command(cls=PlainUsage)
def uninstall(
    path: _Repository = Path(),
    json: JsonOption = False,
    store: MailStoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Take the guard out of a repository; the hook that was there before comes back.

    Exit code 1: there is no guard.

    \b
    Example:
      nanobot-transcript mail guard uninstall
    """
    from transcript_mcp.mail.guard import uninstall_guard
    from transcript_mcp.mail.showing import shown_guard_removed

    with opened_mail(config, store) as mail:
        gone = uninstall_guard(mail.places, path.absolute())
    if json:
        emit_json(shown_guard_removed(gone))
    elif not gone.removed:
        notice(f"There is no guard of Agent Mail at {gone.hook}.")
    else:
        notice(f"The guard is gone{', and the hook that was there before is back' if gone.restored else ''}.")
    if not gone.removed:
        raise typer.Exit(NEGATIVE)
