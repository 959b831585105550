"""The platform's connection: one JSON document on each line, questions numbered and answered in any order."""

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from nanobot_transcript.errors import CredentialsRefusedError, NoAnswerError, RequestRefusedError

__all__ = ["Wire"]

_LONGEST_LINE: Final = 1 << 20


class Wire:
    """``await Wire.open(host, port, token)``: a bot that is let in; ``welcome`` is what it is told then."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, welcome: dict[str, Any]) -> None:
        self.welcome: dict[str, Any] = welcome
        self._reader: asyncio.StreamReader = reader
        self._writer: asyncio.StreamWriter = writer
        self._numbers = itertools.count(1)
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}

    @classmethod
    async def open(cls, host: str, port: int, token: str) -> "Wire":
        """Connect. Raises NoAnswerError, and CredentialsRefusedError for a token that nobody has."""
        try:
            reader, writer = await asyncio.open_connection(host, port, limit=_LONGEST_LINE)
            await _write(writer, {"hello": token})
            welcome = json.loads(await reader.readline() or "{}")
        except OSError as error:
            raise NoAnswerError(f"The server at {host}:{port} cannot be reached.") from error
        except ValueError as error:  # half a line, or one without an end
            raise NoAnswerError(f"The server at {host}:{port} does not speak the protocol.") from error
        if "you" in welcome:
            return cls(reader, writer, welcome)
        writer.close()
        if "refused" in welcome:
            raise CredentialsRefusedError(f"The server refuses the bot: {welcome['refused']}.", hint="Check the token.")
        raise NoAnswerError("The server hung up.")

    async def listen(self, take: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
        """Hand over what is said, one after the other, until the line is cut. Raises NoAnswerError for what is no line
        of the protocol.
        """
        with suppress(OSError):
            while told := await self._told():
                if "answer" not in told:
                    await take(told)
                elif (asked := self._asked.get(told["answer"])) is not None and not asked.done():
                    asked.set_result(told)  # nobody may wait for it any more

    async def _told(self) -> dict[str, Any] | None:
        try:
            line = await self._reader.readline()
            return json.loads(line) if line else None
        except ValueError as error:
            raise NoAnswerError("The server does not speak the protocol.") from error

    async def tell(self, document: dict[str, Any]) -> None:
        """Say something that is not answered. Raises NoAnswerError."""
        try:
            await _write(self._writer, document)
        except OSError as error:
            raise NoAnswerError("The line to the server is cut.") from error

    async def ask(self, document: dict[str, Any]) -> dict[str, Any]:
        """Say something, and wait for the answer. Raises NoAnswerError, RequestRefusedError."""
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        try:
            await self.tell({**document, "ask": number})
            told = await answer
        finally:
            del self._asked[number]
        if "refused" in told:
            raise RequestRefusedError(f"The server refuses the message: {told['refused']}.")
        return told

    async def close(self) -> None:
        """Hang up; who waits for an answer gets none."""
        for asked in list(self._asked.values()):
            if not asked.done():
                asked.set_exception(NoAnswerError("The line to the server is cut."))
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


async def _write(writer: asyncio.StreamWriter, document: dict[str, Any]) -> None:
    writer.write(json.dumps(document).encode() + b"\n")
    await writer.drain()
