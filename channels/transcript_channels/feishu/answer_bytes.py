"""The bytes of an answer: kept in memory for JSON, written into a file for what a message carries."""

import asyncio
from typing import BinaryIO, Final

import httpx

from nanobot_transcript.errors import TooLargeError

__all__ = ["Saving", "read_answer"]

_LARGEST_ANSWER: Final = 16 * 1024 * 1024
_PIECE: Final = 1024 * 1024


async def read_answer(response: httpx.Response) -> bytes:
    """The whole of an answer. Raises httpx.DecodingError beyond 16 MB."""
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > _LARGEST_ANSWER:
            raise httpx.DecodingError("the answer is too large")
        parts.append(part)
    return b"".join(parts)


class Saving:
    """Writes what an API gives out into ``file``, at most ``most`` bytes; a failure comes as JSON and is kept apart.

    Each answer begins the file anew, so that a call may be tried again.
    """

    def __init__(self, file: BinaryIO, most: int) -> None:
        self._file: BinaryIO = file
        self._most: int = most

    async def read(self, response: httpx.Response) -> bytes | None:
        """None for a file, else the answer. Raises TooLargeError, and OSError when it cannot be written."""
        if not _gives_file(response):
            return await read_answer(response)
        self._refuse_above(_announced(response))
        await asyncio.to_thread(self._begin)
        size = 0
        async for part in response.aiter_bytes(_PIECE):
            size += len(part)
            self._refuse_above(size)
            await asyncio.to_thread(self._file.write, part)  # a disk may be slow, and the event loop has other work
        return None

    def _begin(self) -> None:
        self._file.seek(0)
        self._file.truncate()

    def _refuse_above(self, size: int) -> None:
        if size > self._most:
            raise TooLargeError(
                f"The file has more than {self._most // (1024 * 1024)} MB.", hint="Ask for it in another way."
            )


def _gives_file(response: httpx.Response) -> bool:
    """JSON is a failure unless it has the name of a file: people also send each other JSON."""
    if not response.is_success:
        return False
    named = "content-disposition" in response.headers
    return named or not response.headers.get("content-type", "").lower().startswith("application/json")


def _announced(response: httpx.Response) -> int:
    length = response.headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdecimal() and len(length) < 20 else 0
