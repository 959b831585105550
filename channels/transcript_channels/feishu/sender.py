"""Sends, replies, edits and recalls as one app, and streams a card whose text grows as it is written.

Every message carries a ``uuid``, so that none is sent twice. The streamed card is CardKit's:
https://open.feishu.cn/document/cardkit-v1/streaming-updates-openapi-overview
"""

import asyncio
import hashlib
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, TypeVar, cast

from nanobot_transcript.entry import well_formed
from nanobot_transcript.errors import MessageGoneError, PlatformError, RequestRefusedError, UnexpectedAnswerError
from transcript_channels.feishu.addresses import MESSAGES, message_path
from transcript_channels.feishu.bodies import (
    CARD_BYTES,
    At,
    card_content,
    plain,
    post_contents,
    split_markdown,
    text_contents,
)
from transcript_channels.feishu.client import FeishuClient
from transcript_channels.feishu.fields import milliseconds, string
from transcript_channels.feishu.retries import Patience

__all__ = ["CardStream", "FeishuSender", "Sent", "uuid_for"]

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

_NEEDS: Final = ("im:message:send_as_bot", "im:message")
_LONG: Final = 20_000  # characters from which a text is cut into parts in a thread
_RECEIVERS: Final = {"oc_": "chat_id", "ou_": "open_id", "on_": "union_id"}
_CARDS: Final = "/open-apis/cardkit/v1/cards"
_CARD_NEEDS: Final = ("cardkit:card:write",)
_ELEMENT: Final = "answer"
_ROOM: Final = CARD_BYTES - 3072  # the rest is for the card around the text
_INTERVAL: Final = 0.4  # seconds between two updates
_OVERTAKEN: Final = 300317  # the sequence number is not higher than the last one
_HURRIED: Final = Patience(timeout=5.0, attempts=1, waiting=0.0)


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that the platform has accepted: its id, its time in milliseconds since 1970, and where it stands.

    ``content`` is the JSON that was sent.
    """

    message_id: str
    chat_id: str
    ts_ms: float | None = None
    thread_id: str | None = None
    root_id: str | None = None
    parent_id: str | None = None
    content: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class _Place:
    chat_id: str
    reply_to: str | None
    in_thread: bool
    key: str


class FeishuSender:
    """Sends as the app of ``client``.

    ``key`` makes a message unmistakable: sent again with the same key within an hour, also after a crash, it comes once
    and the same ids are returned. Of a message in several parts, those that are there are not sent again. Without a key
    only the client's own repetitions are safe. ``reply_to`` is a message id; when that message is gone, the answer goes
    into the chat. ``chat_id`` may also be a person's open or union id. All calls raise PlatformError kinds; ``arrived``
    of the error lists the parts (``Sent``) that are there nevertheless.
    """

    def __init__(self, client: FeishuClient) -> None:
        self.client: FeishuClient = client

    async def text(
        self,
        chat_id: str,
        text: str,
        *,
        mentions: Iterable[At] = (),
        reply_to: str | None = None,
        in_thread: bool = False,
        key: str | None = None,
    ) -> list[Sent]:
        """Send a text, in parts when it is long. ``@Name`` of a given member mentions them; the others come first."""
        _check(text)
        place = _Place(chat_id, reply_to, in_thread, key or secrets.token_hex(8))
        return await self._parts(place, "text", await _made(text, text_contents, mentions))

    async def post(
        self,
        chat_id: str,
        text: str,
        *,
        title: str = "",
        mentions: Iterable[At] = (),
        reply_to: str | None = None,
        in_thread: bool = False,
        key: str | None = None,
    ) -> list[Sent]:
        """Send Markdown as a post, in parts when it is long. Mentions as in ``text``; they reach bots, too."""
        _check(text)
        place = _Place(chat_id, reply_to, in_thread, key or secrets.token_hex(8))
        return await self._parts(place, "post", await _made(text, post_contents, mentions, title))

    async def card(
        self,
        chat_id: str,
        card: Mapping[str, Any],
        *,
        reply_to: str | None = None,
        in_thread: bool = False,
        key: str | None = None,
    ) -> Sent:
        """Send a card; raises RequestRefusedError when it is larger than 30 KB."""
        content = card_content(card)
        _check_card(content)
        place = _Place(chat_id, reply_to, in_thread, key or secrets.token_hex(8))
        return (await self._parts(place, "interactive", [content]))[0]

    async def stream(
        self,
        chat_id: str,
        *,
        title: str = "",
        reply_to: str | None = None,
        in_thread: bool = False,
        key: str | None = None,
    ) -> "CardStream[Sent]":
        """Send a card whose text is still being written; go on with ``update`` and ``finish`` of what is returned.

        Needs ``cardkit:card:write``.
        """
        key = key or secrets.token_hex(8)
        stream: CardStream[Sent] = CardStream(self.client, title)
        content = await stream.open()
        place = _Place(chat_id, reply_to, in_thread, key)

        async def rest(text: str) -> list[Sent]:
            return await self.post(chat_id, text, reply_to=reply_to, in_thread=in_thread, key=f"{key}/rest")

        stream.sent = await self._parts(place, "interactive", [content])
        stream.send_rest = rest
        return stream

    async def edit(
        self, message_id: str, text: str, *, mentions: Iterable[At] = (), post: bool = False, title: str = ""
    ) -> None:
        """Replace the text of one's own message (``post``: of a post), at most 20 times; too long a text is refused."""
        _check(text)
        made = _made(text, post_contents, mentions, title) if post else _made(text, text_contents, mentions)
        contents = await made
        if len(contents) > 1:
            raise RequestRefusedError(
                "The new text is too long for one message.", hint="Send the rest as another message."
            )
        body = {"msg_type": "post" if post else "text", "content": contents[0]}
        await self.client.call("PUT", message_path(message_id), body=body, needs=_NEEDS)

    async def revise(self, message_id: str, card: Mapping[str, Any]) -> None:
        """Replace one's own card, within 14 days; mentions in the new one notify nobody."""
        content = card_content(card)
        _check_card(content)
        await self.client.call("PATCH", message_path(message_id), body={"content": content}, needs=_NEEDS)

    async def recall(self, message_id: str) -> bool:
        """Take one's own message back; False when it was gone already."""
        try:
            await self.client.call("DELETE", message_path(message_id), needs=_NEEDS)
        except MessageGoneError:
            return False
        return True

    async def _parts(self, place: _Place, msg_type: str, contents: list[str]) -> list[Sent]:
        sent: list[Sent] = []
        for number, content in enumerate(contents):
            uuid = uuid_for(self.client.app_id, place.key, number)
            body = {"msg_type": msg_type, "content": content, "uuid": uuid}
            try:
                sent.append(replace(await self._put(place, body), content=content))
            except PlatformError as error:
                error.arrived = sent
                raise
        return sent

    async def _put(self, place: _Place, body: dict[str, Any]) -> Sent:
        if place.reply_to:
            path = f"{message_path(place.reply_to)}/reply"
            reply = {**body, "reply_in_thread": place.in_thread}
            try:
                return _sent(await self._send(path, reply, place.chat_id), place.chat_id)
            except MessageGoneError as error:
                logger.info("The message to reply to is gone; the answer goes into the chat: %s", error)
        kind = _RECEIVERS.get(place.chat_id[:3], "user_id")
        message = {**body, "receive_id": place.chat_id}
        return _sent(await self._send(MESSAGES, message, place.chat_id, {"receive_id_type": kind}), place.chat_id)

    async def _send(
        self, path: str, body: dict[str, Any], chat_id: str, query: dict[str, str] | None = None
    ) -> dict[str, Any]:
        # repeatable although it is a POST: the platform drops a second message with the same uuid
        return await self.client.call("POST", path, query=query, body=body, chat=chat_id, repeatable=True, needs=_NEEDS)


