"""Archive jobs: written in the same transaction as a change, and copied into git by the archiver.

A job contains the complete files, so that it can be done at any later time, and is idempotent. Large files that are
named by their content (images) are written to the repository's folder before the job, which only has their paths.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from nanobot_transcript.sql.contract import Row, Sql
from transcript_mcp.mail.messages.boxes import LAST

__all__ = [
    "ArchiveJob",
    "count_waiting",
    "enqueue",
    "finish",
    "forget_done",
    "has_waiting",
    "outcome",
    "waiting",
    "waiting_projects",
]

_KEPT: Final = 3600.0
_LARGE: Final = 16 << 20
_FORGOTTEN_AT_ONCE: Final = 2000
# Skips from project to project through the index, however many jobs each has (SQLite has no loose index scan).
_PROJECTS: Final = """
WITH RECURSIVE found (id) AS (
    SELECT min(project_id) FROM archive_jobs WHERE done_ts IS NULL
    UNION ALL
    SELECT (SELECT min(project_id) FROM archive_jobs WHERE done_ts IS NULL AND project_id > found.id)
    FROM found WHERE found.id IS NOT NULL
)
SELECT id, slug FROM found JOIN projects USING (id)
"""


@dataclass(frozen=True, slots=True)
class ArchiveJob:
    """``files``: texts by path in the repository. ``present``: paths of files that are there already."""

    seq: int
    project_id: int
    slug: str
    summary: str
    files: Mapping[str, str]
    present: Sequence[str]
    created_ts: float


class _Payload(msgspec.Struct, array_like=True):
    """Copies of a message have the same text, so each text is stored once, and files refer to it by index."""

    texts: list[str]
    files: dict[str, int]
    present: list[str]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Payload)


def enqueue(
    connection: Sql,
    project_id: int,
    summary: str,
    files: Mapping[str, str],
    *,
    now: float,
    present: Sequence[str] = (),
) -> int:
    """Add a job inside the transaction of the change. Returns its number, for ``outcome``.

    ``summary``: its line in the commit message.
    """
    places: dict[str, int] = {}
    for text in files.values():
        places.setdefault(text, len(places))
    payload = _Payload(list(places), {path: places[text] for path, text in files.items()}, list(present))
    return connection.insert(
        "INSERT INTO archive_jobs (project_id, summary, payload, created_ts) VALUES (?, ?, ?, ?)",
        (project_id, " ".join(summary.split()), _encoder.encode(payload), now),
    )


def waiting_projects(connection: Sql) -> dict[int, str]:
    """The slugs of projects with waiting jobs, by project id."""
    return {row["id"]: row["slug"] for row in connection.execute(_PROJECTS)}


def waiting(connection: Sql, project_id: int, limit: int | None) -> list[ArchiveJob]:
    """Waiting jobs of a project, the oldest first: at most ``limit``, and fewer if they are large; all with None."""
    rows = connection.execute(
        "SELECT seq, project_id, slug, summary, payload, archive_jobs.created_ts FROM archive_jobs"
        " JOIN projects ON projects.id = project_id WHERE done_ts IS NULL AND project_id = ? ORDER BY seq LIMIT ?",
        (project_id, LAST if limit is None else limit),
    )
    found: list[ArchiveJob] = []
    size = 0
    for row in rows:
        size += len(row["payload"])
        if found and limit is not None and size > _LARGE:
            break
        found.append(_job(row))
    rows.close()
    return found


def count_waiting(connection: Sql, project_id: int, limit: int) -> int:
    """The number of waiting jobs of a project, counted up to ``limit``."""
    inner = "SELECT 1 FROM archive_jobs WHERE done_ts IS NULL AND project_id = ? LIMIT ?"
    return connection.execute(f"SELECT count(*) FROM ({inner}) AS found", (project_id, limit)).fetchone()[0]


def has_waiting(connection: Sql) -> bool:
    """True while any job waits."""
    return connection.execute("SELECT 1 FROM archive_jobs WHERE done_ts IS NULL LIMIT 1").fetchone() is not None


def finish(connection: Sql, seqs: Sequence[int], commit_sha: str, now: float) -> None:
    """Mark jobs as done by a commit."""
    connection.executemany(
        "UPDATE archive_jobs SET done_ts = ?, commit_sha = ?, payload = NULL WHERE seq = ?",
        [(now, commit_sha, seq) for seq in seqs],
    )


def outcome(connection: Sql, seq: int) -> str | None:
    """The commit of a job; None while it waits, empty for a job that was done long ago."""
    row = connection.execute("SELECT done_ts, commit_sha FROM archive_jobs WHERE seq = ?", (seq,)).fetchone()
    if row is None:
        return ""
    return row["commit_sha"] if row["done_ts"] is not None else None


def forget_done(connection: Sql, now: float) -> bool:
    """Remove some jobs that were done more than an hour ago; True while there may be more."""
    old = "SELECT seq FROM archive_jobs WHERE done_ts < ? LIMIT ?"
    removed = connection.execute(
        f"DELETE FROM archive_jobs WHERE seq IN ({old})", (now - _KEPT, _FORGOTTEN_AT_ONCE)
    ).rowcount
    return removed == _FORGOTTEN_AT_ONCE


def _job(row: Row) -> ArchiveJob:
    payload = _decoder.decode(row["payload"])
    files = {path: payload.texts[place] for path, place in payload.files.items()}
    return ArchiveJob(
        row["seq"], row["project_id"], row["slug"], row["summary"], files, payload.present, row["created_ts"]
    )
