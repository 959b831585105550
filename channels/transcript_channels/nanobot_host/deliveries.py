"""What the platform confirmed, and which of the agent's messages it belongs to.

nanobot sends in worker threads and throws most message ids away. So each message goes out under an *address*: the
chat id or message id it is sent to, as a string that remembers the message it carries. The address travels through
nanobot and the SDK's request unchanged, and what comes back is noted where it belongs, however many messages are on
their way at the same time.
"""

import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["Address", "Deliveries", "Delivery", "Outgoing"]

logger = logging.getLogger(__name__)

_OPEN_CARDS: Final = 1024


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message the platform confirmed; ``content`` is the JSON that was sent."""

    message_id: str
    chat_id: str
    msg_type: str
    content: str
    create_time: int | float | str | None = None
    root_id: str | None = None
    thread_id: str | None = None


@dataclass(slots=True, eq=False)
class Outgoing:
    """One message of the agent on its way: its text so far, and what of it arrived.

    A streamed message is a card whose content is put in place again and again; ``shown`` is what was confirmed last
    and ``updates`` how often that was. ``refused``: it must not go out.
    """

    chat_id: str
    text: str = ""
    trigger: str | None = None
    delivered: list[Delivery] = field(default_factory=list)
    shown: str = ""
    updates: int = 0
    refused: bool = False


class Address(str):
    """An id that knows what is being sent to it. Copies of a request carry the plain id."""

    __slots__ = ("outgoing",)
    outgoing: Outgoing

    def __new__(cls, value: str, outgoing: Outgoing) -> "Address":
        address = super().__new__(cls, value)
        address.outgoing = outgoing
        return address

    def __deepcopy__(self, memo: Any) -> str:
        return str(self)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return (str, (str(self),))


class Deliveries:
    """Listens to an SDK client: messages created, replies, card updates, and the bot's own description."""

    def __init__(self, on_bot_info: Callable[[dict[str, Any]], None]) -> None:
        self._on_bot_info: Callable[[dict[str, Any]], None] = on_bot_info
        self._cards: OrderedDict[str, Outgoing] = OrderedDict()
        self._mutex: threading.Lock = threading.Lock()

    def listen(self, client: Any) -> None:
        """Wrap the calls of one client. What a call returns or raises stays as it is."""
        messages, elements = client.im.v1.message, client.cardkit.v1.card_element
        _wrap(messages, "create", self._created)
        _wrap(messages, "reply", self._replied)
        _wrap(elements, "content", self._updated)
        _wrap(client, "request", self._requested)

    def _created(self, request: Any, response: Any) -> None:
        body = request.request_body
        self._note(body.receive_id, body, response)

    def _replied(self, request: Any, response: Any) -> None:
        self._note(request.message_id, request.request_body, response)

    def _note(self, address: Any, body: Any, response: Any) -> None:
        if not isinstance(address, Address) or not response.success():
            return
        data = response.data
        message_id = getattr(data, "message_id", None)
        if not message_id:
            logger.error("The platform confirmed a message without an id; it is not recorded")
            return
        outgoing, content = address.outgoing, body.content or ""
        outgoing.delivered.append(
            Delivery(
                message_id,
                getattr(data, "chat_id", None) or outgoing.chat_id,
                body.msg_type or "",
                content,
                getattr(data, "create_time", None),
                getattr(data, "root_id", None),
                getattr(data, "thread_id", None),
            )
        )
        card_id = _card_id(content) if body.msg_type == "interactive" else None
        if card_id:
            self._remember(card_id, outgoing)

    def _updated(self, request: Any, response: Any) -> None:
        outgoing = self._cards.get(request.card_id)
        if outgoing is not None and response.success():
            outgoing.shown = request.request_body.content or ""
            outgoing.updates += 1

    def _requested(self, request: Any, response: Any) -> None:
        if not str(getattr(request, "uri", "")).endswith("/bot/v3/info") or not response.success():
            return
        answer = json.loads(response.raw.content)
        inner = answer.get("data")
        bot = answer.get("bot") or (inner.get("bot") if isinstance(inner, dict) else None)
        if isinstance(bot, dict):
            self._on_bot_info(bot)

    def _remember(self, card_id: str, outgoing: Outgoing) -> None:
        with self._mutex:
            self._cards[card_id] = outgoing
            while len(self._cards) > _OPEN_CARDS:
                self._cards.popitem(last=False)


def _wrap(holder: Any, name: str, note: Callable[[Any, Any], None]) -> None:
    call = getattr(holder, name)

    def noted(request: Any, *args: Any, **options: Any) -> Any:
        response = call(request, *args, **options)
        try:
            note(request, response)
        except Exception:
            logger.exception("What the platform answered to %s could not be read", name)
        return response

    setattr(holder, name, noted)


def _card_id(content: str) -> str | None:
    """The id in ``{"type": "card", "data": {"card_id": …}}``; None for a card that is sent as a whole."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return None
    data = body.get("data") if isinstance(body, dict) and body.get("type") == "card" else None
    card_id = data.get("card_id") if isinstance(data, dict) else None
    return card_id if isinstance(card_id, str) else None
