"""Completes the archive in git from the database, when git has lost or changed something.

Lost blobs are restored at once; everything else becomes archive jobs. An unreadable repository is moved aside and
created again, without its history.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pygit2

from nanobot_transcript.errors import ArchiveError
from nanobot_transcript.sql.contract import Database
from transcript_mcp.mail.agents import projects
from transcript_mcp.mail.archive import jobs, last_commit
from transcript_mcp.mail.archive.doctor import differences
from transcript_mcp.mail.archive.expected_files import attachments, expected
from transcript_mcp.mail.archive.rebuild import only_one
from transcript_mcp.mail.archive.repository import keep_aside
from transcript_mcp.mail.one_line import amount
from transcript_mcp.mail.store import MailStore
from transcript_mcp.mail.values import Project

__all__ = ["Completed", "complete"]

_BUSY: Final = 10.0
_AT_ONCE: Final = 200


@dataclass(slots=True)
class Completed:
    """The number of files restored or queued, and the paths of repositories that were moved aside.

    ``problems``: a sentence for each project that could not be repaired.
    """

    files: int = 0
    aside: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def complete(store: MailStore) -> Completed:
    """Queue everything that git lacks or has differently from the database, project by project. Raises StoreError."""
    done = Completed()
    database = store.opened(_BUSY)
    try:
        for project in database.read(projects.all_projects, []):
            try:
                done.files += _complete(store, database, project, done)
            except ArchiveError as error:
                done.problems.append(f"{project.key}: {error} {error.hint}")
        return done
    finally:
        database.close()


def _complete(store: MailStore, database: Database, project: Project, done: Completed) -> int:
    snapshot = _readable(store, project, done)
    files = database.read(lambda db: expected(db, project, snapshot.files), {})
    found = list(differences(snapshot, files))
    wanted = {each.path: files[each.path] for each in found if each.kind in ("missing", "different")}
    lost = [each.path for each in found if each.kind == "lost"]
    whole = database.read(lambda db: expected(db, project, ()), {}) if lost else {}
    restored = 0
    for path in lost:
        text = whole.get(path, files.get(path))
        data = _from_folder(store, project, path) if text is None else text.encode()
        if data is not None and str(pygit2.hash(data)) == snapshot.files[path]:
            if not snapshot.restore(path, data):
                _move_aside(store, project, done)
                return restored + _complete(store, database, project, done)
            restored += 1
        elif text is not None:
            wanted[path] = text
        else:
            done.problems.append(f"{project.key}: {path} is lost. Restore the repository from a backup.")
    pictures = _pictures(store, database, project, snapshot)
    _enqueue(database, project, wanted, pictures)
    return restored + len(wanted) + len(pictures)


def _from_folder(store: MailStore, project: Project, path: str) -> bytes | None:
    try:
        return (store.repo(project.slug) / path).read_bytes()
    except OSError:
        return None


def _readable(store: MailStore, project: Project, done: Completed) -> last_commit.LastCommit:
    try:
        return last_commit.take(store, project.slug)
    except ArchiveError:
        _move_aside(store, project, done)
        return last_commit.take(store, project.slug)


def _move_aside(store: MailStore, project: Project, done: Completed) -> None:
    with only_one(store):
        done.aside.append(keep_aside(store.repo(project.slug)))


def _pictures(store: MailStore, database: Database, project: Project, snapshot: last_commit.LastCommit) -> list[str]:
    """Attachments of messages that are in the folder but not in git."""
    named = {path for _, path in database.read(lambda db: list(attachments(db, project)), [])}
    folder = store.repo(project.slug)
    return sorted(path for path in named if path not in snapshot.files and (folder / path).is_file())


def _enqueue(database: Database, project: Project, wanted: Mapping[str, str], pictures: list[str]) -> None:
    paths = [*sorted(wanted), *pictures]
    for start in range(0, len(paths), _AT_ONCE):
        some = paths[start : start + _AT_ONCE]
        texts = {path: wanted[path] for path in some if path in wanted}
        present = [path for path in some if path not in wanted]
        summary = f"complete: {amount(len(some), 'file')} from the database"
        database.write(
            lambda db, texts=texts, present=present, summary=summary: jobs.enqueue(
                db, project.id, summary, texts, now=round(time.time(), 3), present=present
            )
        )
