"""``mail doctor``: compares the archive in git with the database, and repairs one from the other."""

import time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from nanobot_transcript.cli.commands.mail.options import MailStoreOption, mail_settings
from nanobot_transcript.cli.terminal.exit_codes import DONE, NEGATIVE, UsageError
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.options import ConfigOption, JsonOption
from nanobot_transcript.cli.terminal.output import amount, emit_json, notice

if TYPE_CHECKING:
    from transcript_mcp.mail.store import MailStore

__all__ = ["doctor"]

_BUSY: Final = 10.0
_PATIENCE: Final = 60.0
_LOOK: Final = 0.05


def doctor(
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Rebuild the database from git; the old one is kept next to it.")
    ] = False,
    complete: Annotated[
        bool, typer.Option("--complete", help="Write to git what is missing there or differs from the database.")
    ] = False,
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="With --rebuild: go on without the messages that git cannot read.")
    ] = False,
    json: JsonOption = False,
    store: MailStoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Compare git and the database, or repair one from the other.

    Looks both ways: for what is missing in git, and for what is missing in the database. Comparing changes nothing, and
    may run at any time. Stop the hub before --rebuild, and before --complete where it has to write a new repository:
    nobody else may use the mail then. Exit code 1: something is wrong.

    \b
    Example:
      nanobot-transcript mail doctor
    """
    if rebuild and complete:
        raise UsageError(
            said("--rebuild trusts git, --complete trusts the database."), hint=said("Use only one of them.")
        )
    if accept_loss and not rebuild:
        raise UsageError(said("--accept-loss belongs to --rebuild."), hint=said("Leave it out, or give both."))
    from nanobot_transcript.settings.lazy_record import Opening
    from transcript_mcp.mail.store import MailStore

    settings = mail_settings(config, store)
    with Opening(settings) as opening:
        place = MailStore.of(settings, opening)
        if rebuild:
            _rebuild(place, accept_loss=accept_loss, json=json)
        elif complete:
            _complete(place, json=json)
        else:
            _compare(place, json=json)


def _compare(store: "MailStore", *, json: bool) -> None:
    from transcript_mcp.mail.archive.doctor import examine

    found = examine(store)
    wrong = any(finding.severity in ("warning", "error") for finding in found)
    if json:
        emit_json({"ok": not wrong, "findings": [finding.document() for finding in found]})
    else:
        from nanobot_transcript.cli.terminal.findings import print_findings

        print_findings(found)
    raise typer.Exit(NEGATIVE if wrong else DONE)


def _rebuild(store: "MailStore", *, accept_loss: bool, json: bool) -> None:
    from transcript_mcp.mail.archive.last_commit import slugs
    from transcript_mcp.mail.archive.rebuild import rebuild

    if not slugs(store):
        raise UsageError(
            said("There is no archive in {folder} to rebuild the database from.", folder=store.root),
            hint=said("Name the folder of the mail with --store or in mail.store."),
        )
    done = rebuild(store, accept_loss=accept_loss)
    filled, kept = done.filled, done.kept
    if json:
        counts = {"projects": filled.projects, "agents": filled.agents, "messages": filled.messages}
        counts |= {"claims": filled.claims}
        emit_json({"rebuilt": counts, "kept": None if kept is None else str(kept), "left_out": filled.problems})
        return
    for problem in filled.problems:
        notice(said("Left out: {what}", what=problem))
    rebuilt = said(
        "{file} holds {messages}, {agents} and {claims} of {projects}, rebuilt from git.",
        file=store.where,
        messages=amount(filled.messages, "message"),
        agents=amount(filled.agents, "agent"),
        claims=amount(filled.claims, "claim"),
        projects=amount(filled.projects, "project"),
    )
    notice(rebuilt)
    if kept is not None:
        notice(said("The old one is {file}.", file=kept))


def _complete(store: "MailStore", *, json: bool) -> None:
    from transcript_mcp.mail.archive.repair import Completed, complete

    done = complete(store) if store.is_begun else Completed()
    count = done.files
    in_git = not count or _archived(store)
    if json:
        aside = [str(path) for path in done.aside]
        emit_json({"completed": count, "in_git": in_git, "aside": aside, "problems": done.problems})
        raise typer.Exit(DONE if in_git and not done.problems else NEGATIVE)
    for path in done.aside:
        unread = "A repository could not be read, so a new one was written, without the history. The old one is {file}."
        notice(said(unread, file=path))
    for problem in done.problems:
        notice(problem)
    if not count and not done.problems:
        notice(said("Git already has everything in the database."))
    elif count and in_git:
        notice(said("{files} written to git.", files=amount(count, "file")))
    elif count:
        one, several = "{files} waits for git;", "{files} wait for git;"
        waits = said(one if count == 1 else several, files=amount(count, "file"))
        notice(waits + said(" the archiver continues once the hub runs."))
    raise typer.Exit(DONE if in_git and not done.problems else NEGATIVE)


def _archived(store: "MailStore") -> bool:
    """True once everything that waits is in git, by an archiver of ours or by the hub's; False after a minute."""
    from transcript_mcp.mail.archive.archiver import ArchiverProcess
    from transcript_mcp.mail.archive.jobs import has_waiting

    database = store.opened(_BUSY)
    deadline = time.monotonic() + _PATIENCE
    try:
        with ArchiverProcess(store):
            while time.monotonic() < deadline:
                if not database.read(has_waiting, False):
                    return True
                time.sleep(_LOOK)
        return False
    finally:
        database.close()
