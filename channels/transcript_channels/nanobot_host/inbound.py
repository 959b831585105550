"""Records incoming messages of groups, before nanobot sees them and before they are acknowledged to the platform.

Nothing said in a private chat is recorded, in either direction.
"""

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from nanobot_transcript.conversation.arrivals import Arrivals
from nanobot_transcript.conversation.composition import Conversation
from nanobot_transcript.conversation.ports import InboundMessage, Recalled
from nanobot_transcript.coordination.contract import Marks
from nanobot_transcript.entry import Ids
from nanobot_transcript.errors import StoreError
from nanobot_transcript.session_key import split
from transcript_channels.feishu import Message, message_from_event
from transcript_channels.feishu.events import CHANGES
from transcript_channels.feishu.platform import FEISHU
from transcript_channels.nanobot_host.session_erasure import Forgetting

__all__ = ["PRIVATE", "Heard", "Inbound", "PrivateChats", "heard_in", "plain"]

logger = logging.getLogger(__name__)

PRIVATE: Final = "private"
_REMEMBERED: Final = 4096
_HEARD: Final = "_transcript_heard"
_DEEPEST: Final = 12
_ATOMS: Final = (str, int, float, bool, type(None))


class PrivateChats:
    """The private chats of the bots of this record. May be used on an event loop if ``marks`` may.

    A private chat has an ``oc_`` id like a group, and a message that is sent to such an id does not say which it is. So
    the ids of private chats seen in events are remembered, as hashes, also across restarts.
    """

    def __init__(self, marks: Marks) -> None:
        self._marks: Marks = marks
        self._known: set[str] = set()
        """Digests of chat ids."""
        self._groups: set[str] = set()
        """Chats that an event has shown to be groups: known even while the marks cannot be read."""
        self._unreadable: bool = False

    def remember(self, chat_id: str) -> None:
        """Note that this chat is private."""
        digest = _digest(chat_id)
        if digest in self._known:
            return
        self._known.add(digest)
        try:
            self._marks.put(PRIVATE, {"digest": digest}, chat_id)
        except StoreError as error:
            logger.warning("Private chats are remembered only until the next restart: %s", error)

    def remember_group(self, chat_id: str) -> None:
        """Note that this chat is a group."""
        self._groups.add(chat_id)

    def is_known(self, chat_id: str) -> bool:
        """True for a chat that is known to be private; False also while the marks cannot be read."""
        if _digest(chat_id) in self._known:
            return True
        try:
            return self._marks.has(PRIVATE, chat_id)
        except StoreError:
            return False

    def __contains__(self, chat_id: object) -> bool:
        """True for a person's id and for a chat that is known to be private, and while the marks cannot be read."""
        if not isinstance(chat_id, str) or not FEISHU.is_group(chat_id):
            return True
        if _digest(chat_id) in self._known:
            return True
        if chat_id in self._groups:
            return False
        try:
            found = self._marks.has(PRIVATE, chat_id)
        except StoreError as error:
            level = logging.DEBUG if self._unreadable else logging.WARNING  # it is asked again and again
            logger.log(level, "A chat counts as private until the record can be read: %s", error)
            self._unreadable = True
            return True
        self._unreadable = False
        return found


def _digest(chat_id: str) -> str:
    return hashlib.sha256(chat_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Heard:
    """An event that was read, and what becomes of it. ``inbound``: the message, if its group is recorded. ``deliver``:
    nanobot is to see it. ``failure``: why the platform must push it again. ``answers``: it answers an outbox's post.
    """

    message: Message
    inbound: InboundMessage | None = None
    deliver: bool = True
    failure: Exception | None = None
    answers: bool = False


def heard_in(data: Any) -> Heard | None:
    """What ``Inbound.take`` made of an event; None for one that it has not seen."""
    return getattr(data, _HEARD, None)


@dataclass(slots=True, eq=False)
class Inbound:
    """Takes events, in the thread of the long connection. Nothing here waits for a network.

    ``sits`` is called with bot and session key before a message is recorded: recording it may start a search for missed
    messages, which needs a bot that sits in the group. ``heard`` is called after it, with the bot, the message, the
    sender if it has no name, and the sender's ids.
    """

    conversation: Conversation
    arrivals: Arrivals
    private: PrivateChats
    forgetting: Forgetting
    sits: Callable[[str, str], None]
    heard: Callable[[str, InboundMessage, str, Ids], None]
    _delivered: OrderedDict[tuple[str, str], None] = field(default_factory=OrderedDict, init=False)

    def parse(self, data: Any) -> Message | None:
        """The message in what the SDK hands over."""
        try:
            return message_from_event(plain(data))
        except Exception:
            logger.exception("An event could not be read")
            return None

    def take(self, message: Message, observer: str, data: Any = None) -> Heard:
        """Record a message that the bot ``observer`` received, if its chat is a group that is recorded. The result is
        attached to the event ``data``, for ``heard_in``.
        """
        heard = self._take(message, observer)
        if data is not None:
            setattr(data, _HEARD, heard)
        return heard

    def _take(self, message: Message, observer: str) -> Heard:
        if not message.in_group:
            if message.chat_type:
                self.private.remember(message.chat_id)
            return Heard(message)
        self.private.remember_group(message.chat_id)
        if not self.conversation.policy.records(message.chat_id):
            return Heard(message)
        inbound = self.conversation.reader.read(message.arrival(observer))
        self.sits(observer, inbound.session_key)
        inbound, failure = self.arrivals.record(inbound)
        nameless = "" if message.from_bot or inbound.entry.get("sender_name") else inbound.entry["sender"]
        self.heard(observer, inbound, nameless, message.sender_ids)
        answers, unasked = self.arrivals.offer(inbound)
        failure = failure or unasked
        handled = (observer, message.message_id)
        again = handled in self._delivered
        if failure is not None and not answers:
            self._remember(handled)  # nanobot gets it now; when it is pushed again, it is only to be recorded
        return Heard(message, inbound, not (message.from_bot or again or answers), failure, answers)

    def apply(self, kind: str, data: Any) -> None:
        """Record what became of an earlier message, as an event of ``CHANGES`` tells it. Raises StoreError, so that the
        platform tells it again. Of a private chat there is no record to change.
        """
        change = CHANGES[kind](plain(data))
        if change is None or self.private.is_known(split(change.session_key)[1]):
            return
        failure = self.arrivals.apply(change)
        if failure is not None:
            raise failure
        if isinstance(change, Recalled):
            self.conversation.background.submit(self.forgetting.recalled, change.message_id)

    def _remember(self, handled: tuple[str, str]) -> None:
        self._delivered[handled] = None
        while len(self._delivered) > _REMEMBERED:
            self._delivered.popitem(last=False)


def plain(value: Any, depth: int = 0) -> Any:
    """The SDK's objects as dictionaries, lists and scalars, at most twelve levels deep."""
    if isinstance(value, _ATOMS):
        return value
    if depth > _DEEPEST:
        return None
    if isinstance(value, Mapping):
        return {key: plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    attributes = getattr(value, "__dict__", None)
    if attributes is None:
        return None
    return {key: plain(item, depth + 1) for key, item in attributes.items() if not key.startswith("_")}
