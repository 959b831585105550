"""Reads the bodies of HTTP requests, with limits on time and size and with decompression in small pieces.

aiohttp decompresses on the event loop, even what nobody reads any more, and a megabyte of gzip may hold a gigabyte. So
the hub's own server leaves bodies compressed (``auto_decompress=False``) and they are decompressed here, with turns for
other tasks in between. When the hub is mounted in an application whose server decompresses, bodies are taken as is.
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
"""Seconds within which the body of a request must arrive; a phone needs about half of them for its largest picture."""

_GZIP, _ZLIB, _BARE = 31, 15, -15
"""``wbits`` of zlib for gzip, zlib and raw deflate streams."""

_BY_AIOHTTP: Final = frozenset({"gzip", "deflate", "br", "zstd"})
"""Encodings that mean a compressed body. Others, such as ``identity``, always were let through as plain."""

_SLICE: Final = 16 * 1024
_PIECE: Final = 64 * 1024
_MOST_MEMBERS: Final = 1024
"""Gzip members that may follow each other in one body; each costs time, even an empty one."""


class Unpacking:
    """Decompresses one body with the encoding ``packing``. Raises web.RequestPayloadError for what it cannot read."""

    def __init__(self, packing: str) -> None:
        if packing not in ("gzip", "deflate"):
            raise web.RequestPayloadError(f"{packing} is not supported here")
        self._packing = packing
        self._form = _GZIP
        self._members = 0
        self._member = zlib.decompressobj(_GZIP)

    def pieces(self, packed: bytes) -> Iterator[bytes]:
        """The next bytes decompressed, in pieces of at most 64 KiB; some are empty."""
        try:
            for at in range(0, len(packed), _SLICE):  # in slices: zlib copies all that follows a member, each time
                yield from self._unpacked(packed[at : at + _SLICE])
        except zlib.error as error:
            raise web.RequestPayloadError(str(error)) from error

    def end(self) -> None:
        """Called after the last byte. Raises web.RequestPayloadError when the stream is cut."""
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
            # RFC 9110 means a zlib stream, but many clients send raw deflate. A zlib header has 8 in its low bits.
            self._form = _ZLIB if packed[0] & 0xF == 8 else _BARE
        self._members += 1
        if self._members > _MOST_MEMBERS:
            raise web.RequestPayloadError("too many encodings in a row")
        self._member = zlib.decompressobj(self._form)


async def body_pieces(request: web.BaseRequest) -> AsyncIterator[bytes]:
    """The body as it arrives, decompressed; other tasks run between two pieces. Raises web.RequestPayloadError."""
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
    """The body, decompressed. Raises web.RequestPayloadError, and web.HTTPRequestEntityTooLarge for more bytes than the
    application's ``client_max_size``.
    """
    if _unpacking(request) is None:
        return await request.read()
    body, most = bytearray(), request.client_max_size
    async for piece in body_pieces(request):
        body += piece
        if len(body) > most:
            body.clear()  # the exception keeps this frame, and so the bytes, alive for a while
            raise web.HTTPRequestEntityTooLarge(most)
    return bytes(body)


def _unpacking(request: web.BaseRequest) -> Unpacking | None:
    """The decompressor for a body; None when it is plain, or the server decompresses it."""
    packing = request.headers.get("Content-Encoding", "").lower()
    # aiohttp counts compressed bytes only on a body that it decompresses itself; an empty body has no counter.
    by_server = getattr(request.content, "total_compressed_bytes", None) is not None
    return Unpacking(packing) if packing in _BY_AIOHTTP and not by_server else None


class SlowBodyError(TimeoutError):
    """Raised to whoever reads the body of a request that did not arrive in time."""


@contextmanager
def read_in_time(request: web.Request, seconds: float) -> Iterator[None]:
    """Reading the body later than ``seconds`` after the start of the ``with`` block raises SlowBodyError."""
    timer = asyncio.get_running_loop().call_later(seconds, _give_up, request.content, seconds)
    try:
        yield
    finally:
        timer.cancel()


def _give_up(body: StreamReader, seconds: float) -> None:
    if not body.is_eof():
        body.set_exception(SlowBodyError(f"The request had not arrived after {seconds:g} s."))


class BodyTooLargeError(Exception):
    """A body is larger than ``most`` bytes."""

    def __init__(self, most: int) -> None:
        super().__init__(f"A request may have at most {most} bytes.")


class CrowdedError(Exception):
    """Too many large bodies are being read at the same time."""


class BodyIntake:
    """Reads request bodies with a limit for each and a global one: ``together`` times the limit of one body. Bodies of
    up to ``small`` bytes ignore the global limit, so that short requests work while large ones fill it.
    """

    def __init__(self, together: int, small: int) -> None:
        self._together: int = together
        self._small: int = small
        self._bytes: Counter[int] = Counter()
        """Bytes of the bodies in memory, by the limit of each body."""

    @asynccontextmanager
    async def body(self, request: web.Request, most: int) -> AsyncIterator[bytes]:
        """The request's body, decompressed; it counts until the end of the ``with`` block. Raises BodyTooLargeError,
        CrowdedError, and what ``body_pieces`` raises.
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
