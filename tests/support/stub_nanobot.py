"""The least of nanobot's Feishu channel and of the SDK's client that the plugin's parts need."""

import dataclasses
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FakeClient", "Outbound", "StubChannel", "group_event", "recall_event", "sdk_object"]


def sdk_object(value: Any) -> Any:
    """Dictionaries as objects with attributes, as the SDK makes them."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: sdk_object(item) for key, item in value.items()})
    return [sdk_object(item) for item in value] if isinstance(value, list) else value


def group_event(
    message_id: str,
    text: str = "hello",
    *,
    person: str = "ada",
    chat_id: str = "oc_1",
    chat_type: str = "group",
    sender_type: str = "user",
    app_id: str = "cli_a",
    mentions: list[dict[str, Any]] | None = None,
    create_time: int = 1763640000000,
    **message: Any,
) -> dict[str, Any]:
    """An ``im.message.receive_v1`` event as ``app_id`` receives it; open ids differ by app."""
    ids = {"union_id": f"on_{person}", "open_id": f"ou_{person}@{app_id}"}
    body = {
        "message_id": message_id,
        "chat_id": chat_id,
        "chat_type": chat_type,
        "message_type": "text",
        "content": json.dumps({"text": text}),
        "create_time": str(create_time),
        "mentions": mentions or [],
        "root_id": None,
        **message,
    }
    sender = {"sender_id": ids, "sender_type": sender_type}
    return {"header": {"app_id": app_id}, "event": {"sender": sender, "message": body}}


def recall_event(message_id: str, chat_id: str = "oc_1") -> dict[str, Any]:
    """An ``im.message.recalled_v1`` event."""
    return {"header": {}, "event": {"chat_id": chat_id, "message_id": message_id, "recall_time": "1763640001000"}}


@dataclasses.dataclass
class Outbound:
    """nanobot's ``OutboundMessage``."""

    chat_id: str
    content: str = ""
    metadata: dict[str, Any] = dataclasses.field(default_factory=dict)
    event: Any = None


class FakeClient:
    """The SDK's client: ``sent`` holds what arrived; ``refuse`` decides what the platform refuses; ``silent`` is how
    often it will not say who the bot is.
    """

    def __init__(self) -> None:
        self.sent: list[SimpleNamespace] = []
        self.refuse: Callable[[str], bool] = lambda content: False
        self.before_answer: Callable[[], None] = lambda: None
        self.chat_of_reply: str | None = None
        message = SimpleNamespace(create=self._create, reply=self._reply)
        self.im = SimpleNamespace(v1=SimpleNamespace(message=message))
        self.cardkit = SimpleNamespace(v1=SimpleNamespace(card_element=SimpleNamespace(content=self._update)))
        self.bot = {"app_name": "Alpha", "open_id": "ou_self"}
        self.silent = 0

    def request(self, request: Any) -> Any:
        if self.silent > 0:
            self.silent -= 1
            return SimpleNamespace(success=lambda: False)
        raw = SimpleNamespace(content=json.dumps({"code": 0, "bot": self.bot}).encode())
        return SimpleNamespace(success=lambda: True, raw=raw)

    def _create(self, request: Any) -> Any:
        return self._answer(str(request.request_body.receive_id), request.request_body)

    def _reply(self, request: Any) -> Any:
        return self._answer(self.chat_of_reply or "oc_1", request.request_body)

    def _update(self, request: Any) -> Any:
        refused = self.refuse(request.request_body.content)
        return SimpleNamespace(success=lambda: not refused)

    def _answer(self, chat_id: str, body: Any) -> Any:
        self.before_answer()
        if self.refuse(body.content):
            return SimpleNamespace(success=lambda: False, data=None)
        number = len(self.sent) + 1
        data = SimpleNamespace(message_id=f"om_out_{number}", chat_id=chat_id, create_time=str(1763640100000 + number))
        self.sent.append(SimpleNamespace(chat_id=chat_id, content=body.content))
        return SimpleNamespace(success=lambda: True, data=data)


