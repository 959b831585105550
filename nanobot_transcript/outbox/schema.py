"""The tables of the outbox, version by version."""

from typing import Final

from nanobot_transcript.sql.contract import Schema

__all__ = ["SCHEMA"]

# Times are seconds since 1970. ``uncertain_since`` is the time of the first attempt whose outcome is unknown.
_JOBS: Final = """
CREATE TABLE jobs (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL,
    session_key TEXT NOT NULL,
    agent TEXT,
    content TEXT,
    card TEXT,
    reply_to TEXT,
    wants_answers INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'sent', 'failed', 'expired')),
    attempts INTEGER NOT NULL DEFAULT 0,
    created REAL NOT NULL,
    expires REAL NOT NULL,
    due REAL NOT NULL DEFAULT 0,
    holder TEXT,
    lease_until REAL NOT NULL DEFAULT 0,
    uncertain_since REAL,
    finished REAL,
    message_id TEXT,
    error TEXT
)
"""
_QUEUE: Final = "CREATE INDEX jobs_queued ON jobs (session_key, seq) WHERE state='queued'"
_ENDED: Final = "CREATE INDEX jobs_ended ON jobs (finished) WHERE state<>'queued'"
# Message ids and thread ids: replies to or in these are answers to a post.
_PLACES: Final = """
CREATE TABLE places (
    place TEXT PRIMARY KEY,
    job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE
) WITHOUT ROWID
"""
_PLACES_OF: Final = "CREATE INDEX places_of_job ON places (job_id)"
_ANSWERS: Final = """
CREATE TABLE answers (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    mark TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('reply', 'action')),
    message_id TEXT NOT NULL,
    sender TEXT NOT NULL,
    sender_name TEXT NOT NULL,
    ts INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (job_id, mark)
)
"""

# Only the app that sent a card can change it.
_SENT_BY: Final = "ALTER TABLE jobs ADD COLUMN sent_by TEXT"
_REVISIONS: Final = """
CREATE TABLE revisions (
    job_id TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    number INTEGER NOT NULL DEFAULT 1,
    card TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    due REAL NOT NULL DEFAULT 0,
    holder TEXT,
    lease_until REAL NOT NULL DEFAULT 0
) WITHOUT ROWID
"""

# Answers that came before the place of their post was known; ``session_key`` is NULL when the bot did not give it.
_EARLY: Final = """
CREATE TABLE early (
    seq INTEGER PRIMARY KEY,
    session_key TEXT,
    mark TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    reply_to TEXT,
    root_id TEXT,
    thread_id TEXT,
    message_id TEXT NOT NULL,
    sender TEXT NOT NULL,
    sender_name TEXT NOT NULL,
    ts INTEGER NOT NULL,
    body TEXT NOT NULL
)
"""
_UNDER_WAY: Final = (
    "CREATE INDEX jobs_under_way ON jobs (session_key)"
    " WHERE state='queued' AND uncertain_since IS NOT NULL AND wants_answers"
)

# Some platforms number the messages of each chat from one, so an id is unique within its chat only.
_PLACES_IN_CHATS: Final = """
CREATE TABLE places_in (
    place TEXT NOT NULL,
    session_key TEXT NOT NULL,
    job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    PRIMARY KEY (place, session_key)
) WITHOUT ROWID
"""
_PLACES_MOVED: Final = (
    _PLACES_IN_CHATS,
    "INSERT INTO places_in SELECT place, session_key, job_id FROM places JOIN jobs ON id=job_id",
    "DROP TABLE places",
    "ALTER TABLE places_in RENAME TO places",
    _PLACES_OF,
)
_EARLY_MOVED: Final = (
    "ALTER TABLE early RENAME TO early_before",
    _EARLY.replace("mark TEXT NOT NULL UNIQUE", "mark TEXT NOT NULL"),
    "INSERT INTO early SELECT * FROM early_before",
    "DROP TABLE early_before",
    "CREATE UNIQUE INDEX early_once ON early (mark, ifnull(session_key, ''))",
)

_MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (_JOBS, _QUEUE, _ENDED, _PLACES, _PLACES_OF, _ANSWERS),
    (_SENT_BY, _REVISIONS),
    (_EARLY, _UNDER_WAY),
    (*_PLACES_MOVED, *_EARLY_MOVED),
)

SCHEMA: Final = Schema(
    _MIGRATIONS,
    tables={
        "jobs": ("seq",),
        "places": ("place", "session_key"),
        "answers": ("seq",),
        "revisions": ("job_id",),
        "early": ("seq",),
    },
)
