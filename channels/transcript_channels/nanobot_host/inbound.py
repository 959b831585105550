"""What comes in: every message of a group is recorded before nanobot looks at it, and before the platform's
acknowledgement goes out. Nothing said in a private chat is recorded, in either direction.
"""

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from nanobot_transcript.conversation.arrivals import Arrivals
from nanobot_transcript.conversation.composition import Conversation
from nanobot_transcript.conversation.ports import InboundMessage, Recalled
from nanobot_transcript.coordination.contract import Marks
from nanobot_transcript.entry import Ids
from nanobot_transcript.errors import StoreError
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
    """The private chats that bots of this store take part in. For event loops, if its ``marks`` are.

    A private chat has an ``oc_`` id like a group, and a message sent to that id does not say what it is. So the ids of
    private chats seen in events are remembered, across restarts too: as hashes.
    """

    def __init__(self, marks: Marks) -> None:
        self._marks: Marks = marks
        self._known: set[str] = set()
        """Digests of chat ids."""
        self._groups: set[str] = set()
        """Chats of which an event has said that they are none: so much is known while the marks are not."""
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
        """Note that this chat is none of them."""
        self._groups.add(chat_id)

    def __contains__(self, chat_id: object) -> bool:
        """True for a person's id and for the id of a chat that was seen to be private; while nobody can tell, too."""
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
    """An event, read once, and what becomes of it: whether nanobot is to see it, and why the platform must push it
    again.

    ``inbound`` is the message of a group that is recorded. ``answers``: it answers a post of the outbox.
    """

    message: Message
    inbound: InboundMessage | None = None
    deliver: bool = True
    failure: Exception | None = None
    answers: bool = False


def heard_in(data: Any) -> Heard | None:
    """What was made of an event when it came in."""
    return getattr(data, _HEARD, None)


class Inbound:
    """Takes events, in the thread of the long connection. Nothing here waits for a network.

    ``sits`` is told the bot and the session key before a message is recorded: what was missed in a group is asked for
    right after that, by a bot that sits there. ``heard`` is told the bot, the message, the sender where it has no name,
    and its ids, of each that is recorded.
    """

    def __init__(
        self,
        conversation: Conversation,
        arrivals: Arrivals,
        private: PrivateChats,
        forgetting: Forgetting,
        sits: Callable[[str, str], None],
        heard: Callable[[str, InboundMessage, str, Ids], None],
    ) -> None:
        self._conversation: Conversation = conversation
        self._arrivals: Arrivals = arrivals
        self._private: PrivateChats = private
        self._forgetting: Forgetting = forgetting
        self._delivered: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._sits: Callable[[str, str], None] = sits
        self._heard: Callable[[str, InboundMessage, str, Ids], None] = heard

    def parse(self, data: Any) -> Message | None:
        """The message in what the SDK hands over."""
        try:
            return message_from_event(plain(data))
        except Exception:
            logger.exception("An event could not be read")
            return None

    def take(self, message: Message, observer: str, data: Any = None) -> Heard:
        """Record one message that the bot ``observer`` received, if its chat is a group that is recorded. The event
        ``data`` carries from now on what was made of it.
        """
        heard = self._take(message, observer)
        if data is not None:
            setattr(data, _HEARD, heard)
        return heard

    def _take(self, message: Message, observer: str) -> Heard:
        if not message.in_group:
            if message.chat_type:
                self._private.remember(message.chat_id)
            return Heard(message)
        self._private.remember_group(message.chat_id)
        if not self._conversation.policy.records(message.chat_id):
            return Heard(message)
        inbound = self._conversation.reader.read(message.arrival(observer))
        self._sits(observer, inbound.session_key)
        inbound, failure = self._arrivals.record(inbound)
        nameless = "" if message.from_bot or inbound.entry.get("sender_name") else inbound.entry["sender"]
        self._heard(observer, inbound, nameless, message.sender_ids)
        answers, unasked = self._arrivals.offer(inbound)
        failure = failure or unasked
        handled = (observer, message.message_id)
        again = handled in self._delivered
        if failure is not None and not answers:
            self._remember(handled)  # the agent has it now; the push to come is for the record alone
        return Heard(message, inbound, not (message.from_bot or again or answers), failure, answers)

    def apply(self, kind: str, data: Any) -> None:
        """Record what became of an earlier message, as an event of ``CHANGES`` tells it. Raises StoreError, so that the
        platform tells it again. Of a private chat there is no record to change.
        """
        change = CHANGES[kind](plain(data))
        if change is None:
            return
        failure = self._arrivals.apply(change)
        if failure is not None:
            raise failure
        if isinstance(change, Recalled):
            self._conversation.background.submit(self._forgetting.recalled, change.message_id)

    def _remember(self, handled: tuple[str, str]) -> None:
        self._delivered[handled] = None
        while len(self._delivered) > _REMEMBERED:
            self._delivered.popitem(last=False)


def plain(value: Any, depth: int = 0) -> Any:
    """Dictionaries, lists and scalars from whatever attributes, items and lists ``value`` is made of."""
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
