"""What the commands of Agent Mail share: options, opening the mail, and finding the project that is meant."""

from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from nanobot_transcript.cli.terminal.exit_codes import UsageError
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.options import read_settings
from nanobot_transcript.cli.terminal.output import listed, notice, number
from nanobot_transcript.errors import ConfigError, UnknownProjectError, UnregisteredAgentError
from nanobot_transcript.files.access import require_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nanobot_transcript.settings import LoadedSettings
    from transcript_mcp.mail.mail import AgentMail
    from transcript_mcp.mail.service import MailService
    from transcript_mcp.mail.values import Agent, LetterPage, LetterThread, Project

__all__ = [
    "AgentArgument",
    "BeforeOption",
    "LimitOption",
    "MailStoreOption",
    "ProjectOption",
    "mail_settings",
    "meant_agent",
    "meant_project",
    "more_of",
    "opened_mail",
    "opened_service",
    "project_here",
    "said_to_people",
    "tell_more",
]

_HINT = "Correct --store or mail.store; `nanobot-transcript doctor` says what is wrong with the directory."
_LISTED = 5

AgentArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="AGENT", help="Name of an agent; case-sensitive.", show_default=False)
]
ProjectOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--project", metavar="KEY", help="The project. Default: the one of the working directory."),
]
LimitOption: TypeAlias = Annotated[
    int, typer.Option("-n", "--limit", metavar="N", min=1, help="Show at most this many, the newest.")
]
BeforeOption: TypeAlias = Annotated[
    str | None, typer.Option("--before", metavar="ID", help="Show the next page: what came before this message.")
]
MailStoreOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--store", metavar="DIR", help="Folder of the mail, instead of mail.store.", readable=False),
]


def mail_settings(config: Path | None, store: Path | None, archive: "dict[str, Any] | None" = None) -> "LoadedSettings":
    """The settings of this command; ``store`` overrides ``mail.store``, ``archive`` overrides ``mail.archive``.

    Raises StoreUnavailableError when what lies at ``mail.store`` cannot be read or is no directory.
    """
    mail: dict[str, Any] = {"archive": archive} if archive else {}
    if store is not None:
        try:
            mail["store"] = str(store.expanduser().absolute())
        except RuntimeError as error:
            raise ConfigError(
                said("There is no home directory for {store}.", store=store), hint=said("Write the full path.")
            ) from error
    settings = read_settings(config, None, {"mail": mail} if mail else None)
    require_folder(settings.mail.store, _HINT)
    return settings


@contextmanager
def opened_mail(config: Path | None, store: Path | None) -> "Iterator[AgentMail]":
    """The mail for reading, closed at the end. Creates nothing."""
    from nanobot_transcript.settings.lazy_record import Opening
    from transcript_mcp.mail.mail import AgentMail
    from transcript_mcp.mail.store import MailStore

    settings = mail_settings(config, store)
    with Opening(settings) as opening, AgentMail(MailStore.of(settings, opening)) as mail:
        yield mail


@contextmanager
def opened_service(config: Path | None, store: Path | None) -> "Iterator[MailService]":
    """The mail for writing. It waits for the commit to git (``mail.archive.sync``), because the archiver ends with the
    command.
    """
    from nanobot_transcript.settings.lazy_record import Opening
    from transcript_mcp.mail.server import service_from

    settings = mail_settings(config, store, {"sync": True})
    with Opening(settings) as opening, closing(service_from(settings, opening)) as service:
        yield service


