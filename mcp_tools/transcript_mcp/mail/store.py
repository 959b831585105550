"""Layout of the mail store: the database, and in each project's git repository the files that people read.

    <store>/mail.sqlite3
    <store>/guards.json
    <store>/projects/<slug>/repo/
        project.json
        agents/<Name>/profile.json
        agents/<Name>/{inbox,outbox}/YYYY/MM[/DD]/<id>.md
        agents/<Name>/receipts/<id>.json
        messages/YYYY/MM[/DD]/<id>.md
        claims/<sha1 of the path>[.<holder>].json
        attachments/<first two>/<sha1>.webp

One folder per day (``shard="day"``) keeps commits cheap when a month has tens of thousands of messages: git rewrites a
folder's tree object for each change in it. Readers find both layouts.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from nanobot_transcript.sql.contract import Schema, Sql, SqliteText
from nanobot_transcript.sql.location import Shelf
from transcript_mcp.mail.search.index_text import spaced

if TYPE_CHECKING:
    from collections.abc import Callable

    from nanobot_transcript.settings import Settings
    from nanobot_transcript.settings.lazy_record import Opening
    from nanobot_transcript.sql.contract import Database

__all__ = ["CLAIMS", "PROJECT_FILE", "SCHEMA", "Archive", "MailStore", "Shard", "index_messages"]

Shard: TypeAlias = Literal["day", "month"]

PROJECT_FILE: Final = "project.json"
CLAIMS: Final = "claims/"
_GLANCE: Final = 1.0


@dataclass(frozen=True, slots=True)
class MailStore:
    """The root folder of all projects. The tables are on a ``shelf``, by default in a file of that folder."""

    root: Path
    shelf: Shelf | None = None

    @staticmethod
    def on(shelf: Shelf) -> "MailStore":
        """The mail store on a shelf."""
        return MailStore(shelf.folder, shelf)

    @property
    def tables(self) -> Shelf:
        """The shelf that has the tables."""
        return self.shelf or Shelf(self.root)

    def opened(self, busy: float) -> "Database":
        """Open the tables; ``busy`` limits (seconds) the wait for another process's transaction."""
        return self.tables.database("mail", SCHEMA, file=self.database.name, lock=self.lock, busy=busy)

    @property
    def is_begun(self) -> bool:
        """Whether the tables exist. Raises StoreError kinds."""
        return self.opened(_GLANCE).identity() is not None

    @property
    def where(self) -> str:
        """The location of the tables, in words for people."""
        return self.tables.where(self.database.name)

    @property
    def clock(self) -> "Callable[[], float]":
        """Returns seconds since 1970, the same for all processes that share the tables."""
        return self.tables.clock

    @property
    def database(self) -> Path:
        """The SQLite file with the tables, where they are in this folder."""
        return self.root / "mail.sqlite3"

    @property
    def lock(self) -> Path:
        """Lock file for creating and migrating the database."""
        return self.root / "mail.lock"

    @property
    def archiver_lock(self) -> Path:
        """Lock file of the one process that writes to git."""
        return self.root / "archiver.lock"

    @property
    def guards(self) -> Path:
        """The list of installed guards; guards themselves do not read it."""
        return self.root / "guards.json"

    def repo(self, slug: str) -> Path:
        """The repository of a project."""
        return self.root / "projects" / slug / "repo"

    @staticmethod
    def of(settings: "Settings", opening: "Opening") -> "MailStore":
        """The mail store of the settings: if their record is in a database, the tables are there, too."""
        return MailStore.on(opening.shelf(settings.mail.store))


