"""Projects: found by their key, created with their first agent.

A key that is a path means the folder, however it is written: through a symbolic link, with ``//``, ``/./`` or ``..``.
"""

import difflib
import hashlib
import os.path
import re
import unicodedata
from typing import Any, Final

from nanobot_transcript.errors import InvalidLetterError, UnknownProjectError
from nanobot_transcript.sql.contract import Row, Sql
from transcript_mcp.mail.values import Project

__all__ = ["all_projects", "canonical", "checked_key", "find", "find_or_make", "get", "inside", "slug"]

_LONGEST_KEY: Final = 1000
_LONGEST_READABLE: Final = 24
_OTHERS: Final = re.compile(r"[\W_]+")


def checked_key(key: Any) -> str:
    """The key without a slash at the end. Raises InvalidLetterError for an invalid key.

    >>> checked_key("/abs/path/backend/")
    '/abs/path/backend'
    """
    if not isinstance(key, str) or not key.strip():
        raise InvalidLetterError(
            "A project's key must be a non-empty text.", hint="Give the absolute path of the code base."
        )
    clean = key.strip()
    if len(clean) > _LONGEST_KEY or not clean.isprintable():
        raise InvalidLetterError(
            f"A project's key may have at most {_LONGEST_KEY:,} printable characters.",
            hint="Give the absolute path of the code base.",
        )
    return clean.rstrip("/") or "/"


def canonical(key: str) -> str:
    """The form in which a (checked) key is stored: the real path, if it is a folder on this machine.

    >>> canonical("/none//such/./a/../b"), canonical("shop//v2")
    ('/none/such/b', 'shop//v2')
    """
    if not key.startswith("/"):
        return key
    if os.path.isdir(key):  # noqa: PTH112 - a path may be what no Path can be
        real = os.path.realpath(key)
        if real.isprintable() and len(real) <= _LONGEST_KEY:
            return real
    return f"/{os.path.normpath(key).lstrip('/')}"


def inside(key: str, path: str) -> str:
    """A path below a project's key, even if it was written through a symbolic link to the project."""
    root = f"{key.rstrip('/')}/"
    if not key.startswith("/") or not path.startswith("/") or f"{path}/".startswith(root) or "\0" in path:
        return path
    real = os.path.realpath(path)
    return real if f"{real}/".startswith(root) else path


def slug(key: str) -> str:
    """A name for the project's folder: the readable end of the key, and a hash of the whole key.

    >>> slug("/abs/path/My Backend")
    'my-backend-c99456df37'
    """
    end = unicodedata.normalize("NFC", key.replace("\\", "/").rpartition("/")[2]).lower()
    readable = _OTHERS.sub("-", end).strip("-")[:_LONGEST_READABLE].strip("-")
    return f"{readable or 'project'}-{hashlib.sha256(key.encode()).hexdigest()[:10]}"


def find(db: Sql, key: str) -> Project | None:
    """The project with this (checked) key, exactly or in another spelling; None when there is none."""
    found = _exactly(db, key)
    if found is not None:
        return found
    meant = canonical(key)
    found = _exactly(db, meant)
    if found is not None or not meant.startswith("/"):
        return found
    # Stored by a version without canonical keys, or before the folder or a link to it existed.
    paths = db.execute("SELECT * FROM projects WHERE human_key LIKE '/%' ORDER BY id").fetchall()
    return next((_project(row) for row in paths if canonical(row["human_key"]) == meant), None)


def _exactly(db: Sql, key: str) -> Project | None:
    row = db.execute("SELECT * FROM projects WHERE human_key = ?", (key,)).fetchone()
    return None if row is None else _project(row)


def get(db: Sql, key: Any) -> Project:
    """The project with this key. Raises UnknownProjectError, which suggests similar keys."""
    clean = checked_key(key)
    found = find(db, clean)
    if found is not None:
        return found
    known = [row["human_key"] for row in db.execute("SELECT human_key FROM projects ORDER BY id DESC LIMIT 1000")]
    like = difflib.get_close_matches(clean, known, n=3, cutoff=0.6)
    hint = f"Do you mean {' or '.join(like)}?" if like else "create_agent or register_agent creates a project."
    raise UnknownProjectError(f"There is no project {clean}.", hint=hint)


def find_or_make(db: Sql, key: str, now: float) -> tuple[Project, bool]:
    """The project with exactly this key, and whether it was created now."""
    found = _exactly(db, key)
    if found is not None:
        return found, False
    made = db.execute(
        "INSERT INTO projects (human_key, slug, created_ts) VALUES (?, ?, ?) RETURNING *", (key, slug(key), now)
    ).fetchone()
    return _project(made), True


def all_projects(db: Sql) -> list[Project]:
    """All projects, in the order of creation."""
    return [_project(row) for row in db.execute("SELECT * FROM projects ORDER BY id")]


def _project(row: Row) -> Project:
    return Project(row["id"], row["human_key"], row["slug"], row["created_ts"])
