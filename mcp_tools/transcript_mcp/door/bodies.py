"""The bodies of HTTP requests: unpacked a little at a time, as a megabyte may hold a gigabyte, and bounded in time.

aiohttp unpacks on the event loop, also what nobody reads any more, and serves nobody else meanwhile. So the hub's own
server leaves bodies as they come (``auto_decompress=False``), and who reads one, reads it here. From a server that
unpacks, which may be when the hub is mounted in another application, bodies are taken as that server gives them.
"""

import asyncio
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from aiohttp import StreamReader, web

__all__ = [
    "READING",
    "BodyIntake",
    "BodyTooLargeError",
    "CrowdedError",
    "SlowBodyError",
    "Unpacking",
    "body_pieces",
    "read_in_time",
    "whole_body",
]

READING: Final = 60.0
"""Seconds in which the body of a request has to be there; a phone needs half of them for its largest picture."""

_GZIP, _ZLIB, _BARE = 31, 15, -15
"""What zlib calls the three forms."""

_BY_AIOHTTP: Final = frozenset({"gzip", "deflate", "br", "zstd"})
"""What counts as packed; other words for it stand beside bodies that are plain, and always were let through."""

_SLICE: Final = 16 * 1024
_PIECE: Final = 64 * 1024
_MOST_MEMBERS: Final = 1024
"""Packings in a row that make one body; each costs time, also when nothing is in it."""


class Unpacking:
    """Unpacks one body that is packed with ``packing``. Raises web.RequestPayloadError for what cannot be unpacked."""

    def __init__(self, packing: str) -> None:
        if packing not in ("gzip", "deflate"):
            raise web.RequestPayloadError(f"{packing} is not supported here")
        self._packing = packing
        self._form = _GZIP
        self._members = 0
        self._member = zlib.decompressobj(_GZIP)

    def pieces(self, packed: bytes) -> Iterator[bytes]:
        """What the next bytes hold, in pieces of 64 KiB at most; some are empty."""
        try:
            for at in range(0, len(packed), _SLICE):  # zlib copies what follows a member, each time
                yield from self._unpacked(packed[at : at + _SLICE])
        except zlib.error as error:
            raise web.RequestPayloadError(str(error)) from error

    def end(self) -> None:
        """No more bytes come."""
        if self._members and not self._member.eof:
            raise web.RequestPayloadError("the end is missing")

    def _unpacked(self, packed: bytes) -> Iterator[bytes]:
        while True:
            if not self._members or (self._member.eof and packed):
                self._begin(packed)
            piece = self._member.decompress(packed, _PIECE)
            yield piece
            packed = self._member.unconsumed_tail or self._member.unused_data
            if not packed and (self._member.eof or len(piece) < _PIECE):  # a full piece may have left some behind
                return

    def _begin(self, packed: bytes) -> None:
        if not self._members and self._packing == "deflate":
            self._form = _ZLIB if packed[0] & 0xF == 8 else _BARE  # the standard's, and what many take it for
        self._members += 1
        if self._members > _MOST_MEMBERS:
            raise web.RequestPayloadError("too many encodings in a row")
        self._member = zlib.decompressobj(self._form)


async def body_pieces(request: web.BaseRequest) -> AsyncIterator[bytes]:
    """The body as it arrives, unpacked; others have their turn between two pieces. Raises web.RequestPayloadError."""
    unpacking = _unpacking(request)
    async for arrived in request.content.iter_any():
        if unpacking is None:
            yield arrived
            continue
        for piece in unpacking.pieces(arrived):
            yield piece
            await asyncio.sleep(0)
    if unpacking is not None:
        unpacking.end()


async def whole_body(request: web.Request) -> bytes:
    """The body, unpacked; the application's ``client_max_size`` bounds it in bytes.

    Raises web.RequestPayloadError, and web.HTTPRequestEntityTooLarge for more than that.
    """
    if _unpacking(request) is None:
        return await request.read()
    body, most = bytearray(), request.client_max_size
    async for piece in body_pieces(request):
        body += piece
        if len(body) > most:
            body.clear()  # the error and its frames are kept for a while
            raise web.HTTPRequestEntityTooLarge(most)
    return bytes(body)


def _unpacking(request: web.BaseRequest) -> Unpacking | None:
    """What unpacks the body; None when it is plain, or the server unpacks it."""
    packing = request.headers.get("Content-Encoding", "").lower()
    by_server = getattr(request.content, "total_compressed_bytes", None) is not None  # an empty body has none
    return Unpacking(packing) if packing in _BY_AIOHTTP and not by_server else None


class SlowBodyError(TimeoutError):
    """What reads the body of a request gets this once the time is over."""


@contextmanager
def read_in_time(request: web.Request, seconds: float) -> Iterator[None]:
    """Inside of this, whoever still reads the body after ``seconds`` gets SlowBodyError."""
    timer = asyncio.get_running_loop().call_later(seconds, _give_up, request.content, seconds)
    try:
        yield
    finally:
        timer.cancel()


def _give_up(body: StreamReader, seconds: float) -> None:
    if not body.is_eof():
        body.set_exception(SlowBodyError(f"The request had not arrived after {seconds:g} s."))


class BodyTooLargeError(Exception):
    """A body has more bytes than it may have: ``most``."""

    def __init__(self, most: int) -> None:
        super().__init__(f"A request may have at most {most} bytes.")


class CrowdedError(Exception):
    """More bodies are being taken in than memory bears."""


class BodyIntake:
    """Takes bodies in, and knows how many bytes of them there are: all together no more than ``together`` times as many
    as each may have. Those up to ``small`` bytes find their way whatever arrives.
    """

    def __init__(self, together: int, small: int) -> None:
        self._together: int = together
        self._small: int = small
        self._bytes: Counter[int] = Counter()
        """Of those that are being taken in, by how much such a body may have."""

    @asynccontextmanager
    async def body(self, request: web.Request, most: int) -> AsyncIterator[bytes]:
        """The request's body, unpacked; it counts until the end of the ``with`` block. Raises BodyTooLargeError,
        CrowdedError, and what reading a body raises.
        """
        size, pieces = 0, list[bytes]()
        try:
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
            raise BodyTooLargeError(most)
        if size > self._small and self._bytes[most] > self._together * most:
            raise CrowdedError
