"""Where mail lies: the database, and in each project's repository the files that people read.

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

Folders of a day (``shard="day"``) keep a commit cheap when a month has tens of thousands of messages: git writes a
folder anew for each change in it. Readers find both.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from nanobot_transcript.sql.dialect import Shelf
from transcript_mcp.mail.schema import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable

    from nanobot_transcript.settings import Settings
    from nanobot_transcript.settings.opening import Opening
    from nanobot_transcript.sql.contract import Database

__all__ = ["CLAIMS", "PROJECT_FILE", "Archive", "MailStore", "Shard"]

Shard: TypeAlias = Literal["day", "month"]

PROJECT_FILE: Final = "project.json"
CLAIMS: Final = "claims/"
_GLANCE: Final = 1.0


@dataclass(frozen=True, slots=True)
class MailStore:
    """The root folder of all projects. The tables lie on a ``shelf``, by default in a file of that folder."""

    root: Path
    shelf: Shelf | None = None

    @staticmethod
    def on(shelf: Shelf) -> "MailStore":
        """The one on a shelf."""
        return MailStore(shelf.folder, shelf)

    @property
    def tables(self) -> Shelf:
        """Where the tables lie."""
        return self.shelf or Shelf(self.root)

    def opened(self, busy: float) -> "Database":
        """The tables; ``busy`` bounds (seconds) the wait for another process's transaction."""
        return self.tables.database("mail", SCHEMA, file=self.database.name, lock=self.lock, busy=busy)

    @property
    def is_begun(self) -> bool:
        """Whether there are tables. Raises StoreError kinds."""
        return self.opened(_GLANCE).identity() is not None

    @property
    def where(self) -> str:
        """Where the tables lie, for a person."""
        return self.tables.where(self.database.name)

    @property
    def clock(self) -> "Callable[[], float]":
        """Seconds since 1970, the same for all who share the tables."""
        return self.tables.clock

    @property
    def database(self) -> Path:
        """The SQLite file of the tables that lie in this folder."""
        return self.root / "mail.sqlite3"

    @property
    def lock(self) -> Path:
        """Held while that is made or migrated."""
        return self.root / "mail.lock"

    @property
    def archiver_lock(self) -> Path:
        """Held by the one process that writes to git."""
        return self.root / "archiver.lock"

    @property
    def guards(self) -> Path:
        """Where guards stand; no guard reads it."""
        return self.root / "guards.json"

    def repo(self, slug: str) -> Path:
        """The repository of a project."""
        return self.root / "projects" / slug / "repo"

    @staticmethod
    def of(settings: "Settings", opening: "Opening") -> "MailStore":
        """The one that the settings describe: its tables lie where their record does, if that is a database."""
        return MailStore.on(opening.shelf(settings.mail.store))


@dataclass(frozen=True, slots=True)
class Archive:
    """Paths inside a project's repository, with ``/``. Times are seconds since 1970; folders are of UTC days."""

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
        """Who an agent is."""
        return f"agents/{agent}/profile.json"

    @staticmethod
    def receipt(agent: str, message_id: str) -> str:
        """When the agent read and acknowledged a message."""
        return f"agents/{agent}/receipts/{message_id}.json"

    @staticmethod
    def claim(path: str, holder: str | None = None) -> str:
        """A claim on a path or pattern; ``holder`` for whoever comes beside the first one."""
        digest = hashlib.sha1(path.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
        return f"{CLAIMS}{digest}{f'.{holder}' if holder else ''}.json"

    def _day(self, created_ts: float) -> str:
        return datetime.fromtimestamp(created_ts, UTC).strftime("%Y/%m/%d" if self.shard == "day" else "%Y/%m")
