"""The store backend over JSONL files."""

import contextlib
import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, cast
from weakref import WeakSet

from nanobot_transcript.entry import Entry, RecentMessage
from nanobot_transcript.errors import ConfigError, StoreBusyError, StoreError, StoreFullError, StoreUnavailableError
from nanobot_transcript.files.descriptors import open_append
from nanobot_transcript.files.layout import Layout, stem_of
from nanobot_transcript.files.replace import sweep
from nanobot_transcript.store.contract import Changes, Chat, Hit, MaintenanceReport, Page, Retention, VerifyReport
from nanobot_transcript.store.jsonl import audit, maintenance, reader
from nanobot_transcript.store.jsonl.bulk import JsonlBulk
from nanobot_transcript.store.jsonl.changes import changes
from nanobot_transcript.store.jsonl.chatlog import ChatLog
from nanobot_transcript.store.jsonl.cursor import format_cursor
from nanobot_transcript.store.jsonl.duplicates import Copies
from nanobot_transcript.store.jsonl.fsync import FsyncPolicy, Syncer
from nanobot_transcript.store.jsonl.ops import JsonlOps
from nanobot_transcript.store.jsonl.segments import Segments
from nanobot_transcript.store.jsonl.session_keys import key_of
from nanobot_transcript.store.jsonl.window import JsonlWindow
from nanobot_transcript.store.lines.fold import OVERHEARD, upgrade
from nanobot_transcript.store.lines.ids import edit_keys, hidden_key, ids_of
from nanobot_transcript.store.lines.messages import KEPT_READY, brief
from nanobot_transcript.store.lines.ops import erasure_mark, hides, is_known_op, is_op
from nanobot_transcript.store.lines.order import moment_of

__all__ = ["FsyncPolicy", "JsonlBackend"]

_OPEN_CHATS: Final = 64

logger = logging.getLogger(__name__)


class _Chat:
    """What this process has open of one transcript."""

    def __init__(self, log: ChatLog, segments: Segments) -> None:
        self.log: Final = log
        self.segments: Final = segments
        self.window: Final = JsonlWindow(segments)
        self.ops: JsonlOps = JsonlOps(segments)
        self.search_ops: JsonlOps = JsonlOps(segments)
        self.copies: Copies = Copies(segments)
        self.reading: threading.Lock = threading.Lock()
        self.searching: threading.Lock = threading.Lock()
        """Held for searches alone, so that a long one does not hold up other reads."""
        self.used: bool = True
        """Since the last search for a chat to close."""

    def close(self) -> None:
        self.log.close()
        self.window.close()


