"""Compares git and the database of Agent Mail in both directions, and finds guards with outdated rules.

Changes that are still on their way into git are no differences: waiting jobs are excluded, and a difference counts only
when it is seen twice.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import pygit2

from nanobot_transcript.errors import ArchiveError, TranscriptError
from nanobot_transcript.files.lock import is_held
from nanobot_transcript.findings import Finding
from nanobot_transcript.sql.contract import Database, Sql
from transcript_mcp.mail.agents import projects
from transcript_mcp.mail.archive import jobs, last_commit
from transcript_mcp.mail.archive.expected_files import attachments, expected, same
from transcript_mcp.mail.claims import guards
from transcript_mcp.mail.one_line import amount
from transcript_mcp.mail.store import MailStore
from transcript_mcp.mail.values import Project

__all__ = ["Difference", "differences", "examine", "glance"]

_LOOK_AGAIN: Final = 0.5
_LATE: Final = 60.0
_EXAMPLES: Final = 3
_GUARDS: Final = 10
_BUSY: Final = 10.0
_REBUILD: Final = "Stop the server, then rebuild the database from git: nanobot-transcript mail doctor --rebuild"
_COMPLETE: Final = "Write it to git again from the database: nanobot-transcript mail doctor --complete"
_EITHER: Final = "If the database is right: nanobot-transcript mail doctor --complete. If git is right: --rebuild"
_OLD_HISTORY: Final = "Current mail is not affected. If you need the older history, restore git from a backup."
_SAYS: Final = {
    "missing": ("not in git", _COMPLETE),
    "lost": ("in git without content: its objects are lost or damaged", _COMPLETE),
    "different": ("different in git and in the database", _EITHER),
    "extra": ("in git but not in the database", _REBUILD),
    "attachment": ("named by a message but not in git", "Restore the file from a backup of the store."),
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One file that differs between git and the database."""

    slug: str
    kind: str
    path: str


def glance(store: MailStore) -> list[Finding]:
    """The quick checks: the database can be read, and what waits for git. Takes milliseconds. Changes nothing."""
    return _examine(store, whole=False)


def examine(store: MailStore) -> list[Finding]:
    """All checks of a store. Changes nothing; may run beside everything else."""
    return _examine(store, whole=True)


def _examine(store: MailStore, *, whole: bool) -> list[Finding]:
    database = store.opened(_BUSY)
    try:
        if database.identity() is None and not last_commit.slugs(store):
            return [Finding("mail", "info", f"There is no mail in {store.where} yet."), *_guards(store, [])]
        if database.identity() is None:
            return [Finding("database", "error", f"{store.where} is missing, and the archive has mail.", _REBUILD)]
        damage = database.damage() if whole else ""
        if damage:
            return [Finding("database", "error", f"{store.where} is damaged: {damage}.", _REBUILD)]
        return [
            *_waiting(store, database),
            *_one_folder(database),
            *_guards(store, database.read(projects.all_projects, [])),
            *(_compared(store, database) if whole else ()),
        ]
    except TranscriptError as error:
        return [Finding("database", "error", str(error), error.hint)]
    finally:
        database.close()


def _waiting(store: MailStore, database: Database) -> Iterator[Finding]:
    query = "SELECT count(*), min(created_ts) FROM archive_jobs WHERE done_ts IS NULL"
    count, oldest = database.read(lambda db: tuple(db.execute(query).fetchone()), (0, None))
    running = _is_locked(store)
    if not count:
        said = "and nothing waits for it" if running else "and nothing waits for one"
        yield Finding("archiver", "ok", f"{'The' if running else 'No'} archiver runs, {said}.")
        return
    what = "1 change waits" if count == 1 else f"{count} changes wait"
    age = max(0.0, store.clock() - oldest)
    late = age > _LATE
    fix = "" if running and not late else "Start the server; its archiver writes them to git."
    if running and late:
        fix = "Check the server's log: the archiver says there why it cannot write."
    yield Finding(
        "archiver",
        "warning" if late or not running else "info",
        f"{what} for git, the oldest for {age:,.0f} s; {'the' if running else 'no'} archiver runs.",
        fix,
    )


def _one_folder(database: Database) -> Iterator[Finding]:
    """Projects that are the same folder, because a link was made after both had mail."""
    keys: dict[str, list[str]] = {}
    for project in database.read(projects.all_projects, []):
        keys.setdefault(projects.canonical(project.key), []).append(project.key)
    for folder, several in keys.items():
        if len(several) > 1:
            said = f"{' and '.join(several)} are the same folder, but each has its own mail and claims."
            yield Finding("project", "warning", said, f"Let all agents use one of them, such as {folder}.")


