"""One bot on the platform, as `run` needs it."""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import chain, repeat
from typing import Any, Final

from support.line_platform.platform import LINE
from support.line_platform.wire import Wire

from nanobot_transcript.conversation.connectors import Seat
from nanobot_transcript.conversation.ports import Arrival, MentionedMember
from nanobot_transcript.errors import NoAnswerError, RequestRefusedError, StoreError
from nanobot_transcript.runner import OutboundMessage, Publish, SentMessage
from nanobot_transcript.session_key import split

__all__ = ["LineChannel"]

logger = logging.getLogger(__name__)

_PAUSES: Final = (0.1, 0.5, 2.0)  # seconds
_MENTION: Final = re.compile(r"<@(\d+)>")


class LineChannel:
    """See ``Channel``."""

    def __init__(self, seat: Seat, host: str, port: int) -> None:
        self._seat: Seat = seat
        self._at: tuple[str, int] = (host, port)
        self._wire: Wire | None = None
        self._rooms: dict[str, dict[str, str]] = {}
        """By room, what everybody in it is called, by number."""
        self._listening: asyncio.Task[None] | None = None
        self._stopping: asyncio.Event = asyncio.Event()

    async def start(self, publish: Publish) -> None:
        """See ``Channel``. Waits for a server that cannot be reached."""
        wire = await self._opened()
        self._listening = asyncio.create_task(self._listen(wire, publish))

    async def stop(self) -> None:
        """See ``Channel``."""
        self._stopping.set()
        if self._listening is not None:
            self._listening.cancel()
            with suppress(asyncio.CancelledError):
                await self._listening
        if self._wire is not None:
            await self._wire.close()

    def sits_in(self, session_key: str) -> bool:
        """See ``Channel``."""
        platform, room = split(session_key)
        return platform == LINE.name and room in self._rooms

    # --- the connection

    async def _opened(self) -> Wire:
        for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
            try:
                wire = await Wire.open(*self._at, self._seat.secret("app_secret"))
            except NoAnswerError as error:
                if self._stopping.is_set():
                    raise
                logger.warning("%s tries again in %g s: %s", self._seat.profile.name, pause, error)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), pause)
            else:
                self._wire = wire
                await self._welcomed(wire.welcome)
                return wire
        raise AssertionError("the pauses have no end")

    async def _welcomed(self, welcome: Mapping[str, Any]) -> None:
        self._rooms = {room: told["members"] for room, told in welcome["rooms"].items()}
        await self._kept(self._seat.introduce, welcome["name"])
        for room, told in welcome["rooms"].items():
            await self._kept(self._seat.sits, LINE.key(room), told["title"])

    async def _kept(self, keep: Callable[..., None], *what: str) -> None:
        """Write down who is who, in a thread. Without it the bot works as well."""
        try:
            await asyncio.to_thread(keep, *what)
        except StoreError as error:
            logger.warning("%s could not be written down: %s %s", what, error, error.hint)

    async def _listen(self, wire: Wire, publish: Publish) -> None:
        async def take(told: dict[str, Any]) -> None:
            if "members" in told:
                self._rooms[told["room"]] = told["members"]
                await self._kept(self._seat.sits, LINE.key(told["room"]), told["title"])
            elif "said" in told:
                await self._publish(told["said"], publish)
                await wire.tell({"got": told["said"]["id"], "room": told["said"]["room"]})

        while True:
            try:
                await wire.listen(take)
            except (NoAnswerError, StoreError) as error:
                logger.warning("%s hangs up, so that the server tells it again: %s", self._seat.profile.name, error)
            await wire.close()
            wire = await self._opened()
            logger.info("%s is connected again", self._seat.profile.name)
            for room in self._rooms:
                self._seat.on_gap(LINE.key(room))

    # --- in

    async def _publish(self, said: Mapping[str, Any], publish: Publish) -> None:
        names = self._rooms.get(said["room"], {})
        arrival = Arrival(
            LINE.key(said["room"]),
            self._seat.account,
            said["id"],
            _MENTION.sub(lambda found: f"@{names.get(found[1], found[1])}", said["text"]),
            {"number": said["from"]},
            sender_name=names.get(said["from"], ""),
            ts_ms=said["at"] * 1000,
            mentions=tuple(
                MentionedMember(names.get(number, number), {"number": number})
                for number in dict.fromkeys(_MENTION.findall(said["text"]))
            ),
            reply_to=said.get("reply_to"),
        )
        await publish(self._seat.read(arrival))

    # --- out

    async def send(self, message: OutboundMessage) -> SentMessage:
        """See ``Channel``."""
        _, room = split(message.session_key)
        if not message.content:
            raise RequestRefusedError("This platform has no cards.", hint="Give the post a text, too.")
        if self._wire is None:
            raise NoAnswerError("The line to the server is cut.")
        said = {"room": room, "text": self._numbered(room, message.content), "key": message.idempotency_key}
        sent = await self._wire.ask({"say": said | ({"reply_to": message.reply_to} if message.reply_to else {})})
        return SentMessage(sent["id"], sent["at"] * 1000, ids={"app_id": self._seat.account})

    def _numbered(self, room: str, text: str) -> str:
        """The text with a mention for each ``@Name`` that only one member has."""
        names = list(self._rooms.get(room, {}).values())
        for number, name in self._rooms.get(room, {}).items():
            if names.count(name) == 1:
                text = re.sub(rf"@{re.escape(name)}(?!\w)", f"<@{number}>", text)
        return text
