"""Reading complete lines from a segment, forwards and backwards, without loading it whole."""

import os
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

__all__ = [
    "LARGE_BLOCK",
    "Line",
    "blocks_backward",
    "blocks_forward",
    "complete_end",
    "grep",
    "line_at",
    "lines_between",
    "split",
    "stands_alone",
    "start_of_line",
]

Line = tuple[int, bytes]
"""(offset in the segment, the line without its newline)."""

LARGE_BLOCK: Final = 1 << 22
_BLOCK: Final = 1 << 18
_FIRST_BLOCK: Final = 1 << 15
_PROBE: Final = 4096


def complete_end(descriptor: int, size: int) -> int:
    """The offset behind the last newline before ``size``: readers never see an unfinished line."""
    end, step = size, 1
    while end > 0:
        start = max(0, end - step)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end, step = start, min(max(step * 4, _PROBE), _BLOCK)
    return 0


def start_of_line(descriptor: int, offset: int, size: int) -> int:
    """``offset`` when a line starts there, else the start of the next line (or ``size``)."""
    if offset <= 0 or offset >= size:
        return min(max(offset, 0), size)
    at = offset - 1
    while at < size:
        newline = os.pread(descriptor, min(_PROBE, size - at), at).find(b"\n")
        if newline >= 0:
            return at + newline + 1
        at += _PROBE
    return size


def line_at(descriptor: int, offset: int) -> bytes:
    """The line that starts at ``offset``, without its newline; empty when there is none."""
    parts: list[bytes] = []
    length = _PROBE
    while block := os.pread(descriptor, length, offset):
        newline = block.find(b"\n")
        if newline >= 0:
            parts.append(block[:newline])
            return b"".join(parts)
        parts.append(block)
        offset += len(block)
        length = min(length * 4, LARGE_BLOCK)
    return b""


def stands_alone(descriptor: int, offset: int) -> bool:
    """True for a line that was written without the lock: an empty line stands before it."""
    return offset >= 1 and os.pread(descriptor, min(offset, 2), max(offset - 2, 0)) in (b"\n", b"\n\n")


def blocks_forward(descriptor: int, start: int, end: int, size: int = _BLOCK) -> Iterator[Line]:
    """(offset, bytes) of blocks of whole lines in a range that starts and ends at a line."""
    pending: list[bytes] = []
    at = start
    while start < end:
        block = os.pread(descriptor, min(size, end - start), start)
        if not block:
            return
        start += len(block)
        newline = block.rfind(b"\n")
        if newline < 0:
            pending.append(block)
            continue
        whole = b"".join([*pending, block[: newline + 1]]) if pending else block[: newline + 1]
        pending = [block[newline + 1 :]] if newline + 1 < len(block) else []
        yield at, whole
        at += len(whole)


def blocks_backward(descriptor: int, end: int, start: int = 0) -> Iterator[Line]:
    """(offset, bytes) of blocks of whole lines before ``end``, which is the end of a line; the last block comes first.

    Blocks start small, because most readers want the newest lines only, and grow; ``start`` is the limit. A longer line
    makes its block as long as it is.
    """
    size = _FIRST_BLOCK
    while end > start:
        begin = max(start, end - size)
        if begin > start:
            begin = start_of_line(descriptor, begin, end - 1)
            if begin >= end - 1:
                size *= 2
                continue
        yield begin, os.pread(descriptor, end - begin, begin)
        end = begin
        size = min(size * 2, LARGE_BLOCK)


def split(offset: int, block: bytes) -> Iterator[Line]:
    """The lines of a block."""
    for line in block[:-1].split(b"\n"):
        yield offset, line
        offset += len(line) + 1


def lines_between(descriptor: int, start: int, end: int) -> Iterator[Line]:
    """Each line in a range that starts and ends at a line."""
    for offset, block in blocks_forward(descriptor, start, end):
        yield from split(offset, block)


def grep(offset: int, block: bytes, needle: bytes) -> Iterator[Line]:
    """The lines of a block that contain ``needle``."""
    if not contains(block, needle):
        return
    hit = block.find(needle)
    while hit >= 0:
        start = block.rfind(b"\n", 0, hit) + 1
        end = block.find(b"\n", hit)
        end = len(block) if end < 0 else end
        yield offset + start, block[start:end]
        hit = block.find(needle, end)


def contains(block: bytes, needle: bytes) -> bool:
    """True when ``needle`` stands in ``block``."""
    memmem = _memmem()
    if memmem is None:
        return needle in block
    return memmem(block, len(block), needle, len(needle)) is not None


@cache
def _memmem() -> Callable[[bytes, int, bytes, int], int | None] | None:
    try:
        import ctypes  # only searches need it, and it takes milliseconds

        function = ctypes.CDLL(None).memmem
    except (ImportError, AttributeError, OSError):
        return None
    function.restype = ctypes.c_void_p
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    return function