def meant_project(mail: "AgentMail", key: str | None) -> "Project":
    """The project with this key, or of the folder that ``key`` is a path to; without a key the working directory's.

    Raises UsageError, and UnknownProjectError.
    """
    known = {project.key: project for project in mail.projects()}
    if not known:
        raise UsageError(
            said("There is no mail in {folder} yet.", folder=mail.places.root),
            hint=said(
                "It starts when `nanobot-transcript serve` runs and an agent calls start_session. "
                "If your mail is elsewhere, give its folder with --store or mail.store."
            ),
        )
    if key is not None:
        return _named(mail, known, key)
    found = project_here(mail)
    if found is None:
        shown = _listed([project.key for project in reversed(known.values())])
        sentence = said("{folder} is not in any project of Agent Mail.", folder=Path.cwd())
        raise UsageError(sentence, hint=said("Name one with --project: {projects}", projects=shown))
    return found


def meant_agent(mail: "AgentMail", name: str, key: str | None) -> "Agent":
    """The agent of this name in the project that is meant; where no project is, the one that was active last.

    Raises what ``meant_project`` raises, and UnregisteredAgentError.
    """
    project = project_here(mail) if key is None else None
    if key is None and project is None and mail.projects():
        with said_to_people():
            found = mail.most_recent(name)
        told = "{agent} of {project}, active last under this name; use --project for another."
        notice(said(told, agent=found.name, project=found.project))
        return found
    chosen = project or meant_project(mail, key)
    with said_to_people():
        return mail.whois(chosen.key, name)


@contextmanager
def said_to_people() -> "Iterator[None]":
    """Reword errors about unknown names, which are written for agents: people do not know the tools' parameters."""
    try:
        yield
    except UnregisteredAgentError as error:
        told = str(error).partition(" not registered: ")[2] or str(error)
        raise UnregisteredAgentError(told[:1].upper() + told[1:], hint=_hint_for_people(error.hint)) from error


def _hint_for_people(hint: str) -> str:
    if hint.startswith("Give the project"):
        return said("Name the project of the one you mean with --project.")
    if hint.startswith(("Do you mean", "No person")):
        return hint
    return said("`nanobot-transcript mail agents --all` lists those of a project. Names are case-sensitive.")


def _named(mail: "AgentMail", known: "dict[str, Project]", key: str) -> "Project":
    """The project with this key, else the one of the folder that the key is a path to."""
    folder = str(Path(key).resolve())
    found = known.get(key) or (known.get(folder) if key.strip() else None)
    if found is not None:
        return found
    try:
        return mail.project(folder if key.startswith(".") else key)
    except UnknownProjectError as error:
        if error.hint.startswith("Do you mean"):
            raise
        like = [each for each in known if each.rpartition("/")[2] == key.strip("/")]
        mean = said("Do you mean {names}?", names=said(" or ").join(like))
        hint = mean if like else said("There are: {projects}", projects=_listed([*known][::-1]))
        shown = folder if key.startswith(".") else key
        raise UnknownProjectError(said("There is no project {project}.", project=shown), hint=hint) from error


def project_here(mail: "AgentMail") -> "Project | None":
    """The project of the working directory or the nearest folder above it, up to the root of the git repository."""
    from transcript_mcp.mail.agents.projects import canonical

    known, here = {canonical(project.key): project for project in reversed(mail.projects())}, Path.cwd()
    known |= {project.key: project for project in mail.projects()}
    for folder in (here, *here.parents):
        if str(folder) in known:
            return known[str(folder)]
        if (folder / ".git").exists():
            return None
    return None


def _listed(keys: "Sequence[str]") -> str:
    more = said(" and {count} more", count=number(len(keys) - _LISTED)) if len(keys) > _LISTED else ""
    return f"{listed(keys[:_LISTED])}{more}"


def more_of(page: "LetterPage[Any] | LetterThread") -> dict[str, Any]:
    """What JSON says of what it does not hold; nothing when it holds all."""
    return {"more": page.more, "before": page.before} if page.more else {}


def tell_more(page: "LetterPage[Any] | LetterThread", how: str | None = None) -> None:
    """Say on stderr how many more there are, and which option shows them."""
    if page.more:
        from transcript_mcp.mail.views import many

        option = how or f"--before {page.before}"
        notice(said("{count} more; {option} shows them.", count=many(page.more), option=option))
