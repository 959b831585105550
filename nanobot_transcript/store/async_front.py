"""The front door of a transcript store for code on an event loop."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, ParamSpec, Self, TypeVar, Unpack

from nanobot_transcript.entry import Entry, EntryFields, RecentMessage
from nanobot_transcript.store.contract import Changes, Chat, Hit, MaintenanceReport, Page, Retention, VerifyReport
from nanobot_transcript.store.front import GroupTranscriptStore
from nanobot_transcript.store.members import MemberDirectory

if TYPE_CHECKING:
    from nanobot_transcript.store.gaps import Fallback, GapFiller

__all__ = ["AsyncGroupTranscriptStore"]

_P = ParamSpec("_P")
_T = TypeVar("_T")
_LOOP_WAIT: Final = 0.2
_SCAN_PAGE: Final = 500


class AsyncGroupTranscriptStore:
    """``GroupTranscriptStore`` for code on an event loop: the same names, awaited.

    Appends and small reads run in place (microseconds) where the backend waits for neither disk nor network; everything
    else runs in a thread. A lock that another process holds is waited for 0.2 s unless ``max_wait`` says otherwise,
    because the whole loop waits with it.

    ``fallback`` asks the platform for messages that no process of this store has heard: when a chat is first used, and
    after ``missed``. ``recent`` and ``get_recent`` wait for it for a few seconds; ``get_recent`` of the plain store
    only starts it.
    """

    def __init__(
        self, base_dir: str | Path | None = None, *, fallback: "Fallback | None" = None, **options: Any
    ) -> None:
        """Takes what ``GroupTranscriptStore`` takes; ``AsyncGroupTranscriptStore.over`` wraps an existing one."""
        self._open(GroupTranscriptStore(base_dir, **options), fallback)

    @classmethod
    def over(cls, store: GroupTranscriptStore, *, fallback: "Fallback | None" = None) -> Self:
        """An asynchronous door to a store that is already open."""
        self = cls.__new__(cls)
        self._open(store, fallback)
        return self

    def _open(self, store: GroupTranscriptStore, fallback: "Fallback | None") -> None:
        self.sync: GroupTranscriptStore = store
        self.gaps: GapFiller | None = _filler(store, fallback) if fallback is not None else None
        if self.gaps is not None:
            store.on_read = self.gaps.touch

    @property
    def base_dir(self) -> Path:
        """Where the transcripts lie."""
        return self.sync.base_dir

    @property
    def place(self) -> str:
        """Where the transcripts lie, for a person."""
        return self.sync.place

    @property
    def members(self) -> MemberDirectory:
        """Who is who in this store."""
        return self.sync.members

    async def append(
        self,
        session_key: str,
        role: str,
        content: str,
        sender: str,
        message_id: str | None = None,
        timestamp_ms: float | str | None = None,
        *,
        max_wait: float | None = _LOOP_WAIT,
        **fields: Unpack[EntryFields],
    ) -> bool:
        """See ``GroupTranscriptStore.append``."""
        if self.gaps is not None:
            self.gaps.touch(session_key)
        return await self._written(
            partial(
                self.sync.append,
                session_key,
                role,
                content,
                sender,
                message_id,
                timestamp_ms,
                max_wait=max_wait,
                **fields,
            )
        )

    async def edit(
        self,
        session_key: str,
        target: str,
        content: str,
        sender: str = "",
        timestamp_ms: float | str | None = None,
        *,
        max_wait: float | None = _LOOP_WAIT,
        **fields: Unpack[EntryFields],
    ) -> bool:
        """See ``GroupTranscriptStore.edit``."""
        return await self._written(
            partial(
                self.sync.edit,
                session_key,
                target,
                content,
                sender,
                timestamp_ms,
                max_wait=max_wait,
                **fields,
            )
        )

    async def recall(
        self,
        session_key: str,
        target: str,
        sender: str = "",
        timestamp_ms: float | str | None = None,
        *,
        max_wait: float | None = _LOOP_WAIT,
    ) -> bool:
        """See ``GroupTranscriptStore.recall``."""
        return await self._written(
            partial(self.sync.recall, session_key, target, sender, timestamp_ms, max_wait=max_wait)
        )

    async def redact(
        self,
        session_key: str,
        target: str,
        sender: str = "",
        timestamp_ms: float | str | None = None,
        *,
        max_wait: float | None = _LOOP_WAIT,
    ) -> bool:
        """See ``GroupTranscriptStore.redact``."""
        return await _in_thread(self.sync.redact, session_key, target, sender, timestamp_ms, max_wait=max_wait)

    async def flush(self, session_key: str, timeout: float) -> bool:  # noqa: ASYNC109 - its end is no error
        """See ``GroupTranscriptStore.flush``."""
        return await self._read(partial(self.sync.flush, session_key, timeout))

    def missed(self, session_key: str, since_ms: float | None = None, heard_ms: float | None = None) -> None:
        """Say that messages may have been missed, as after a reconnect; the fallback is asked for them.

        ``since_ms`` is the time of the last message that is known to be complete; by default the newest on record.
        Messages pushed since ``heard_ms`` (our clock; by default now) arrive without asking.
        """
        if self.gaps is not None:
            self.gaps.missed(session_key, since_ms, heard_ms)

    async def get_recent(self, session_key: str, max_messages: int = 20) -> list[RecentMessage]:
        """See ``GroupTranscriptStore.get_recent``."""
        if self.gaps is not None:
            await self.gaps.filled(session_key)
        return await self._read(partial(self.sync.get_recent, session_key, max_messages))

    async def recent(self, session_key: str, limit: int = 20) -> Page:
        """See ``GroupTranscriptStore.recent``."""
        if self.gaps is not None:
            await self.gaps.filled(session_key)
        return await self._read(partial(self.sync.recent, session_key, limit))

    async def read(self, session_key: str, after: str | None = None, limit: int = 100) -> Page:
        """See ``GroupTranscriptStore.read``."""
        return await _in_thread(self.sync.read, session_key, after, limit)

    async def read_back(self, session_key: str, before: str | None = None, limit: int = 100) -> Page:
        """See ``GroupTranscriptStore.read_back``."""
        return await _in_thread(self.sync.read_back, session_key, before, limit)

    async def end(self, session_key: str) -> str:
        """See ``GroupTranscriptStore.end``."""
        return await self._read(partial(self.sync.end, session_key))

    def follow(self, session_key: str, after: str | None = None) -> AsyncGenerator[Entry, None]:
        """See ``GroupTranscriptStore.follow``."""
        return self.sync.follow(session_key, after)

    async def get(self, session_key: str, message_id: str) -> Entry | None:
        """See ``GroupTranscriptStore.get``."""
        return await _in_thread(self.sync.get, session_key, message_id)

    async def get_many(self, session_key: str, message_ids: Iterable[str]) -> dict[str, Entry]:
        """See ``GroupTranscriptStore.get_many``."""
        return await _in_thread(self.sync.get_many, session_key, message_ids)

    async def changes(self, session_key: str, after: str) -> Changes:
        """See ``GroupTranscriptStore.changes``."""
        return await _in_thread(self.sync.changes, session_key, after)

    async def search(self, query: str, session_key: str | None = None, limit: int = 20) -> list[Hit]:
        """See ``GroupTranscriptStore.search``."""
        return await _in_thread(self.sync.search, query, session_key, limit)

    async def scan(self, session_key: str) -> AsyncIterator[Entry]:
        """See ``GroupTranscriptStore.scan``."""
        cursor = None
        while (page := await self.read(session_key, cursor, _SCAN_PAGE)).entries:
            for entry in page.entries:
                yield entry
            cursor = page.cursor

    async def chats(self) -> list[Chat]:
        """See ``GroupTranscriptStore.chats``."""
        return await _in_thread(self.sync.chats)

    async def purge(
        self, session_key: str | None = None, *, sender: str | None = None, before_ms: float | None = None
    ) -> list[MaintenanceReport]:
        """See ``GroupTranscriptStore.purge``."""
        return await _in_thread(self.sync.purge, session_key, sender=sender, before_ms=before_ms)

    async def maintain(
        self, session_keys: Sequence[str] | None = None, retention: Retention | None = None
    ) -> list[MaintenanceReport]:
        """See ``GroupTranscriptStore.maintain``."""
        return await _in_thread(self.sync.maintain, session_keys, retention)

    async def verify(self, session_key: str) -> VerifyReport:
        """See ``GroupTranscriptStore.verify``."""
        return await _in_thread(self.sync.verify, session_key)

    async def close(self) -> None:
        """See ``GroupTranscriptStore.close``. A gap that is being filled is abandoned."""
        if self.gaps is not None:
            await self.gaps.close()
        await _in_thread(self.sync.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> Literal[False]:
        await self.close()
        return False

    async def _written(self, call: "partial[_T]") -> _T:
        return await _in_thread(call) if self.sync.backend.append_blocks else call()

    async def _read(self, call: "partial[_T]") -> _T:
        return await _in_thread(call) if self.sync.backend.blocking else call()


async def _in_thread(call: "Callable[_P, _T]", *args: "_P.args", **kwargs: "_P.kwargs") -> "_T":
    # asyncio would be two thirds of the cost of importing this package; whoever awaits this has it loaded already.
    import asyncio

    return await asyncio.to_thread(call, *args, **kwargs)


def _filler(store: GroupTranscriptStore, fallback: "Fallback") -> "GapFiller":
    from nanobot_transcript.store.gaps import GapFiller  # brings asyncio

    return GapFiller(store, fallback)
