"""What comes in: every message of a group is written down before nanobot looks at it, and before the platform's
acknowledgement goes out.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import InvalidEntryError, StoreError
from nanobot_transcript.identity import account_of
from nanobot_transcript.store.front import GroupTranscriptStore
from transcript_channels.feishu import Message, Recall, message_from_event, recall_from_event
from transcript_channels.feishu.platform import FEISHU
from transcript_channels.nanobot_host.background import Background
from transcript_channels.nanobot_host.forgetting import Forgetting
from transcript_channels.nanobot_host.names import Names
from transcript_channels.nanobot_host.plain import plain
from transcript_channels.nanobot_host.policy import Policy
from transcript_channels.nanobot_host.privacy import PrivateChats
from transcript_channels.nanobot_host.roster import Roster

__all__ = ["Arrival", "Inbound"]

logger = logging.getLogger(__name__)

_LONGEST_WAIT: Final = 0.2  # seconds; the platform pushes again after three
_REMEMBERED: Final = 4096
_BEFORE: Final = 86_400_000  # milliseconds
_PLAIN: Final = frozenset({"role", "content", "sender", "message_id", "ts"})


@dataclass(frozen=True, slots=True)
class Arrival:
    """What becomes of an event: whether nanobot is to see it, and why the platform must push it again.

    ``answers``: it answers a post of the outbox.
    """

    deliver: bool = True
    failure: Exception | None = None
    answers: bool = False


@dataclass(frozen=True, slots=True)
class Callbacks:
    """``is_answer`` tells whether an entry answers a post of the outbox; it is told the session key of its chat.
    ``first_heard`` is told that of a chat of which this process hears for the first time, and the time (ms) since when
    messages may be missing; None: since the newest on record.
    """

    is_answer: Callable[[str, Entry], bool] = lambda key, entry: False
    first_heard: Callable[[str, float | None], None] = lambda key, since_ms: None


class Inbound:
    """Records events, in the thread of the long connection. Nothing here waits for a network."""

    def __init__(
        self,
        store: GroupTranscriptStore,
        policy: Policy,
        names: Names,
        private: PrivateChats,
        background: Background,
        roster: Roster,
        forgetting: Forgetting,
        callbacks: "Callbacks | None" = None,
    ) -> None:
        self._store: GroupTranscriptStore = store
        self._policy: Policy = policy
        self._names: Names = names
        self._private: PrivateChats = private
        self._background: Background = background
        self._roster: Roster = roster
        self._forgetting: Forgetting = forgetting
        self._callbacks: Callbacks = callbacks or Callbacks()
        self._delivered: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._groups: set[str] = set()
        self._heard: set[tuple[str, str]] = set()

    def saw_group(self, chat_id: str) -> bool:
        """True when a message of this chat was seen since the start, and it was a group."""
        return chat_id in self._groups

    def has_heard(self, observer: str, chat_id: str) -> bool:
        """True when the bot ``observer`` received a message of this group since the start."""
        return (observer, chat_id) in self._heard

    def parse(self, data: Any) -> Message | None:
        """The message in what the SDK hands over."""
        try:
            return message_from_event(plain(data))
        except Exception:
            logger.exception("An event could not be read")
            return None

    def message(self, message: Message, observer: str) -> Arrival:
        """Record one message that the bot ``observer`` received, if its chat is a group that is recorded."""
        if not message.in_group:
            if message.chat_type:
                self._private.remember(message.chat_id)
            return Arrival()
        if not self._policy.records(message.chat_id):
            return Arrival()
        self._heard.add((observer, message.chat_id))
        if message.chat_id not in self._groups:
            self._attempt(lambda: self._hear_first(message))
        failure = self._attempt(lambda: self._append(message, observer))
        answers, unasked = self._offer(message, observer)
        failure = failure or unasked
        handled = (observer, message.message_id)
        again = handled in self._delivered
        if failure is not None and not answers:
            self._remember(handled)  # the agent has it now; the push to come is for the record alone
        return Arrival(not (message.from_bot or again or answers), failure, answers)

    def entry_of(self, message: Message, observer: str) -> Entry:
        """A message that the bot ``observer`` received, as the record holds it."""
        sender = self._names.sender_of(message, observer)
        entry: dict[str, Any] = {
            "role": "assistant" if message.from_bot else "user",
            "content": message.text,
            "sender": sender.sender or "unknown",
            "message_id": message.message_id,
            "ts": message.ts_ms if message.ts_ms is not None else time.time_ns() // 1_000_000,
        }
        known = {
            **message.entry_fields(),
            "ids": sender.ids,
            "sender_name": sender.name,
            "mentions": self._names.mentions_of(message, observer) or None,
            "agent": sender.name if message.from_bot else None,
        }
        return cast("Entry", entry | {name: value for name, value in known.items() if value is not None})

    def _hear_first(self, message: Message) -> None:
        """Of a chat without a record the day before is asked for, else what is missing at its end."""
        self._groups.add(message.chat_id)
        key = FEISHU.key(message.chat_id)
        known = bool(self._store.recent(key, 1).entries)
        self._callbacks.first_heard(key, None if known else (message.ts_ms or time.time() * 1000) - _BEFORE)

    def _offer(self, message: Message, observer: str) -> tuple[bool, Exception | None]:
        """Whether a message answers a post of the outbox, and why that could not be found out."""
        if message.from_bot or not (message.parent_id or message.root_id or message.thread_id):
            return False, None
        answers: list[bool] = []
        is_answer, key = self._callbacks.is_answer, FEISHU.key(message.chat_id)
        failure = self._attempt(lambda: answers.append(is_answer(key, self.entry_of(message, observer))))
        return any(answers), failure

    def recall(self, data: Any) -> None:
        """Hide a message that was taken back. Raises StoreError, so that the platform tells it again."""
        recall = recall_from_event(plain(data))
        if recall is None or recall.chat_id in self._private or not self._policy.records(recall.chat_id):
            return
        failure = self._attempt(lambda: self._hide(recall))
        if failure is not None:
            raise failure

    def _append(self, message: Message, observer: str) -> None:
        key, entry = FEISHU.key(message.chat_id), self.entry_of(message, observer)
        fields: dict[str, Any] = {name: value for name, value in entry.items() if name not in _PLAIN}
        self._store.append(
            key,
            entry["role"],
            entry["content"],
            entry["sender"],
            message.message_id,
            message.ts_ms,
            max_wait=_LONGEST_WAIT,
            **fields,
        )
        self._background.submit(self._names.learn, message, key, observer)
        self._roster.heard(message.chat_id, observer)
        if "sender_name" not in entry and not message.from_bot:
            self._roster.ask(message.chat_id, observer, entry["sender"], message.sender_ids)
        if message.from_bot:
            self._background.submit(self._recognise, message, key, observer)

    def _recognise(self, message: Message, key: str, observer: str) -> None:
        """When the bot that sent this has recorded it by itself, its open id is known now, too."""
        entry = self._store.get(key, message.message_id)
        app_id = account_of(entry) if entry else ""
        open_id = message.sender_ids.get("open_id")
        if app_id and open_id:
            self._names.link(observer, open_id, app_id)

    def _hide(self, recall: Recall) -> None:
        key = FEISHU.key(recall.chat_id)
        if self.saw_group(recall.chat_id) or self._store.recent(key, 1).entries:
            self._store.recall(key, recall.message_id, "", recall.ts_ms, max_wait=_LONGEST_WAIT)
            self._background.submit(self._forgetting.recalled, recall.message_id)

    def _attempt(self, write: Callable[[], None]) -> Exception | None:
        """Do it; what another push could mend is returned, everything else only logged."""
        try:
            write()
        except InvalidEntryError:
            logger.exception("A message cannot be recorded")
        except StoreError as error:
            logger.error("A message was not recorded, the platform will push it again: %s %s", error, error.hint)
            return error
        except Exception as error:
            logger.exception("A message was not recorded, the platform will push it again")
            return error
        return None

    def _remember(self, handled: tuple[str, str]) -> None:
        self._delivered[handled] = None
        while len(self._delivered) > _REMEMBERED:
            self._delivered.popitem(last=False)
