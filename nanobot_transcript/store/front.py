"""The store's front door for plain code; ``async_front`` is the one for code on an event loop."""

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from math import isfinite
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, Unpack

from nanobot_transcript.entry import Entry, EntryFields, RecentMessage, well_formed
from nanobot_transcript.errors import InvalidEntryError
from nanobot_transcript.files.access import refuse_address
from nanobot_transcript.store import arguments
from nanobot_transcript.store.contract import (
    DEFAULT_SEGMENT_BYTES,
    Changes,
    Chat,
    Hit,
    MaintenanceReport,
    Page,
    Retention,
    StoreBackend,
    VerifyReport,
)
from nanobot_transcript.store.jsonl.backend import FsyncPolicy, JsonlBackend
from nanobot_transcript.store.member_file import FileMembers
from nanobot_transcript.store.members import MemberDirectory

__all__ = ["GroupTranscriptStore", "default_base_dir"]


def default_base_dir() -> Path:
    """``~/.nanobot/transcripts``: one directory for all processes of a user, whatever their own data directories."""
    return Path.home() / ".nanobot" / "transcripts"


class GroupTranscriptStore:
    """The shared record of group chats: every process appends to it and reads from it.

    ``base_dir`` defaults to ``~/.nanobot/transcripts``. ``fsync`` is ``never`` (the operating system writes within
    seconds; a power cut may lose those seconds, a crash of the process loses nothing), ``always`` (every acknowledged
    entry is on the disk) or ``interval`` (at most ``fsync_interval`` seconds of entries are at risk). A session key may
    be any string; two different keys never share a file. Raises ConfigError for the address of a database.
    """

    def __init__(
        self,
        base_dir: str | Path | None = None,
        *,
        fsync: FsyncPolicy = "never",
        fsync_interval: float = 1.0,
        segment_bytes: int = DEFAULT_SEGMENT_BYTES,
        lock_timeout: float = 2.0,
        retention: Retention | None = None,
        backend: StoreBackend | None = None,
        members: MemberDirectory | None = None,
    ) -> None:
        if base_dir is not None:
            refuse_address(base_dir)
        self.base_dir: Path = Path(base_dir).expanduser() if base_dir is not None else default_base_dir()
        self.retention: Retention = retention or Retention()
        self.backend: StoreBackend = backend or JsonlBackend(
            self.base_dir,
            fsync=fsync,
            fsync_interval=fsync_interval,
            segment_bytes=segment_bytes,
            lock_timeout=lock_timeout,
        )
        self.members: MemberDirectory = members or FileMembers(self.base_dir)
        self.on_read: Callable[[str], object] | None = None
        """Called with the session key of each ``get_recent``; the asynchronous front starts filling gaps on it."""

    @property
    def place(self) -> str:
        """Where the transcripts lie, for a person."""
        return self.backend.place

    def append(
        self,
        session_key: str,
        role: str,
        content: str,
        sender: str,
        message_id: str | None = None,
        timestamp_ms: float | str | None = None,
        *,
        max_wait: float | None = None,
        **fields: Unpack[EntryFields],
    ) -> bool:
        """Record a message once per chat. True if it was written, False if its id was there already.

        ``timestamp_ms`` is the platform's time in milliseconds (a number or a numeric string); without a usable one
        the time of arrival counts. Without a ``message_id`` a message is never a duplicate. ``max_wait`` bounds the
        wait (seconds) for a lock that another process holds.

        Raises InvalidEntryError for arguments that cannot be recorded and StoreError when nothing was recorded.
        """
        entry = arguments.entry(role, content, sender, message_id, timestamp_ms, fields)
        return self.backend.append(arguments.key(session_key), entry, max_wait)

    def edit(
        self,
        session_key: str,
        target: str,
        content: str,
        sender: str = "",
        timestamp_ms: float | str | None = None,
        *,
        max_wait: float | None = None,
        **fields: Unpack[EntryFields],
    ) -> bool:
        """Give the message ``target`` a new text; readers show it in the old place. False when it is hidden."""
        op = arguments.op("edit", target, content, sender, timestamp_ms, fields)
        return self.backend.apply(arguments.key(session_key), op, max_wait)

    def recall(
        self,
        session_key: str,
        target: str,
        sender: str = "",
        timestamp_ms: float | str | None = None,
        *,
        max_wait: float | None = None,
    ) -> bool:
        """Hide the message ``target`` for good, even when it only arrives later. False if it was hidden before."""
        op = arguments.op("recall", target, "", sender, timestamp_ms, {})
        return self.backend.apply(arguments.key(session_key), op, max_wait)

    def redact(
        self,
        session_key: str,
        target: str,
        sender: str = "",
        timestamp_ms: float | str | None = None,
        *,
        max_wait: float | None = None,
    ) -> bool:
        """Like ``recall``, and the text is erased from the disk before this returns."""
        op = arguments.op("redact", target, "", sender, timestamp_ms, {})
        key = arguments.key(session_key)
        written = self.backend.apply(key, op, max_wait)
        self.backend.maintain([key], Retention())
        return written

    def flush(self, session_key: str, timeout: float) -> bool:
        """Wait until every process can read what was recorded here in this chat; False when that took longer than
        ``timeout`` seconds. A store in files never has to wait.
        """
        return self.backend.flush(arguments.key(session_key), timeout)

    def get_recent(self, session_key: str, max_messages: int = 20) -> list[RecentMessage]:
        """The newest messages, oldest first, as ``{"role", "content", "sender"}``. An unknown chat has none."""
        if self.on_read is not None:
            self.on_read(arguments.key(session_key))
        return self.backend.get_recent(arguments.key(session_key), max_messages)

    def recent(self, session_key: str, limit: int = 20) -> Page:
        """The newest full entries, oldest first, and the cursor behind them."""
        return self.backend.recent(arguments.key(session_key), limit)

    def read(self, session_key: str, after: str | None = None, limit: int = 100) -> Page:
        """Full entries in file order from a cursor (None = the beginning) and the next cursor.

        After a purge it continues at the next surviving entry. Raises InvalidCursorError for a foreign string.
        """
        return self.backend.read(arguments.key(session_key), after, limit)

    def read_back(self, session_key: str, before: str | None = None, limit: int = 100) -> Page:
        """The last entries in file order before a cursor (None = the end), oldest first, and the cursor before them.

        Fewer than ``limit`` only at the beginning of the transcript. Raises InvalidCursorError for a foreign string.
        """
        return self.backend.read_back(arguments.key(session_key), before, limit)

    def end(self, session_key: str) -> str:
        """The cursor behind the last entry: reading from it gives what is new from now on."""
        return self.backend.end(arguments.key(session_key))

    def follow(self, session_key: str, after: str | None = None) -> AsyncGenerator[Entry, None]:
        """Entries from any process as they come, without end; ``op`` lines (edit, recall, redact) are passed on
        unchanged.

        ``after`` is a cursor; None starts at the moment in which the first entry is asked for.
        """
        return self.backend.follow(arguments.key(session_key), after)

    def get(self, session_key: str, message_id: str) -> Entry | None:
        """One message by its id; None when it is unknown or recalled."""
        wanted = arguments.clean_id(message_id)
        return self.backend.get(arguments.key(session_key), wanted) if wanted else None

    def get_many(self, session_key: str, message_ids: Iterable[str]) -> dict[str, Entry]:
        """Messages by their ids, without those that are unknown or recalled; much faster than one ``get`` for each."""
        wanted = [clean for one in message_ids if (clean := arguments.clean_id(one))]
        return self.backend.get_many(arguments.key(session_key), wanted)

    def changes(self, session_key: str, after: str) -> Changes:
        """What was recalled, redacted, purged or edited behind a cursor, for programs that keep copies of messages.

        Raises InvalidCursorError for a foreign string.
        """
        return self.backend.changes(arguments.key(session_key), after)

    def search(self, query: str, session_key: str | None = None, limit: int = 20) -> list[Hit]:
        """Messages whose text contains ``query`` literally, newest first; in one chat or in all."""
        if not query or limit <= 0:
            return []
        key = arguments.key(session_key) if session_key is not None else None
        return self.backend.search(well_formed(query), key, limit)

    def chats(self) -> list[Chat]:
        """All transcripts of the store, by session key."""
        return self.backend.chats()

    def scan(self, session_key: str) -> Iterator[Entry]:
        """Every entry of a chat in file order, edits applied, recalled ones left out."""
        return self.backend.scan(arguments.key(session_key))

    def purge(
        self, session_key: str | None = None, *, sender: str | None = None, before_ms: float | None = None
    ) -> list[MaintenanceReport]:
        """Erase from the disk, now: a chat, a person (``sender``), or everything older than ``before_ms``.

        Filters narrow each other. At least one is needed.
        """
        if session_key is None and sender is None and before_ms is None:
            raise InvalidEntryError("Say what to purge: a chat, a sender, or a time.")
        if before_ms is not None and not (isinstance(before_ms, int | float) and isfinite(before_ms)):
            raise InvalidEntryError(f"before_ms must be a time in milliseconds, not {before_ms!r}.")
        key = arguments.key(session_key) if session_key is not None else None
        senders = self.members.ids_of(sender) if sender is not None else frozenset[str]()
        reports = self.backend.purge(key, senders=senders, before_ms=before_ms)
        if sender is not None and session_key is None and before_ms is None:
            self.members.forget(sender)
        return reports

    def maintain(
        self, session_keys: Sequence[str] | None = None, retention: Retention | None = None
    ) -> list[MaintenanceReport]:
        """Erase recalled text and apply the retention. ``append`` never does this, so call it now and then."""
        if isinstance(session_keys, str):
            raise InvalidEntryError("maintain takes a list of session keys.", hint=f"Say [{session_keys!r}].")
        wanted = [arguments.key(one) for one in session_keys] if session_keys is not None else None
        return self.backend.maintain(wanted, retention or self.retention)

    def verify(self, session_key: str) -> VerifyReport:
        """Read a whole transcript, heal what can be healed, and report."""
        return self.backend.verify(arguments.key(session_key))

    def close(self) -> None:
        """Release files. Using the store again opens them again."""
        self.backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> Literal[False]:
        self.close()
        return False