class CardStream(Generic[_T]):
    """One streamed card. ``sent``: the messages it consists of, the card first.

    Made by ``FeishuSender.stream``. ``update`` never raises what the platform refuses: the next one or ``finish`` shows
    the whole text anyway.
    """

    def __init__(self, client: FeishuClient, title: str = "", *, clock: Callable[[], float] = time.monotonic) -> None:
        self.sent: list[_T] = []
        self.send_rest: Callable[[str], Awaitable[list[_T]]] | None = None
        self._client: FeishuClient = client
        self._hurried: FeishuClient = client.patient(_HURRIED)
        self._title: str = well_formed(title)[:200]
        self._clock: Callable[[], float] = clock
        self._card_id: str = ""
        self._sequence: int = 0
        self._shown: str = ""
        self._due: float = 0.0

    async def open(self) -> str:
        """Make the card; returns the content of the message that shows it."""
        body = {"type": "card_json", "data": card_content(self._card("", streaming=True))}
        answer = await self._client.call("POST", _CARDS, body=body, repeatable=True, needs=_CARD_NEEDS)
        card_id = answer.get("card_id")
        if not isinstance(card_id, str) or not card_id:
            raise UnexpectedAnswerError(
                "Feishu created a card but gave it no id.", hint="Check the address of the API."
            )
        self._card_id = card_id
        return card_content({"type": "card", "data": {"card_id": card_id}})

    async def update(self, text: str) -> bool:
        """Show the text so far, at most every 0.4 s; False when nothing was sent."""
        now = self._clock()
        if now < self._due:
            return False
        shown = split_markdown(plain(text[: 2 * _ROOM]), _ROOM)[0]
        if not shown.strip() or shown == self._shown:
            return False
        self._due = now + _INTERVAL
        try:
            await self._show(self._hurried, shown)
        except PlatformError as error:
            logger.info("A streamed card was not updated, the next one shows it all: %s", error)
            return False
        return True

    async def finish(self, text: str) -> list[_T]:
        """Show the whole text and end the streaming; what does not fit into a card follows in further messages.

        Returns all messages. Raises PlatformError kinds; calling it again is safe.
        """
        first, *rest = await asyncio.to_thread(split_markdown, plain(text) or "…", _ROOM)
        await self._replace(first)
        if rest and self.send_rest is not None:
            await self._go_on(self.send_rest, "\n\n".join(rest))
        return self.sent

    async def _go_on(self, send_rest: Callable[[str], Awaitable[list[_T]]], text: str) -> None:
        try:
            self.sent += await send_rest(text)
        except PlatformError as error:  # what is there belongs to the message, whatever becomes of it
            self.sent += cast("list[_T]", error.arrived or [])
            raise

    async def _show(self, client: FeishuClient, text: str) -> None:
        path = f"{_CARDS}/{self._card_id}/elements/{_ELEMENT}/content"
        await client.call("PUT", path, body={"content": text, "sequence": self._next()}, needs=_CARD_NEEDS)
        self._shown = text

    async def _replace(self, text: str) -> None:
        """The whole card at once, with streaming off: works also when the platform has ended the streaming itself."""
        card = {"type": "card_json", "data": card_content(self._card(text, streaming=False))}
        await self._put("PUT", f"{_CARDS}/{self._card_id}", {"card": card})
        settings = {"settings": card_content({"config": {"streaming_mode": False}})}
        try:
            await self._put("PATCH", f"{_CARDS}/{self._card_id}/settings", settings)
        except PlatformError as error:
            logger.info("The streaming of a finished card was not switched off: %s", error)

    async def _put(self, method: str, path: str, body: dict[str, Any]) -> None:
        try:
            await self._client.call(method, path, body={**body, "sequence": self._next()}, needs=_CARD_NEEDS)
        except PlatformError as error:
            if error.platform_code != _OVERTAKEN:
                raise
            # A retried request may have arrived twice; then the second one is refused. Send it again with a new number.
            await self._client.call(method, path, body={**body, "sequence": self._next()}, needs=_CARD_NEEDS)

    def _next(self) -> int:
        self._sequence += 1
        return self._sequence

    def _card(self, text: str, *, streaming: bool) -> dict[str, Any]:
        card: dict[str, Any] = {
            "schema": "2.0",
            "config": {"streaming_mode": streaming, "update_multi": True},
            "body": {"elements": [{"tag": "markdown", "element_id": _ELEMENT, "content": text}]},
        }
        if self._title:
            card["header"] = {"title": {"tag": "plain_text", "content": self._title}}
        return card


