"""Bodies of calls on their way in: each as large as it may be, and all together no more than memory bears."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from transcript_mcp.assistant.refusals import RefusedError
from transcript_mcp.assistant.sizes import SMALL
from transcript_mcp.door.bodies import body_pieces

__all__ = ["Arriving"]

_MOST_ARRIVING: Final = 4
"""Bodies of the largest size that are taken in at the same time."""


class Arriving:
    """Takes bodies in, and knows how many bytes of them there are; small ones find their way whatever arrives."""

    def __init__(self) -> None:
        self._bytes: Counter[int] = Counter()
        """Of those that are being taken in, by how much such a body may have."""

    @asynccontextmanager
    async def body(self, request: web.Request, most: int) -> AsyncIterator[bytes]:
        """The request's body, unpacked; it counts until the end of the ``with`` block. Raises RefusedError."""
        size, pieces = 0, list[bytes]()
        try:
            with _readable(request):
                self._check(request.content_length or 0, most)
                async for piece in body_pieces(request):
                    size += len(piece)
                    self._bytes[most] += len(piece)
                    self._check(size, most)
                    pieces.append(piece)
            yield b"".join(pieces)
        finally:
            self._bytes[most] -= size

    def _check(self, size: int, most: int) -> None:
        if size > most:
            raise RefusedError("resource_exhausted", f"A request may have at most {most} bytes.")
        if size > SMALL and self._bytes[most] > _MOST_ARRIVING * most:
            raise RefusedError("unavailable", "Too many requests are arriving; try again.")


@contextmanager
def _readable(request: web.Request) -> Iterator[None]:
    """What goes wrong while a body is read, in Connect's words. Raises RefusedError."""
    if request.headers.get("Content-Encoding", "identity").lower() not in ("identity", "gzip"):
        raise RefusedError("unimplemented", "Send the body plain or as gzip.")
    try:
        yield
    except TimeoutError as error:  # the hub bounds how long a body takes
        raise RefusedError("deadline_exceeded", "The request did not arrive in time.") from error
    except ConnectionError as error:
        raise RefusedError("canceled", "The caller has disconnected.") from error
    except (web.RequestPayloadError, HttpProcessingError) as error:
        raise RefusedError("invalid_argument", "The body cannot be decompressed.") from error