@dataclass(frozen=True, slots=True)
class Archive:
    """Paths inside a project's repository, with ``/``. Times are seconds since 1970; folders are named by UTC dates."""

    shard: Shard = "day"

    def message(self, message_id: str, created_ts: float) -> str:
        """The canonical copy of a message."""
        return f"messages/{self._day(created_ts)}/{message_id}.md"

    def inbox(self, agent: str, message_id: str, created_ts: float) -> str:
        """The recipient's copy."""
        return f"agents/{agent}/inbox/{self._day(created_ts)}/{message_id}.md"

    def outbox(self, agent: str, message_id: str, created_ts: float) -> str:
        """The sender's copy."""
        return f"agents/{agent}/outbox/{self._day(created_ts)}/{message_id}.md"

    @staticmethod
    def profile(agent: str) -> str:
        """An agent's profile."""
        return f"agents/{agent}/profile.json"

    @staticmethod
    def receipt(agent: str, message_id: str) -> str:
        """When the agent read and acknowledged a message."""
        return f"agents/{agent}/receipts/{message_id}.json"

    @staticmethod
    def claim(path: str, holder: str | None = None) -> str:
        """A claim on a path or pattern; ``holder`` is given for every holder but the first."""
        digest = hashlib.sha1(path.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
        return f"{CLAIMS}{digest}{f'.{holder}' if holder else ''}.json"

    def _day(self, created_ts: float) -> str:
        return datetime.fromtimestamp(created_ts, UTC).strftime("%Y/%m/%d" if self.shard == "day" else "%Y/%m")


_PROJECTS_BY_KEY: Final = """
CREATE TABLE projects (
    id INTEGER PRIMARY KEY,
    human_key TEXT NOT NULL UNIQUE,
    slug TEXT NOT NULL UNIQUE,
    created_ts REAL NOT NULL,
    meta TEXT NOT NULL DEFAULT '{}'
)
"""
# PostgreSQL's B-tree index entries have at most 2,700 bytes; a key may have 4,000. Uniqueness holds without the index:
# only one transaction writes at a time, and it first checks whether the project exists.
_PROJECTS: Final = SqliteText(_PROJECTS_BY_KEY, _PROJECTS_BY_KEY.replace(" UNIQUE", "", 1))
_AGENTS: Final = """
CREATE TABLE agents (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL,
    program TEXT NOT NULL,
    model TEXT NOT NULL,
    inception_ts REAL NOT NULL,
    task TEXT NOT NULL,
    last_active_ts REAL NOT NULL,
    token_sha256 TEXT,
    folded TEXT NOT NULL
)
"""
# ``folded`` is the name without case (``names.folded``): two that differ only in case, of whatever script, would share
# a folder on some disks.
_AGENT_NAMES: Final = "CREATE UNIQUE INDEX agents_by_name ON agents (project_id, folded)"
_AGENTS_ANYWHERE: Final = "CREATE INDEX agents_anywhere ON agents (name)"
# Agents with mail or claims in a project that is not their home: within a project a name means one agent, for good.
_GUESTS: Final = """
CREATE TABLE guests (
    project_id INTEGER NOT NULL REFERENCES projects (id),
    folded TEXT NOT NULL,
    name TEXT NOT NULL,
    agent_id INTEGER NOT NULL REFERENCES agents (id),
    PRIMARY KEY (project_id, folded)
) WITHOUT ROWID
"""
_GUEST_PLACES: Final = "CREATE INDEX guest_places ON guests (agent_id)"
# ``thread_id`` is what the sender gave, or the id of the conversation's first message. ``recipients_json`` has the
# names of ``to`` and ``cc`` in the sender's order. The body is last, because SQLite stores long values in a chain of
# overflow pages that it would have to walk through to reach columns after it.
_MESSAGES: Final = """
CREATE TABLE messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    thread_id TEXT,
    subject TEXT NOT NULL,
    from_agent TEXT NOT NULL,
    created_ts REAL NOT NULL,
    importance TEXT NOT NULL CHECK (importance IN ('low', 'normal', 'high', 'urgent')),
    ack_required INTEGER NOT NULL,
    attachments_json TEXT NOT NULL,
    sender_id INTEGER REFERENCES agents (id),
    reply_to TEXT,
    idempotency_key TEXT,
    digest TEXT,
    recipients_json TEXT NOT NULL,
    body_md TEXT NOT NULL
)
"""
_ONCE: Final = (
    "CREATE UNIQUE INDEX messages_once ON messages (sender_id, idempotency_key) WHERE idempotency_key IS NOT NULL"
)
_THREADS: Final = "CREATE INDEX messages_by_thread ON messages (thread_id, project_id, seq)"
_SENT: Final = "CREATE INDEX messages_by_sender ON messages (sender_id, seq)"
# ``seq`` and ``urgent`` (high or urgent) repeat the message's values, so that an inbox finds its newest unread or
# urgent messages by an index alone, however many others it has.
_RECIPIENTS: Final = """
CREATE TABLE message_recipients (
    message_id TEXT NOT NULL REFERENCES messages (id),
    agent_name TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('to', 'cc', 'bcc')),
    read_ts REAL,
    ack_ts REAL,
    agent_id INTEGER NOT NULL REFERENCES agents (id),
    seq INTEGER NOT NULL,
    urgent INTEGER NOT NULL,
    PRIMARY KEY (message_id, agent_id)
) WITHOUT ROWID
"""
_INBOX: Final = "CREATE INDEX recipients_inbox ON message_recipients (agent_id, seq)"
_UNREAD: Final = "CREATE INDEX recipients_unread ON message_recipients (agent_id, seq) WHERE read_ts IS NULL"
_URGENT: Final = "CREATE INDEX recipients_urgent ON message_recipients (agent_id, seq) WHERE urgent = 1"
_URGENT_UNREAD: Final = (
    "CREATE INDEX recipients_urgent_unread ON message_recipients (agent_id, seq) WHERE urgent = 1 AND read_ts IS NULL"
)
# ``beside``: another agent held the same path when this claim began, so its file's name includes the holder.
_CLAIMS: Final = """
CREATE TABLE claims (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    agent_name TEXT NOT NULL,
    path TEXT NOT NULL,
    exclusive INTEGER NOT NULL,
    reason TEXT NOT NULL,
    created_ts REAL NOT NULL,
    expires_ts REAL NOT NULL,
    released_ts REAL,
    agent_id INTEGER NOT NULL REFERENCES agents (id),
    beside INTEGER NOT NULL DEFAULT 0
)
"""
_ACTIVE: Final = "CREATE INDEX claims_active ON claims (project_id, expires_ts) WHERE released_ts IS NULL"
# The index has the words of messages, with Chinese, Japanese and Korean characters separated (see ``spaced``), and the
# project as a word, so that a search in a small project does not walk through the hits of a large one. ``prefix='2'``
# adds an index of two-letter prefixes: without it `mi*` merges the hits of every word with that prefix. ``content=''``
# stores no second copy of the texts; FTS5 then needs the old values to delete a row, as the triggers below give them.
_SEARCH: Final = (
    "CREATE VIRTUAL TABLE fts_messages USING fts5(subject, body_md, project, content='',"
    " tokenize='unicode61 remove_diacritics 2', prefix='2')"
)
_INDEXED: Final = "{row}.seq, spaced({row}.subject), spaced({row}.body_md), 'p' || {row}.project_id"
_INSERTED: Final = SqliteText(f"""
CREATE TRIGGER messages_inserted AFTER INSERT ON messages BEGIN
    INSERT INTO fts_messages (rowid, subject, body_md, project) VALUES ({_INDEXED.format(row="new")});
END
""")
_DELETED: Final = SqliteText(f"""
CREATE TRIGGER messages_deleted AFTER DELETE ON messages BEGIN
    INSERT INTO fts_messages (fts_messages, rowid, subject, body_md, project)
    VALUES ('delete', {_INDEXED.format(row="old")});
END
""")
_UPDATED: Final = SqliteText(f"""
CREATE TRIGGER messages_updated AFTER UPDATE OF subject, body_md, project_id ON messages BEGIN
    INSERT INTO fts_messages (fts_messages, rowid, subject, body_md, project)
    VALUES ('delete', {_INDEXED.format(row="old")});
    INSERT INTO fts_messages (rowid, subject, body_md, project) VALUES ({_INDEXED.format(row="new")});
END
""")
# Changes that are still to be archived: ``payload`` is a JSON document (see ``jobs``). A finished job keeps its row for
# a while, without payload, so that a sender that waits for it gets the commit.
_JOBS: Final = """
CREATE TABLE archive_jobs (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    summary TEXT NOT NULL,
    payload BLOB,
    created_ts REAL NOT NULL,
    done_ts REAL,
    commit_sha TEXT
)
"""
_WAITING: Final = "CREATE INDEX archive_jobs_waiting ON archive_jobs (project_id, seq) WHERE done_ts IS NULL"
_DONE: Final = "CREATE INDEX archive_jobs_done ON archive_jobs (done_ts) WHERE done_ts IS NOT NULL"

_TEXTS: Final = "SELECT seq, subject, body_md, 'p' || project_id FROM messages WHERE seq > ?"

SCHEMA: Final = Schema(
    migrations=(
        (
            _PROJECTS,
            _AGENTS,
            _AGENT_NAMES,
            _AGENTS_ANYWHERE,
            _GUESTS,
            _GUEST_PLACES,
            _MESSAGES,
            _ONCE,
            _THREADS,
            _SENT,
            _RECIPIENTS,
            _INBOX,
            _UNREAD,
            _URGENT,
            _URGENT_UNREAD,
            _CLAIMS,
            _ACTIVE,
            _SEARCH,
            _INSERTED,
            _DELETED,
            _UPDATED,
            _JOBS,
            _WAITING,
            _DONE,
        ),
    ),
    functions={"spaced": (1, spaced)},
    words={"fts_messages": (spaced, spaced, str)},
    tables={
        "projects": ("id",),
        "agents": ("id",),
        "guests": ("project_id", "folded"),
        "messages": ("seq",),
        "message_recipients": ("message_id", "agent_id"),
        "claims": ("id",),
        "archive_jobs": ("seq",),
    },
    texts={"fts_messages": ("messages", _TEXTS)},
    set_aside=False,
    mending="Run `nanobot-transcript mail doctor --rebuild`: it makes the database anew from the archive in git.",
)
"""The tables. A damaged database is not replaced by an empty one (``set_aside=False``): all mail would disappear."""


def index_messages(db: Sql, behind: int) -> None:
    """Add all messages with numbers above ``behind`` to the full-text index."""
    db.index("fts_messages", _TEXTS, (behind,))