class JsonlBackend:
    """Transcripts as files under one folder; see ``StoreBackend`` for what each method does."""

    def __init__(
        self,
        base: Path,
        *,
        fsync: FsyncPolicy,
        fsync_interval: float,
        segment_bytes: int,
        lock_timeout: float,
    ) -> None:
        if segment_bytes < 1:
            raise ConfigError(f"A segment of {segment_bytes} bytes is too small.", hint="The usual size is 64 MiB.")
        self._layout = Layout(base)
        self._segment_bytes = segment_bytes
        self._lock_timeout = lock_timeout
        self._syncer = Syncer(fsync, fsync_interval)
        self._chats: OrderedDict[str, _Chat] = OrderedDict()
        self._conflicts: set[str] = set()
        self._guard = threading.Lock()
        _backends.add(self)

    @property
    def place(self) -> str:
        """The folder."""
        return str(self._layout.base)

    def in_bulk(self) -> JsonlBulk:
        """The same transcripts, for moving them as a whole."""
        return JsonlBulk(self._layout, self._segment_bytes, self._syncer)

    @property
    def blocking(self) -> bool:
        """False: a read takes microseconds; a search takes long, and runs in a thread anyway."""
        return False

    @property
    def append_blocks(self) -> bool:
        """True when every append waits for the disk (fsync ``always``)."""
        return self._syncer.policy == "always"

    # -- writing

    def append(self, session_key: str, entry: Entry, max_wait: float | None = None) -> bool:
        chat = self._chats.get(session_key) or self._open(session_key)
        chat.used = True
        log = chat.log
        known = log.write(entry, ids_of(entry), max_wait)
        if known is None:
            return True
        edit = upgrade(known, entry)
        if edit is not None:
            self._apply_edit(log, edit, ids_of(known), max_wait)
        elif not is_op(known) and (known["role"], known["sender"]) != (entry["role"], entry["sender"]):
            self._say_conflict(session_key, known, entry)
        return False

    def apply(self, session_key: str, op: Entry, max_wait: float | None = None) -> bool:
        chat = self._chat(session_key)
        log = chat.log
        if hides(op):
            return log.write(op, [hidden_key(cast("str", op.get("target")))], max_wait) is None
        about = reader.message_with(chat.segments, cast("str", op.get("target")))
        return self._apply_edit(log, op, ids_of(about) if about is not None else [], max_wait)

    def write_each(self, session_key: str, lines: Sequence[Entry]) -> list[bool]:
        """Record messages and ops in this order; True for each that was new."""
        return [self._write_one(session_key, line) for line in lines]

    def _write_one(self, session_key: str, line: Entry) -> bool:
        if not is_op(line):
            return self.append(session_key, line)
        if line.get("target") and is_known_op(line):
            return self.apply(session_key, line)
        return self._chat(session_key).log.write(line, [], None) is None

    def _apply_edit(self, log: ChatLog, edit: Entry, ids: list[str], max_wait: float | None) -> bool:
        """``ids``: every id of the message; any of them may have been hidden."""
        return log.write(edit, edit_keys(edit, cast("str", edit.get("target")), ids), max_wait) is None

    def flush(self, session_key: str, timeout: float) -> bool:
        """True at once: what was written can be read by everybody."""
        return True

    def _say_conflict(self, session_key: str, known: Entry, entry: Entry) -> None:
        """Log once per chat that two platforms, or a broken sender, use the same ids. An overheard copy is no
        conflict.
        """
        overheard = entry.get("source") in OVERHEARD or known.get("source") in OVERHEARD
        if overheard or session_key in self._conflicts:
            return
        self._conflicts.add(session_key)
        same = known["sender"] == entry["sender"]
        first, again = (f"{one['sender']} ({one['role']})" if same else one["sender"] for one in (known, entry))
        logger.warning(
            "%s: message id %s came from %s and again from %s; the first message is kept",
            session_key,
            entry["message_id"],
            first,
            again,
        )

    # -- reading

    def get_recent(self, session_key: str, max_messages: int) -> list[RecentMessage]:
        if max_messages <= 0:
            return []
        chat = self._chat(session_key)
        if max_messages > KEPT_READY:
            return [brief(entry) for entry in self.recent(session_key, max_messages).entries]
        return chat.window.get_recent(max_messages)

    def recent(self, session_key: str, limit: int) -> Page:
        chat = self._chat(session_key)
        if limit <= KEPT_READY:
            return chat.window.recent(limit, chat.segments.stem)
        with contextlib.closing(JsonlWindow(chat.segments)) as window:
            return window.recent(limit, chat.segments.stem)

    def read(self, session_key: str, after: str | None, limit: int) -> Page:
        chat = self._chat(session_key)
        with chat.reading:
            return reader.read(chat.segments, chat.ops, chat.copies, after, limit)

    def read_back(self, session_key: str, before: str | None, limit: int) -> Page:
        chat = self._chat(session_key)
        with chat.reading:
            return reader.read_back(chat.segments, chat.ops, chat.copies, before, limit)

    def end(self, session_key: str) -> str:
        segments = self._chat(session_key).segments
        return format_cursor(segments.stem, segments.end())

    def follow(self, session_key: str, after: str | None) -> AsyncGenerator[Entry, None]:
        from nanobot_transcript.store.jsonl.follower import follow  # brings asyncio, which importing must not cost

        return follow(self._chat(session_key).segments, after)

    def get(self, session_key: str, message_id: str) -> Entry | None:
        chat = self._chat(session_key)
        with chat.reading:
            return reader.find_message(chat.segments, chat.ops, message_id)

    def get_many(self, session_key: str, message_ids: Iterable[str]) -> dict[str, Entry]:
        chat = self._chat(session_key)
        with chat.reading:
            return reader.find_messages(chat.segments, chat.ops, message_ids)

    def changes(self, session_key: str, after: str) -> Changes:
        return changes(self._chat(session_key).segments, after)

    def search(self, query: str, session_key: str | None, limit: int) -> list[Hit]:
        wanted = [session_key] if session_key is not None else [chat.session_key for chat in self.chats()]
        hits: list[Hit] = []

        def search_one(key: str) -> None:
            chat = self._chat(key)
            with chat.searching:
                hits.extend(reader.search(chat.segments, chat.search_ops, key, query, limit))

        _each(wanted, search_one)
        hits.sort(key=lambda hit: moment_of(hit.entry) or 0, reverse=True)
        return hits[:limit]

    def chats(self) -> list[Chat]:
        found: list[Chat] = []
        for stem, paths in self._layout.files().items():
            size, last_write = _measure(paths)
            key = key_of(self._layout, stem) if size else None
            if key is not None:
                found.append(Chat(key, size, last_write))
        return sorted(found)

    def _is_empty(self, chat: _Chat) -> bool:
        layout, stem = self._layout, chat.segments.stem
        return not _measure([layout.active(stem), *(layout.closed(stem, n) for n in layout.closed_numbers(stem))])[0]

    def _refuse_nameless(self) -> None:
        """A transcript whose session key was lost with the hidden folder cannot be included in work on all chats."""
        files = self._layout.files().items()
        nameless = [stem for stem, paths in files if key_of(self._layout, stem) is None and _measure(paths)[0]]
        if nameless:
            raise StoreUnavailableError(
                f"{self._layout.active(nameless[0])} has lost the name of its chat and was left alone"
                f"{f', as were {len(nameless) - 1} others' if len(nameless) > 1 else ''}.",
                hint="Purge that chat by its session key, or remove the file.",
            )

    def scan(self, session_key: str) -> Iterator[Entry]:
        chat = self._chat(session_key)
        return reader.scan(chat.segments, JsonlOps(chat.segments))

    # -- maintenance

    def purge(
        self, session_key: str | None, *, senders: frozenset[str], before_ms: float | None
    ) -> list[MaintenanceReport]:
        wanted = [session_key] if session_key is not None else [chat.session_key for chat in self.chats()]
        reports: list[MaintenanceReport] = []

        def purge_one(key: str) -> None:
            chat = self._chat(key)
            if self._is_empty(chat):
                return
            with maintenance.maintenance(chat.segments):
                _heal(chat)
                if not senders and before_ms is None:
                    report = self._remove(chat)
                else:
                    report = self._erase_and_announce(
                        chat, partial(maintenance.purge_lines, chat.segments, senders, before_ms)
                    )
                maintenance.remember_purge(chat.segments)
            report.session_key = key
            reports.append(report)

        _each(wanted, purge_one)
        if session_key is None:
            self._refuse_nameless()
        return reports

    def purged_at(self, session_key: str) -> float:
        return maintenance.purged_at(self._chat(session_key).segments)

    def maintain(self, session_keys: Sequence[str] | None, retention: Retention) -> list[MaintenanceReport]:
        wanted = session_keys if session_keys is not None else [chat.session_key for chat in self.chats()]
        reports: list[MaintenanceReport] = []

        def maintain_one(key: str) -> None:
            chat = self._chat(key)
            if self._is_empty(chat):
                return
            with maintenance.maintenance(chat.segments):
                _heal(chat)
                report = self._erase_and_announce(chat, partial(maintenance.apply_retention, chat.segments, retention))
                report.erased_entries = maintenance.erase_hidden(chat.segments)
            report.session_key = key
            reports.append(report)

        _each(wanted, maintain_one)
        sweep(self._layout.state)
        return reports

    def verify(self, session_key: str) -> VerifyReport:
        chat = self._chat(session_key)
        report = VerifyReport(session_key)
        if self._is_empty(chat):
            return report
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(maintenance.maintenance(chat.segments))
                report.healed += chat.log.heal()
            except (StoreUnavailableError, StoreFullError):
                report.read_only = True
                report.torn_lines += chat.log.is_torn()
            audit.audit(chat.segments, report)
        return report

    def close(self) -> None:
        with self._guard:
            chats = list(self._chats.values())
            self._chats.clear()
        for chat in chats:
            chat.close()
        self._syncer.flush()

    def after_fork(self) -> None:
        """In a forked child: drop what belongs to the parent."""
        self._guard = threading.Lock()
        for chat in self._chats.values():
            chat.log.forget()
            chat.window.forget()
        self._chats.clear()
        self._syncer.forget()

    def _chat(self, session_key: str) -> _Chat:
        chat = self._chats.get(session_key) or self._open(session_key)
        chat.used = True
        return chat

    def _open(self, session_key: str) -> _Chat:
        stem = stem_of(session_key)
        log = ChatLog(self._layout, session_key, stem, self._segment_bytes, self._lock_timeout, self._syncer)
        with self._guard:
            chat = self._chats.setdefault(session_key, _Chat(log, Segments(self._layout, stem)))
            idle = self._take_idle() if len(self._chats) > _OPEN_CHATS else None
        if idle is not None:
            idle.close()
        return chat

    def _take_idle(self) -> _Chat:
        """A chat that has not been used for long, to be closed (second-chance order)."""
        while True:
            session_key, chat = self._chats.popitem(last=False)
            if not chat.used:
                return chat
            chat.used = False
            self._chats[session_key] = chat

    def _remove(self, chat: _Chat) -> MaintenanceReport:
        removed, size = chat.log.remove()
        chat.window.close()
        return MaintenanceReport("", dropped_segments=removed, dropped_bytes=size)

    def _erase_and_announce(self, chat: _Chat, erase: Callable[[], MaintenanceReport]) -> MaintenanceReport:
        """Erase, then write the line that tells every reader to forget what it remembers.

        A note on disk stands until that line is written: if this process is killed in between, the next one writes it.
        """
        note = self._layout.unsaid(chat.segments.stem)
        unsaid = os.path.lexists(note)
        os.close(open_append(note))
        report = erase()
        if unsaid or report.erased_entries or report.dropped_segments:
            chat.log.write(erasure_mark(time.time_ns() // 1_000_000), [], None)
        os.unlink(note)
        return report


def _heal(chat: _Chat) -> None:
    """Close a torn line at the end first, so that its text can be erased too."""
    with contextlib.suppress(StoreBusyError):  # a stalled writer holds the lock; its torn line goes the next time
        if chat.log.is_torn():
            chat.log.heal()


def _each(session_keys: Sequence[str], work: Callable[[str], None]) -> None:
    """Run ``work`` for every chat; what failed is raised when all others are done."""
    failure: StoreError | None = None
    for key in session_keys:
        try:
            work(key)
        except StoreError as error:
            logger.warning("%s: %s", key, error)
            failure = failure or error
    if failure is not None:
        raise failure


def _measure(paths: Iterable[str]) -> tuple[int, int]:
    """The size of a chat's files (bytes), and when one was last written to (ms)."""
    size, last = 0, 0.0
    for path in paths:
        try:
            status = os.stat(path)
        except FileNotFoundError:
            continue
        size += status.st_size
        last = max(last, status.st_mtime)
    return size, int(last * 1000)


_backends: "WeakSet[JsonlBackend]" = WeakSet()


def _after_fork() -> None:
    for backend in list(_backends):
        backend.after_fork()


os.register_at_fork(after_in_child=_after_fork)
