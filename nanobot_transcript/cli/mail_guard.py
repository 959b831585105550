"""``mail guard``: people put the pre-commit guard into a repository and take it out, as agents do with their tools."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from nanobot_transcript.cli.language import said
from nanobot_transcript.cli.mail_options import MailStoreOption, ProjectOption, meant_project, opened_mail
from nanobot_transcript.cli.options import ConfigOption, JsonOption
from nanobot_transcript.cli.output import emit_json, listed, notice
from nanobot_transcript.cli.problems import NEGATIVE
from nanobot_transcript.cli.usage import PlainUsage, WholeSentences

__all__ = ["app"]

app = typer.Typer(
    name="guard",
    cls=WholeSentences,
    help="The git hook that blocks commits to files other agents have claimed.\n\n\b\nExample:\n"
    "  nanobot-transcript mail guard install",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_Repository: TypeAlias = Annotated[
    Path,
    typer.Argument(metavar="PATH", help="A folder in the git work tree. Default: this one.", show_default=False),
]


@app.command(cls=PlainUsage)
def install(
    path: _Repository = Path(),
    project: ProjectOption = None,
    json: JsonOption = False,
    store: MailStoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Install the guard, so that a repository's commits respect a project's claims.

    An existing hook keeps running, before the guard. Run it again to update the guard.

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
    guards = "{hook} guards the claims of {projects}, and so do {beside} next to it."
    notice(said(guards, hook=made.hook, projects=listed(made.projects), beside=listed(HOOKS[1:])))
    if made.earlier:
        notice(said("{hook} runs before it.", hook=made.earlier))
    if made.note:
        notice(made.note)


@app.command(cls=PlainUsage)
def uninstall(
    path: _Repository = Path(),
    json: JsonOption = False,
    store: MailStoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Remove the guard from a repository, and restore the hook that was there before.

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
        notice(said("There is no guard of Agent Mail at {hook}.", hook=gone.hook))
    else:
        restored = said("The guard was removed, and the earlier hook restored.")
        notice(restored if gone.restored else said("The guard was removed."))
    if not gone.removed:
        raise typer.Exit(NEGATIVE)