def _guards(store: MailStore, known: Sequence[Project]) -> Iterator[Finding]:
    keys = (project.key for project in known)
    found = guards.outdated(store, keys, elsewhere=True, in_file=not store.tables.is_remote)
    for each in found[:_GUARDS]:
        yield Finding("guard", "warning", each.problem, f"Update it: {each.command}")
    if len(found) > _GUARDS:
        more = len(found) - _GUARDS
        yield Finding("guard", "warning", f"{amount(more, 'more guard')} {'has' if more == 1 else 'have'} older rules.")


def _compared(store: MailStore, database: Database) -> Iterator[Finding]:
    known = database.read(projects.all_projects, [])
    for slug in sorted(set(last_commit.slugs(store)) - {project.slug for project in known}):
        yield Finding("archive", "error", f"The project in {store.repo(slug)} is not in the database.", _REBUILD)
    for project in known:
        try:
            yield from _project(store, database, project)
        except ArchiveError as error:
            yield Finding("archive", "error", f"{project.key}: {error}", _COMPLETE)


def _project(store: MailStore, database: Database, project: Project) -> Iterator[Finding]:
    found, files = _look(store, database, project)
    if found:
        time.sleep(_LOOK_AGAIN)
        again, files = _look(store, database, project)
        found &= again
    if not found:
        kinds = Counter(path.partition("/")[0] for path in files)
        count = kinds["messages"]
        has = f"git has {amount(count, 'message')}, as the database does" if count else "no messages yet"
        yield Finding("archive", "ok", f"{project.key}: {has}.")
    if not last_commit.take(store, project.slug).history_is_whole("claims"):
        yield Finding("archive", "warning", f"{project.key}: git has lost part of its history.", _OLD_HISTORY)
    for kind, (says, fix) in _SAYS.items():
        paths = sorted(difference.path for difference in found if difference.kind == kind)
        if paths:
            yield Finding("archive", "error", f"{project.key}: {_some_paths(paths)} {says}.", fix)


def _some_paths(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _EXAMPLES:,} more" if len(paths) > _EXAMPLES else ""
    return f"{', '.join(paths[:_EXAMPLES])}{more} {'is' if len(paths) == 1 else 'are'}"


def _look(store: MailStore, database: Database, project: Project) -> tuple[set[Difference], dict[str, str]]:
    """The differences that no waiting job explains, and the files that should be in git."""
    before = last_commit.take(store, project.slug)

    def work(db: Sql) -> tuple[dict[str, str], set[str], list[tuple[str, str]]]:
        on_their_way = {path for job in jobs.waiting(db, project.id, None) for path in (*job.files, *job.present)}
        return expected(db, project, before.files), on_their_way, list(attachments(db, project))

    files, on_their_way, attached = database.read_at_once(work, ({}, set(), []))
    snapshot = last_commit.take(store, project.slug)
    found = {difference for difference in differences(snapshot, files) if difference.path not in on_their_way}
    lost = {path for _, path in attached if path not in snapshot.files and path not in on_their_way}
    return found | {Difference(project.slug, "attachment", path) for path in lost}, files


def differences(snapshot: last_commit.LastCommit, files: Mapping[str, str]) -> Iterator[Difference]:
    """The files that differ between git and the database; ``files`` are those that should be in git."""
    lost = snapshot.unreadable()
    for path in lost:
        yield Difference(snapshot.slug, "lost", path)
    for path, text in files.items():
        content = snapshot.files.get(path)
        if content is None:
            yield Difference(snapshot.slug, "missing", path)
        elif path not in lost and content != str(pygit2.hash(text.encode())) and not _same(snapshot, path, text):
            yield Difference(snapshot.slug, "different", path)
    for path in snapshot.files.keys() - files.keys():
        if path.startswith(("messages/", "agents/", "claims/")):
            yield Difference(snapshot.slug, "extra", path)


def _same(snapshot: last_commit.LastCommit, path: str, text: str) -> bool:
    try:
        return same(path, snapshot.text(path), text)
    except (ArchiveError, msgspec.DecodeError):
        return False


def _is_locked(store: MailStore) -> bool:
    try:
        return is_held(store.archiver_lock)
    except OSError:
        return False