class StubChannel:
    """nanobot's channel, as far as the plugin overrides or uses it. ``handled`` holds what reached the agent."""

    name = "feishu"

    def __init__(self, config: Any, bus: Any = None) -> None:
        defaults = {"app_id": "cli_a", "name": "nanobot", "instance_id": "default", "topic_isolation": True}
        self.config = SimpleNamespace(**{**defaults, **config})
        self._client: Any = None
        self.received: list[Any] = []
        self.handled: list[dict[str, Any]] = []
        self.registered: list[tuple[str, Any]] = []
        self._bufs: dict[str, SimpleNamespace] = {}
        self._cards = 0

    def _on_message_sync(self, data: Any) -> None:
        self.received.append(data)

    async def _on_message(self, data: Any) -> None:
        message = data.event.message
        if not self._is_group_message_for_bot(message):
            return
        await self._handle_message(
            sender_id="x",
            chat_id=message.chat_id,
            content="x",
            metadata={"message_id": message.message_id},
            session_key=f"feishu:{message.chat_id}:{message.root_id or message.message_id}",
        )

    async def _handle_message(self, **options: Any) -> None:
        self.handled.append(options)

    def is_allowed(self, sender_id: str) -> bool:
        return not sender_id.startswith("ou_mallory")

    def _is_group_message_for_bot(self, message: Any) -> bool:
        return "Alpha" in message.content

    @staticmethod
    def _register_optional_event(builder: Any, method_name: str, handler: Any) -> Any:
        builder.append((method_name, handler))
        return builder

    def _fetch_bot_open_id(self) -> str | None:
        response = self._client.request(SimpleNamespace(uri="/open-apis/bot/v3/info"))
        return "ou_self" if response.success() else None

    @staticmethod
    def _stream_key(chat_id: str, metadata: dict[str, Any] | None = None) -> str:
        return (metadata or {}).get("message_id") or chat_id

    async def send(self, msg: Any) -> None:
        if msg.event is not None:
            return await self.send_delta(msg.chat_id, f"[hint {msg.content}]", msg.metadata)
        for part in msg.content.split("|"):
            kind = "image" if part == "<image>" else "text"
            content = json.dumps({"image_key": "k"} if kind == "image" else {"text": part})
            if not self._deliver(msg.chat_id, msg.metadata.get("message_id"), kind, content):
                raise RuntimeError("not delivered")
        return None

    async def send_delta(
        self,
        chat_id: str,
        delta: str,
        metadata: dict[str, Any] | None = None,
        *,
        stream_id: str | None = None,
        stream_end: bool = False,
        resuming: bool = False,
        merge_next: bool = False,
    ) -> None:
        key, trigger = self._stream_key(chat_id, metadata), (metadata or {}).get("message_id")
        if stream_end and not merge_next:
            buffer = self._bufs.pop(key, None)
            if buffer is None:
                return
            if not (buffer.card and self._put(buffer.card, buffer.text)):
                self._deliver(chat_id, trigger, "text", json.dumps({"text": buffer.text}))
            return
        buffer = self._bufs.setdefault(key, SimpleNamespace(text="", card=None))
        buffer.text += delta
        if buffer.card is None and buffer.text.strip():
            self._cards += 1
            card = f"card_{self._cards}"
            content = json.dumps({"type": "card", "data": {"card_id": card}})
            if self._deliver(chat_id, trigger, "interactive", content):
                buffer.card = card if self._put(card, buffer.text) else None

    def _deliver(self, chat_id: str, trigger: str | None, kind: str, content: str) -> bool:
        body = SimpleNamespace(receive_id=chat_id, msg_type=kind, content=content)
        message = self._client.im.v1.message
        if trigger:
            return message.reply(SimpleNamespace(message_id=trigger, request_body=body)).success()
        return message.create(SimpleNamespace(request_body=body)).success()

    def _put(self, card: str, text: str) -> bool:
        request = SimpleNamespace(card_id=card, request_body=SimpleNamespace(content=text))
        return self._client.cardkit.v1.card_element.content(request).success()
