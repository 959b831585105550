"""Incoming messages: what a bot heard becomes an entry, and is recorded before the platform is acknowledged."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, cast

from nanobot_transcript.conversation.background import Background
from nanobot_transcript.conversation.people import MembersNow, People
from nanobot_transcript.conversation.policy import Policy
from nanobot_transcript.conversation.ports import Arrival, InboundMessage, MessageChange
from nanobot_transcript.coordination.async_fronts import ask
from nanobot_transcript.entry import OPTIONAL_FIELDS, Entry
from nanobot_transcript.errors import InvalidEntryError, StoreError
from nanobot_transcript.identity import OPEN_ID, account_of, is_person
from nanobot_transcript.session_key import split
from nanobot_transcript.sql.outage import level_of
from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["Arrivals", "Reader", "entry_of", "fields_of"]

logger = logging.getLogger(__name__)

_LONGEST_WAIT: Final = 0.2  # seconds; a platform pushes again after three
_BEFORE: Final = 86_400_000.0  # milliseconds
_NEWEST: Final = 20
_NOT_RECORDED: Final = "A message was not recorded; the platform will send it again"

IsAnswer = Callable[[str, Entry], bool]
"""By session key and entry: True when it answers a post of the outbox, and begins no turn. Raises StoreError kinds."""
FirstHeard = Callable[[str, float | None, float], None]
"""Called when this process has recorded its first message of a chat, with the session key; with the time (ms) since
which messages may be missing (None: since the newest on record); and with the time at which the message was heard (ms,
our clock).
"""


def entry_of(arrival: Arrival, look: MembersNow) -> Entry:
    """A message as it is recorded, with senders and mentions that are the same for every account."""
    sender = look.sender_of(arrival)
    entry: dict[str, Any] = {
        "role": "assistant" if arrival.from_bot else "user",
        "content": arrival.text,
        "sender": sender.sender,
        "message_id": arrival.message_id,
        "ts": arrival.ts_ms if arrival.ts_ms is not None else time.time_ns() // 1_000_000,
    }
    known: dict[str, Any] = {
        "sender_name": sender.name,
        "sender_kind": "bot" if arrival.from_bot else "human",
        "ids": sender.ids,
        "msg_type": arrival.msg_type,
        "mentions": look.mentions_of(arrival),
        "reply_to": arrival.reply_to,
        "root_id": arrival.root_id,
        "thread_id": arrival.thread_id,
        "agent": sender.name if arrival.from_bot and sender.name == sender.sender else None,
        "source": arrival.source,
        "edited": arrival.edited,
    }
    said = {name: value for name, value in known.items() if value}
    return cast("Entry", entry | said | ({} if arrival.pos is None else {"pos": arrival.pos}))


def answers_something(entry: Entry) -> bool:
    """True for a person's message that replies to another one or is in a thread: only these can answer a post."""
    return is_person(entry) and bool(entry.get("reply_to") or entry.get("root_id") or entry.get("thread_id"))


def fields_of(entry: Entry) -> Any:
    """The optional fields of an entry, as keywords of ``append``."""
    return {name: value for name, value in entry.items() if name in OPTIONAL_FIELDS}


def record_entry(store: GroupTranscriptStore, session_key: str, entry: Entry, max_wait: float | None) -> bool:
    """Record an entry unchanged; False when its id was there already. Raises StoreError, InvalidEntryError."""
    return store.append(
        session_key,
        entry["role"],
        entry["content"],
        entry["sender"],
        entry.get("message_id"),
        entry.get("ts"),
        max_wait=max_wait,
        **fields_of(entry),
    )


@dataclass(eq=False, slots=True)
class Reader:
    """Makes entries of what the bots of this process hear. For any thread; nothing here waits.

    ``later`` runs work in the background. ``store`` is where bots record what they say. Nothing is learned from chats
    that are not ``recorded`` (by session key).
    """

    people: People
    later: Callable[..., None]
    store: GroupTranscriptStore | None = None
    recorded: Callable[[str], bool] = lambda session_key: True

    def read(self, arrival: Arrival, *, private: bool = False) -> InboundMessage:
        """The entry of a message, made once and used by everybody.

        What it tells about people and bots is saved in the background, unless it is ``private``.
        """
        entry = entry_of(arrival, self.people.look())
        if not private and self.recorded(arrival.session_key):
            self.later(self._learn, arrival)
        return InboundMessage(arrival.session_key, entry, private=private, complete=arrival.complete)

    def _learn(self, arrival: Arrival) -> None:
        try:
            self.people.learn(arrival)
            if arrival.from_bot:
                self._recognise(arrival)
        except StoreError as error:
            logger.log(
                level_of(error, logging.WARNING), "Names of members could not be saved: %s %s", error, error.hint
            )

    def _recognise(self, arrival: Arrival) -> None:
        """If the sending bot has recorded this message itself, we learn what this account calls that bot."""
        entry = self.store.get(arrival.session_key, arrival.message_id) if self.store is not None else None
        account, open_id = account_of(entry) if entry else "", arrival.sender_ids.get(OPEN_ID)
        if account and open_id:
            self.people.link(arrival.account, open_id, account)


