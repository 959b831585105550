"""The archiver's work: commits the jobs of each project in rounds, and does maintenance in quiet times.

A project whose repository fails is tried again after growing pauses, and does not hold up the others.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from nanobot_transcript.errors import ArchiveError, StoreBusyError, StoreError
from nanobot_transcript.sql.contract import Database, Sql
from transcript_mcp.mail.archive import jobs
from transcript_mcp.mail.archive.commits import ProjectRepository
from transcript_mcp.mail.archive.packs import Repacking
from transcript_mcp.mail.store import CLAIMS, MailStore

__all__ = ["Archiving"]

_BATCH: Final = 200
_GATHERING: Final = 0.25
_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 60.0
_QUIET: Final = 1.0
_INDEX_AGAIN: Final = 2.0
_FORGETTING: Final = 60.0
_PATIENCE: Final = 5.0
_ASK_AGAIN: Final = 0.001
_NEVER: Final = float("inf")
_OPEN_AT_ONCE: Final = 64

_T = TypeVar("_T")

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Project:
    """The archiver's state of a project. Times are monotonic; ``index_at``: when to refresh git's index."""

    repository: ProjectRepository
    next_commit: float = 0.0
    failing: bool = False
    pause: float = _FIRST_PAUSE
    told: set[str] = field(default_factory=set)
    index_at: float = 0.0


class Archiving:
    """The work of the one process that holds the archiver's lock.

    ``clock`` gives seconds since 1970. ``database`` should have a short ``busy`` time; writes are retried here. Raises
    StoreError when the database cannot be read or written.
    """

    def __init__(self, store: MailStore, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._store: MailStore = store
        self._database: Database = database
        self._clock: Callable[[], float] = clock
        self._projects: dict[int, _Project] = {}
        self._repacking: Repacking = Repacking()
        self._next_forgetting: float = 0.0
        self._last_commit: float = 0.0
        self.done: int = 0
        """The number of jobs done so far."""

    def round(self, *, until: float | None = None) -> float:
        """Commit what is due. Returns the time (monotonic) at which more is due, infinite when nothing waits.

        A project's first job is committed at once, further ones within a quarter of a second together. With ``until``
        (monotonic) jobs are not gathered, and no batch is started after that time.
        """
        due = _NEVER
        for project_id, slug in self._database.read(jobs.waiting_projects, {}).items():
            if until is not None and time.monotonic() > until:
                break
            due = min(due, self._archive(project_id, self._project(project_id, slug), hurry=until is not None))
        return due

    def tidy(self) -> bool:
        """Do one piece of maintenance; False when there is none to do."""
        now = time.monotonic()
        self._repacking.look()
        if now - self._last_commit < _QUIET:
            return self._repack(quiet=False)
        return self._refresh_an_index() or self._repack(quiet=True) or self._forget(now)

    def adopt(self) -> None:
        """Include the repositories of all projects in the maintenance, even without waiting jobs."""
        rows = self._database.read(lambda found: found.execute("SELECT id, slug FROM projects").fetchall(), [])
        for row in rows:
            if (self._store.repo(row["slug"]) / ".git").is_dir():
                self._project(row["id"], row["slug"])

    def close(self) -> None:
        """Close all repositories, and kill a running repack."""
        self._repacking.close()
        for project in self._projects.values():
            project.repository.close()

    def _project(self, project_id: int, slug: str) -> _Project:
        if project_id not in self._projects:
            self._projects[project_id] = _Project(ProjectRepository(self._store, slug))
        return self._projects[project_id]

    def _archive(self, project_id: int, project: _Project, *, hurry: bool) -> float:
        """Commit a batch if it is due. Returns the time at which the next one is."""
        now = time.monotonic()
        gathering = not hurry and self._database.read(_counting(project_id), 0) < _BATCH
        if now < project.next_commit and (project.failing or gathering):
            return project.next_commit
        found = self._database.read(_reading(project_id), [])
        if not found:
            return _NEVER
        batch = _with_every_state(found)
        try:
            commit = project.repository.commit(batch)
        except ArchiveError as error:
            return self._failed(project, error)
        try:
            self._write(lambda found: jobs.finish(found, [job.seq for job in batch], commit, self._clock()))
        except StoreError:
            project.repository.close()  # after reopening, it checks which jobs are committed already
            raise
        self.done += len(batch)
        self._succeeded(project, now)
        if len(batch) < len(found):
            project.next_commit = now
        return project.next_commit if len(found) < _BATCH else now

    def _write(self, work: Callable[[Sql], _T]) -> _T:
        """Run a transaction, retrying often: SQLite's own busy handler sleeps up to a tenth of a second between
        attempts, and the gaps between transactions of busy senders are shorter.
        """
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                return self._database.write(work)
            except StoreBusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_ASK_AGAIN)

    def _failed(self, project: _Project, error: ArchiveError) -> float:
        """Log an error once per kind, so that a full disk does not fill the log as well."""
        kind = f"{type(error.__cause__).__name__} {getattr(error.__cause__, 'errno', '')}"
        if kind not in project.told:
            project.told.add(kind)
            logger.error("%s %s", error, error.hint)
        project.failing = True
        project.next_commit = time.monotonic() + project.pause
        project.pause = min(project.pause * 1.5, _LONGEST_PAUSE)
        return project.next_commit

    def _succeeded(self, project: _Project, began: float) -> None:
        if project.failing:
            logger.warning("Archiving %s works again.", project.repository.folder)
        project.failing, project.pause = False, _FIRST_PAUSE
        project.told.clear()
        project.next_commit = began + _GATHERING
        project.index_at = 0.0
        self._last_commit = time.monotonic()
        self._close_others(project)

    def _close_others(self, used: _Project) -> None:
        """Limit the open repositories, so that thousands of projects do not use up the file descriptors."""
        opened = [project for project in self._projects.values() if project.repository.is_open]
        if len(opened) > _OPEN_AT_ONCE:
            oldest = min((one for one in opened if one is not used), key=lambda one: one.next_commit)
            oldest.repository.close()

    def _refresh_an_index(self) -> bool:
        now = time.monotonic()
        for project in self._projects.values():
            if now >= project.index_at and not project.failing:
                project.index_at = _NEVER
                try:
                    project.repository.refresh_index()
                except ArchiveError as error:
                    logger.debug("Another process is using the index: %s", error)
                    project.index_at = now + _INDEX_AGAIN
                self._close_others(project)
                return True
        return False

    def _repack(self, *, quiet: bool) -> bool:
        for project in self._projects.values():
            if not project.failing and self._repacking.start_if_due(project.repository, quiet=quiet):
                return True
        return False

    def _forget(self, now: float) -> bool:
        if now < self._next_forgetting:
            return False
        more = self._write(lambda found: jobs.forget_done(found, self._clock()))
        self._next_forgetting = now if more else now + _FORGETTING
        return more


def _with_every_state(batch: Sequence[jobs.ArchiveJob]) -> Sequence[jobs.ArchiveJob]:
    """The first jobs of a batch, up to one that would overwrite another's claim file before it was committed.

    A released claim and the next one on its path share a file, and the file's history must have both.
    """
    written: dict[str, str] = {}
    for number, job in enumerate(batch):
        claims = {path: text for path, text in job.files.items() if path.startswith(CLAIMS)}
        if any(written.get(path, text) != text for path, text in claims.items()):
            return batch[:number]
        written.update(claims)
    return batch


def _reading(project_id: int) -> Callable[..., list[jobs.ArchiveJob]]:
    return lambda connection: jobs.waiting(connection, project_id, _BATCH)


def _counting(project_id: int) -> Callable[..., int]:
    return lambda connection: jobs.count_waiting(connection, project_id, _BATCH)
