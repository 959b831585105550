"""``mail guard``: people install the pre-commit guard in a repository and remove it, as agents do with their tools."""

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from nanobot_transcript.cli.commands.mail.options import (
    MailStoreOption,
    ProjectOption,
    mail_settings,
    meant_project,
    opened_mail,
)
from nanobot_transcript.cli.terminal.exit_codes import NEGATIVE, UsageError
from nanobot_transcript.cli.terminal.help import PlainUsage, WholeSentences
from nanobot_transcript.cli.terminal.language import language, said
from nanobot_transcript.cli.terminal.options import ConfigOption, JsonOption
from nanobot_transcript.cli.terminal.output import emit_json, listed, notice
from nanobot_transcript.errors import HubUnreachableError, TranscriptError, UnknownProjectError

if TYPE_CHECKING:
    from nanobot_transcript.settings import LoadedSettings
    from transcript_mcp.mail.claims.guard import GuardWay, Installed
    from transcript_mcp.mail.store import MailStore

    _Meant: TypeAlias = tuple[MailStore, str, Path, GuardWay]
    """What ``install_guard`` is called with."""

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
_Hub: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--hub", metavar="URL", help="Ask the hub at this address, here or on another machine, for the claims."
    ),
]
_TokenFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="File with the hub's token, for you alone. Default: the variable AGENT_MAIL_TOKEN.",
        readable=False,
    ),
]


@app.command(cls=PlainUsage)
def install(
    path: _Repository = Path(),
    project: ProjectOption = None,
    hub: _Hub = None,
    token_file: _TokenFile = None,
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
    from transcript_mcp.mail.claims.guard import install_guard
    from transcript_mcp.mail.views import shown_guard

    token = "" if token_file is None else str(token_file.expanduser().absolute())
    find = _here if hub is None else partial(_at_hub, hub)
    made = install_guard(*find(path.absolute(), project, token, mail_settings(config, store)))
    if json:
        emit_json(shown_guard(made))
    else:
        _tell(made)
    if made.hub and hub is None:
        _try(made)


def _here(path: Path, project: str | None, token_file: str, settings: "LoadedSettings") -> "_Meant":
    """What to install for the mail of the settings."""
    from nanobot_transcript.settings.hub_address import url_of
    from transcript_mcp.mail.claims.guard import GuardWay
    from transcript_mcp.mail.mail import AgentMail

    with AgentMail(settings.mail.store) as mail:
        otherwise = "" if mail.file is not None else url_of(settings.hub.host, settings.hub.port)
        return mail.places, meant_project(mail, project).key, path, GuardWay("", token_file, otherwise)


def _at_hub(hub: str, path: Path, project: str | None, token_file: str, settings: "LoadedSettings") -> "_Meant":
    """What to install for the mail of a hub, which is asked for the project. Raises what ``_asked`` raises."""
    from transcript_mcp.mail.claims.guard import GuardWay, hub_address, token_file_for
    from transcript_mcp.mail.store import MailStore

    store, address = MailStore(settings.mail.store), hub_address(hub)
    file = token_file or token_file_for(store, address, path)
    if project is not None:
        meant = str(Path(project).resolve()) if project.startswith(".") else project
        return store, _asked(address, meant, file), path, GuardWay(address, file)
    here = Path.cwd()
    for folder in (here, *here.parents):
        with suppress(UnknownProjectError):
            return store, _asked(address, str(folder), file), path, GuardWay(address, file)
        if (folder / ".git").exists():
            break
    raise UsageError(
        said("{hub} has no project for {folder}.", hub=address, folder=here), hint=said("Name one with --project KEY.")
    )


def _asked(hub: str, key: str, token_file: str) -> str:
    """The key under which a hub has a project. Raises HubUnreachableError, UnknownProjectError."""
    from transcript_mcp.mail.claims.guard_hub import UnaskedError, asked

    try:
        return asked(hub, key, "", token_file)[0]
    except UnaskedError as error:
        kind = UnknownProjectError if error.code == UnknownProjectError.code else HubUnreachableError
        if language() == "zh":
            raise kind(f"{error.why[1]}。", hint=error.advice[1]) from error
        raise kind(f"{error.why[0][:1].upper()}{error.why[0][1:]}.", hint=error.advice[0]) from error


def _tell(made: "Installed") -> None:
    from transcript_mcp.mail.claims.guard import HOOKS

    guards = "{hook} guards the claims of {projects}, and so do {beside} next to it."
    notice(said(guards, hook=made.hook, projects=listed(made.projects), beside=listed(HOOKS[1:])))
    if made.token_file:
        notice(said("It asks the hub at {hub}, with the token in {file}.", hub=made.hub, file=made.token_file))
    elif made.hub:
        asks = "It asks the hub at {hub}. If that requires a token, set AGENT_MAIL_TOKEN wherever you commit."
        notice(said(asks, hub=made.hub))
    if made.earlier:
        notice(said("{hook} runs before it.", hook=made.earlier))
    if made.note:
        notice(made.note)


def _try(made: "Installed") -> None:
    """Warn if the guard could not ask the hub now; it stays installed."""
    try:
        _asked(made.hub, made.projects[-1], made.token_file)
    except TranscriptError as error:
        notice(said("WARNING: {problem}", problem=f"{error} {error.hint}"))


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
    from transcript_mcp.mail.claims.guard import uninstall_guard
    from transcript_mcp.mail.views import shown_guard_removed

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