class Arrivals:
    """Records incoming messages. For any thread; nothing here waits for a network of its own.

    Without a ``store`` nothing is recorded. ``policy`` tells in which chats; ``record`` is only for those.
    """

    def __init__(
        self,
        store: GroupTranscriptStore | None,
        *,
        policy: Policy | None = None,
        is_answer: IsAnswer | None = None,
        first_heard: FirstHeard = lambda session_key, since_ms, heard_ms: None,
    ) -> None:
        self._store: GroupTranscriptStore | None = store
        self._policy: Policy = policy or Policy()
        self._is_answer: IsAnswer | None = is_answer
        self._first_heard: FirstHeard = first_heard
        self._known: set[str] = set()
        self._mutex: threading.Lock = threading.Lock()
        self._behind: Background = Background(lambda: None)
        """Started only when reading the record may take long."""

    async def take(self, message: InboundMessage) -> tuple[InboundMessage | None, Exception | None]:
        """``record`` and ``offer`` on an event loop, unless the chat is off. Returns the message, None when it may not
        begin a turn, and the first failure; a message that could not be recorded may still begin a turn.
        """
        chat_id = split(message.session_key)[1]
        if not message.private and not self._policy.records(chat_id):
            return None, None
        slow = self._store is not None and self._store.backend.append_blocks
        (message, failure), answers = await ask(slow, self.record, message), False
        if self._is_answer is not None and answers_something(message.entry):
            answers, unasked = await asyncio.to_thread(self.offer, message)
            failure = failure or unasked
        shared = message.private or self._policy.shares(chat_id)
        return message if message.complete and shared and not answers else None, failure

    async def take_change(self, change: MessageChange) -> Exception | None:
        """``apply`` on an event loop, even for a chat that has been switched off since."""
        store = self._store
        slow = store is not None and (store.backend.blocking or store.backend.append_blocks)
        return await ask(slow, self.apply, change)

    def record(self, message: InboundMessage) -> tuple[InboundMessage, Exception | None]:
        """Record a message, unless it is private or came from the record. Returns the message, with ``recorded`` set,
        and the failure, if there was one that another push by the platform could repair.
        """
        store, key, entry = self._store, message.session_key, message.entry
        if store is None or message.private or message.relayed:
            return replace(message, recorded=message.relayed), None
        taken: list[bool] = []
        heard_ms = time.time_ns() // 1_000_000  # as the record counts
        is_first = self._is_first(key)
        failure = _attempt(lambda: taken.append(record_entry(store, key, entry, _LONGEST_WAIT)), _NOT_RECORDED)
        if is_first:  # only now: the history has this message too, with less detail, and must not record it first
            self._in_background(store, partial(self._tell_first, store, key, entry, heard_ms))
        return replace(message, recorded=bool(taken)), failure

    def offer(self, message: InboundMessage) -> tuple[bool, Exception | None]:
        """True when a person's message answers a post of the outbox; also why that could not be found out."""
        entry, is_answer = message.entry, self._is_answer
        if is_answer is None or message.private or not answers_something(entry):
            return False, None
        answers: list[bool] = []
        failure = _attempt(
            lambda: answers.append(is_answer(message.session_key, entry)),
            "It is unknown whether a message answers a post; the platform will send it again",
        )
        return any(answers), failure

    def apply(self, change: MessageChange) -> Exception | None:
        """Record what became of an earlier message, if its chat is recorded. If the chat has been switched off since,
        only of a message that is on record. Failures as in ``record``.
        """
        store, key = self._store, change.session_key
        if store is None or change.private:
            return None

        def stands_there() -> bool:
            if not self._policy.records(split(key)[1]):
                return store.get(key, change.message_id) is not None
            return key in self._known or bool(store.recent(key, 1).entries)

        def write() -> None:
            if stands_there():
                store.recall(key, change.message_id, "", change.ts, max_wait=_LONGEST_WAIT)

        return _attempt(write, "A recalled message was not hidden; the platform will report it again")

    def has_heard(self, session_key: str) -> bool:
        """True when a message of this chat was recorded since the start."""
        return session_key in self._known

    def _is_first(self, key: str) -> bool:
        """True once for each chat."""
        with self._mutex:
            known = key in self._known
            self._known.add(key)
        return not known

    def _in_background(self, store: GroupTranscriptStore, work: Callable[[], object]) -> None:
        """Run work that reads the record: now, or in the background where that may take long, because the caller must
        not wait.
        """
        if not store.backend.blocking:
            work()
            return
        self._behind.start()
        self._behind.submit(work)

    def _tell_first(self, store: GroupTranscriptStore, key: str, entry: Entry, heard_ms: float) -> None:
        since_ms = _missing_since(store, key, entry, heard_ms)
        _attempt(lambda: self._first_heard(key, since_ms, heard_ms), "Missed messages are not fetched")


def _missing_since(store: GroupTranscriptStore, key: str, entry: Entry, heard_ms: float) -> float | None:
    """Since when messages of a chat may be missing: None (since the newest on record), or the day before its first
    ``entry``, heard at ``heard_ms`` (our clock), when the chat had no record.
    """
    since: list[float] = []

    def look() -> None:
        others = (one for one in store.recent(key, _NEWEST).entries if one["message_id"] != entry["message_id"])
        if all(one.get("rts", 0) >= heard_ms for one in others):
            since.append(entry["ts"] - _BEFORE)

    _attempt(look, "It is unknown whether a chat has a record")
    return since[0] if since else None


def _attempt(work: Callable[[], object], failed: str) -> Exception | None:
    """Run ``work``. A failure that another push could repair is returned; any other is only logged, as ``failed``."""
    try:
        work()
    except InvalidEntryError:
        logger.exception("A message cannot be recorded")
    except StoreError as error:
        logger.error("%s: %s %s", failed, error, error.hint)
        return error
    except Exception as error:
        logger.exception("%s", failed)
        return error
    return None
