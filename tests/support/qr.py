"""Reads a QR code off a terminal, as a camera does: by ISO/IEC 18004, and without the library that draws ours.

Versions 1 to 4, bytes alone, and no mistakes mended: what was drawn is what is read.
"""

import re
from collections.abc import Iterator

__all__ = ["modules", "read"]

_QUIET = 4
_LEVELS = {0b01: "L", 0b00: "M", 0b11: "Q", 0b10: "H"}
_BLOCKS = {
    1: {"L": (1, 19), "M": (1, 16), "Q": (1, 13), "H": (1, 9)},
    2: {"L": (1, 34), "M": (1, 28), "Q": (1, 22), "H": (1, 16)},
    3: {"L": (1, 55), "M": (1, 44), "Q": (2, 17), "H": (2, 13)},
    4: {"L": (1, 80), "M": (2, 32), "Q": (2, 24), "H": (4, 9)},
}
"""Number of blocks, and bytes of data in each, by version and level of correction."""

_MASKS = (
    lambda y, x: (y + x) % 2,
    lambda y, x: y % 2,
    lambda y, x: x % 3,
    lambda y, x: (y + x) % 3,
    lambda y, x: (y // 2 + x // 3) % 2,
    lambda y, x: y * x % 2 + y * x % 3,
    lambda y, x: (y * x % 2 + y * x % 3) % 2,
    lambda y, x: ((y + x) % 2 + y * x % 3) % 2,
)

Modules = list[list[bool]]


def modules(lines: list[str]) -> Modules:
    """The modules of a code without the white around it, from lines of half blocks. Raises ValueError without that."""
    upper = [[sign in "▀█" for sign in line] for line in lines]
    lower = [[sign in "▄█" for sign in line] for line in lines]
    rows = [row for pair in zip(upper, lower, strict=True) for row in pair]
    size = len(rows[0]) - 2 * _QUIET
    around = [row[:_QUIET] + row[-_QUIET:] for row in rows] + rows[:_QUIET] + rows[_QUIET + size :]
    if any(any(row) for row in around) or len(rows) < size + 2 * _QUIET:
        raise ValueError("there is not enough white around it")
    return [row[_QUIET : _QUIET + size] for row in rows[_QUIET : _QUIET + size]]


def read(lines: list[str]) -> str:
    """The text in a code. Raises ValueError when it is none."""
    code = modules(lines)
    size = len(code)
    version = (size - 17) // 4
    _require_finders(code)
    places = [(8, x) for x in (*range(6), 7, 8)] + [(y, 8) for y in (7, *range(5, -1, -1))]
    format_bits = _number(code[y][x] for y, x in places) ^ 0b101010000010010
    level, mask = _LEVELS[format_bits >> 13], _MASKS[format_bits >> 10 & 7]
    bits = "".join(str(int(code[y][x] != (mask(y, x) == 0))) for y, x in _path(size, version))
    stream = [int(eight, 2) for eight in re.findall("[01]{8}", bits)]
    count, length = _BLOCKS[version][level]
    data = [byte for block in range(count) for byte in stream[block : count * length : count]]
    bits = "".join(f"{byte:08b}" for byte in data)
    if bits[:4] != "0100":
        raise ValueError("it does not hold bytes")
    size = int(bits[4:12], 2)
    return bytes(int(bits[at : at + 8], 2) for at in range(12, 12 + 8 * size, 8)).decode()


def _require_finders(code: Modules) -> None:
    end = len(code) - 7
    for top, left in ((0, 0), (0, end), (end, 0)):
        found = [[code[top + y][left + x] for x in range(7)] for y in range(7)]
        if found != [[max(abs(y - 3), abs(x - 3)) != 2 for x in range(7)] for y in range(7)]:
            raise ValueError("a camera would not find it")


def _path(size: int, version: int) -> Iterator[tuple[int, int]]:
    """The modules that hold data, in their order: up and down in columns of two, from the right."""
    columns = (*range(size - 1, 6, -2), *range(5, 0, -2))
    for number, right in enumerate(columns):
        for y in range(size) if number % 2 else range(size - 1, -1, -1):
            for x in (right, right - 1):
                if not _is_fixed(y, x, size, version):
                    yield y, x


def _is_fixed(y: int, x: int, size: int, version: int) -> bool:
    """Whether a module belongs to what every code has: three corners, two lines, and a small square from 2 on."""
    corner = (y < 9 and (x < 9 or x >= size - 8)) or (y >= size - 8 and x < 9)
    square = version > 1 and abs(y - (size - 7)) <= 2 and abs(x - (size - 7)) <= 2
    return corner or square or 6 in (y, x)


def _number(bits: Iterator[bool]) -> int:
    return int("".join(str(int(bit)) for bit in bits), 2)
