"""The platform itself: a server with rooms, people and bots. It imports nothing of the product."""

import asyncio
import itertools
import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Self

__all__ = ["LineServer", "Member", "Room", "Said"]

_LONGEST_LINE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Member:
    """A person, or with a ``token`` a bot."""

    number: str
    name: str
    token: str = ""

    @property
    def at(self) -> str:
        """How a text mentions this member."""
        return f"<@{self.number}>"


@dataclass(frozen=True, slots=True)
class Said:
    """A message in a room."""

    id: str
    sender: Member
    text: str
    reply_to: str | None
    at: float


@dataclass(eq=False)
class Room:
    """A room; its messages are counted from 1."""

    number: str
    title: str
    members: list[Member] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    keys: dict[str, Said] = field(default_factory=dict)


class LineServer:
    """``async with LineServer() as server``: listens on a port of loopback.

    What a bot has not confirmed is told again when it comes back; what is said while it is away it never hears.
    """

    def __init__(self) -> None:
        self.rooms: dict[str, Room] = {}
        self.connections: int = 0
        """How often a bot was let in."""
        self._numbers = itertools.count(1001)
        self._bots: dict[str, Member] = {}
        self._lines: dict[str, asyncio.StreamWriter] = {}
        self._unconfirmed: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_LONGEST_LINE)
        self.address: str = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()
        for line in self._lines.values():
            line.close()
        await asyncio.sleep(0)

    # --- what people do

    def add_room(self, title: str, *members: Member) -> Room:
        """A new room."""
        room = Room(str(next(self._numbers)), title, list(members))
        self.rooms[room.number] = room
        return room

    def add_person(self, name: str) -> Member:
        """Somebody who types."""
        return Member(str(next(self._numbers)), name)

    def add_bot(self, name: str) -> Member:
        """A bot; its token is what it logs in with."""
        number = str(next(self._numbers))
        bot = self._bots[f"token-{number}"] = Member(number, name, f"token-{number}")
        return bot

    async def join(self, room: Room, member: Member) -> None:
        """Somebody comes into a room; its bots are told who is there now."""
        room.members.append(member)
        for bot in room.members:
            if bot.token and bot.number in self._lines:
                await self._tell(bot, {"room": room.number, **_described(room)})

    async def say(self, room: Room, sender: Member, text: str, reply_to: Said | None = None) -> Said:
        """A person says something; the bots of the room hear it."""
        said = _add(room, sender, text, reply_to.id if reply_to else None)
        document = _push(room, said)
        for bot in room.members:
            if bot.token and bot.number in self._lines:
                self._unconfirmed.setdefault(bot.number, {})[room.number, said.id] = document
                await self._tell(bot, document)
        return said

    def drop(self, bot: Member) -> None:
        """Cut the line to a bot."""
        self._lines.pop(bot.number).close()

    def unconfirm(self, bot: Member, room: Room, said: Said) -> None:
        """Forget that a bot has confirmed a message: it is told again when the bot comes back."""
        self._unconfirmed[bot.number][room.number, said.id] = _push(room, said)

    def has_confirmed(self, bot: Member) -> bool:
        """True when a bot has confirmed all that it was told."""
        return not self._unconfirmed.get(bot.number)

    # --- what bots do

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError):
            bot = self._bots.get(json.loads(await reader.readline()).get("hello", ""))
            if bot is None:
                await _write(writer, {"refused": "nobody has this token"})
            else:
                await self._serve_bot(bot, reader, writer)
        writer.close()

    async def _serve_bot(self, bot: Member, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        rooms = {room.number: _described(room) for room in self.rooms.values() if bot in room.members}
        await _write(writer, {"you": bot.number, "name": bot.name, "rooms": rooms})
        self._lines[bot.number] = writer
        self.connections += 1
        for document in list(self._unconfirmed.get(bot.number, {}).values()):
            await _write(writer, document)
        try:
            while line := await reader.readline():
                await self._heard(bot, json.loads(line), writer)
        finally:
            if self._lines.get(bot.number) is writer:
                del self._lines[bot.number]

    async def _heard(self, bot: Member, told: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if "got" in told:
            self._unconfirmed.get(bot.number, {}).pop((told["room"], told["got"]), None)
            return
        say, room = told["say"], self.rooms.get(told["say"]["room"])
        if room is None or bot not in room.members:
            await _write(writer, {"answer": told["ask"], "refused": "you are not in this room"})
            return
        said = room.keys.get(say["key"]) if say["key"] else None
        if said is None:
            said = _add(room, bot, say["text"], say.get("reply_to"))
            room.keys[say["key"]] = said
        await _write(writer, {"answer": told["ask"], "id": said.id, "at": said.at})

    async def _tell(self, bot: Member, document: dict[str, Any]) -> None:
        with suppress(OSError):
            await _write(self._lines[bot.number], document)

    # --- what tests look at

    def by(self, room: Room, member: Member, which: Callable[[Said], bool] = lambda said: True) -> list[Said]:
        """What somebody said in a room."""
        return [said for said in room.said if said.sender == member and which(said)]


def _add(room: Room, sender: Member, text: str, reply_to: str | None) -> Said:
    said = Said(str(len(room.said) + 1), sender, text, reply_to, time.time())
    room.said.append(said)
    return said


def _described(room: Room) -> dict[str, Any]:
    return {"title": room.title, "members": {member.number: member.name for member in room.members}}


def _push(room: Room, said: Said) -> dict[str, Any]:
    shown = {"id": said.id, "text": said.text, "at": said.at, "reply_to": said.reply_to}
    return {"said": {"room": room.number, "from": said.sender.number, **shown}}


async def _write(writer: asyncio.StreamWriter, document: dict[str, Any]) -> None:
    writer.write(json.dumps(document).encode() + b"\n")
    await writer.drain()
