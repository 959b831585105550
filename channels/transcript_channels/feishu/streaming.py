"""A card whose text grows while it is being written: CardKit's streaming.

https://open.feishu.cn/document/cardkit-v1/streaming-updates-openapi-overview
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, Generic, TypeVar, cast

from nanobot_transcript.entry import well_formed
from nanobot_transcript.errors import PlatformError, UnexpectedAnswerError
from transcript_channels.feishu.answers import Patience
from transcript_channels.feishu.bodies import CARD_BYTES, card_content, plain, split_markdown
from transcript_channels.feishu.client import FeishuClient

__all__ = ["CardStream"]

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

_PATH: Final = "/open-apis/cardkit/v1/cards"
_NEEDS: Final = ("cardkit:card:write",)
_ELEMENT: Final = "answer"
_ROOM: Final = CARD_BYTES - 3072
_INTERVAL: Final = 0.4
_OVERTAKEN: Final = 300317
_HURRIED: Final = Patience(timeout=5.0, attempts=1, waiting=0.0)


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
        answer = await self._client.call("POST", _PATH, body=body, repeatable=True, needs=_NEEDS)
        card_id = answer.get("card_id")
        if not isinstance(card_id, str) or not card_id:
            raise UnexpectedAnswerError("Feishu made a card and gave it no id.", hint="Look at the API's address.")
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
        path = f"{_PATH}/{self._card_id}/elements/{_ELEMENT}/content"
        await client.call("PUT", path, body={"content": text, "sequence": self._next()}, needs=_NEEDS)
        self._shown = text

    async def _replace(self, text: str) -> None:
        """The whole card at once, with streaming off: works also when the platform has ended the streaming itself."""
        card = {"type": "card_json", "data": card_content(self._card(text, streaming=False))}
        await self._put("PUT", f"{_PATH}/{self._card_id}", {"card": card})
        settings = {"settings": card_content({"config": {"streaming_mode": False}})}
        try:
            await self._put("PATCH", f"{_PATH}/{self._card_id}/settings", settings)
        except PlatformError as error:
            logger.info("The streaming of a finished card was not switched off: %s", error)

    async def _put(self, method: str, path: str, body: dict[str, Any]) -> None:
        try:
            await self._client.call(method, path, body={**body, "sequence": self._next()}, needs=_NEEDS)
        except PlatformError as error:
            if error.platform_code != _OVERTAKEN:
                raise
            # a request that was repeated may have overtaken itself: do it once more under a number of its own
            await self._client.call(method, path, body={**body, "sequence": self._next()}, needs=_NEEDS)

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