def uuid_for(app_id: str, key: str, part: int = 0) -> str:
    """The ``uuid`` of a message: the same for the same arguments in every process, 43 characters."""
    return "nt-" + hashlib.sha256(f"{app_id}\0{key}\0{part}".encode("utf-8", "replace")).hexdigest()[:40]


async def _made(text: str, make: Callable[..., list[str]], *details: Any) -> list[str]:
    """The contents for a text; a long one is cut into parts in a thread, off the event loop."""
    if len(text) <= _LONG:
        return make(text, *details)
    return await asyncio.to_thread(make, text, *details)


def _check(text: str) -> None:
    if not text.strip():
        raise RequestRefusedError("There is nothing to send.", hint="Give some text.")


def _check_card(content: str) -> None:
    if len(content.encode()) > CARD_BYTES:
        raise RequestRefusedError("The card is larger than 30 KB.", hint="Send the rest as further messages.")


def _sent(answer: Mapping[str, Any], chat_id: str) -> Sent:
    message_id = string(answer, "message_id")
    if not message_id:
        raise UnexpectedAnswerError(
            "Feishu accepted the message but gave it no id.", hint="Check the address of the API."
        )
    return Sent(
        message_id,
        string(answer, "chat_id") or chat_id,
        milliseconds(answer.get("create_time")),
        string(answer, "thread_id") or None,
        string(answer, "root_id") or None,
        string(answer, "parent_id") or None,
    )
