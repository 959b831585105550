"""Packed bodies of requests, unpacked a little at a time."""

import asyncio
import gzip
import os
import zlib
from collections.abc import Callable
from unittest.mock import Mock

import pytest
from aiohttp import web
from aiohttp.streams import StreamReader
from aiohttp.test_utils import make_mocked_request

from transcript_mcp.door.bodies import BodyIntake, BodyTooLargeError, CrowdedError, Unpacking, body_pieces, whole_body

MIB = 1024 * 1024
LARGE = os.urandom(100_000) + b"a" * 300_000


def bare(body: bytes) -> bytes:
    packing = zlib.compressobj(wbits=-15)
    return packing.compress(body) + packing.flush()


def unpacked(packed: bytes, packing: str = "gzip", at_once: int = 100_000) -> bytes:
    unpacking = Unpacking(packing)
    pieces = [piece for at in range(0, len(packed), at_once) for piece in unpacking.pieces(packed[at : at + at_once])]
    unpacking.end()
    return b"".join(pieces)


@pytest.mark.parametrize("at_once", [1, 7, 16 * 1024, 1_000_000])
@pytest.mark.parametrize("body", [b"", b"x", LARGE], ids=["empty", "short", "large"])
@pytest.mark.parametrize(("packing", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("deflate", bare)])
def test_what_was_packed_is_unpacked_however_it_arrives(
    packing: str, pack: Callable[[bytes], bytes], body: bytes, at_once: int
) -> None:
    assert unpacked(pack(body), packing, at_once) == body


@pytest.mark.parametrize("size", [*range(64 * 1024 - 2, 64 * 1024 + 3), 128 * 1024])
def test_nothing_is_left_behind_where_a_piece_ends(size: int) -> None:
    assert unpacked(gzip.compress(b"a" * size)) == b"a" * size


def test_no_bytes_are_an_empty_body() -> None:
    assert unpacked(b"") == b""


def test_two_packings_in_a_row_are_one_body() -> None:
    assert unpacked(gzip.compress(b"one ") + gzip.compress(b"") + gzip.compress(LARGE), at_once=5) == b"one " + LARGE


@pytest.mark.parametrize(
    "packed",
    [
        gzip.compress(LARGE)[:-1],
        gzip.compress(b"x")[:5],
        gzip.compress(b"x") + b"\0",
        gzip.compress(b"x") + b"more",
        gzip.compress(b"x")[:-8] + b"\0" * 8,
        b"not gzip",
        zlib.compress(b"x"),
    ],
    ids=["cut", "cut in its head", "a byte more", "more", "wrong sum", "none", "another packing"],
)
def test_what_is_not_packed_rightly_is_refused(packed: bytes) -> None:
    for at_once in (1, len(packed)):
        with pytest.raises(web.RequestPayloadError):
            unpacked(packed, at_once=at_once)


@pytest.mark.parametrize("packing", ["br", "zstd"])
def test_other_packings_are_refused(packing: str) -> None:
    with pytest.raises(web.RequestPayloadError, match=packing):
        Unpacking(packing)


def test_very_many_packings_in_a_row_are_refused() -> None:
    assert unpacked(gzip.compress(b"") * 1024) == b""
    with pytest.raises(web.RequestPayloadError, match="in a row"):
        unpacked(gzip.compress(b"") * 1025)


@pytest.mark.parametrize(("packing", "form"), [("gzip", 31), ("deflate", 15), ("deflate", -15)])
def test_a_bomb_is_unpacked_no_farther_than_it_is_asked_for(packing: str, form: int) -> None:
    packer = zlib.compressobj(9, wbits=form)
    bomb = b"".join(packer.compress(bytes(MIB)) for _ in range(64)) + packer.flush()
    pieces = Unpacking(packing).pieces(bomb)
    sizes = [len(next(pieces)) for _ in range(20)]
    assert max(sizes) == 64 * 1024
    assert unpacked(bomb, packing) == bytes(64 * MIB)


async def test_others_have_their_turn_while_a_body_is_unpacked() -> None:
    content = StreamReader(make_mocked_request("GET", "/").protocol, 2**16, loop=asyncio.get_running_loop())
    content.total_compressed_bytes = None
    content.feed_data(gzip.compress(b"a" * 8 * MIB))
    content.feed_eof()
    request = make_mocked_request("POST", "/", headers={"Content-Encoding": "gzip"}, payload=content)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(others())
    size = sum([len(piece) async for piece in body_pieces(request)])
    counting.cancel()
    assert size == 8 * MIB
    assert turns >= 8 * MIB / (64 * 1024)


@pytest.mark.parametrize("beyond", [0, 1])
async def test_of_a_packed_body_the_unpacked_bytes_are_counted(beyond: int) -> None:
    content = StreamReader(Mock(_reading_paused=False), 1 << 20, loop=asyncio.get_running_loop())
    content.total_compressed_bytes = None
    content.feed_data(gzip.compress(b"a" * (MIB + beyond)))
    content.feed_eof()
    request = make_mocked_request(
        "POST", "/", headers={"Content-Encoding": "gzip"}, payload=content, client_max_size=MIB
    )
    if beyond:
        with pytest.raises(web.HTTPRequestEntityTooLarge):
            await whole_body(request)
    else:
        assert await whole_body(request) == b"a" * MIB


def arriving(body: bytes, **headers: str) -> web.Request:
    content = StreamReader(Mock(_reading_paused=False), 1 << 20, loop=asyncio.get_running_loop())
    content.feed_data(body)
    content.feed_eof()
    return make_mocked_request("POST", "/", headers, payload=content)


async def test_a_body_is_as_large_as_it_may_be_whatever_it_announces() -> None:
    intake = BodyIntake(4, 1)
    async with intake.body(arriving(b"x" * 10), 10) as body:
        assert body == b"x" * 10
    for request in (arriving(b"x" * 11), arriving(b"", **{"Content-Length": "11"})):
        with pytest.raises(BodyTooLargeError, match="at most 10 bytes"):
            async with intake.body(request, 10):
                pass


async def test_together_bodies_take_no_more_than_memory_bears_and_small_ones_find_their_way() -> None:
    intake = BodyIntake(2, 1)
    async with intake.body(arriving(b"x" * 10), 10), intake.body(arriving(b"x" * 10), 10):
        with pytest.raises(CrowdedError):
            async with intake.body(arriving(b"xx"), 10):
                pass
        async with intake.body(arriving(b"x"), 10) as body:
            assert body == b"x"
        async with intake.body(arriving(b"xx"), 20) as body:  # of another kind
            assert body == b"xx"
    async with intake.body(arriving(b"xx"), 10) as body:
        assert body == b"xx"


async def test_what_went_wrong_is_not_counted_any_more() -> None:
    intake = BodyIntake(1, 0)
    for _ in range(3):
        with pytest.raises(BodyTooLargeError):
            async with intake.body(arriving(b"x" * 11), 10):
                pass
        with pytest.raises(KeyError):
            async with intake.body(arriving(b"x" * 10), 10):
                raise KeyError
    async with intake.body(arriving(b"x" * 10), 10) as body:
        assert len(body) == 10
