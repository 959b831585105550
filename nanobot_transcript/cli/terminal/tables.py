"""Prints tables: aligned columns, or one block per row if the terminal is too narrow; no cell is wrapped."""

from collections.abc import Iterator, Sequence
from typing import Final

from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.output import console

__all__ = ["print_table", "shortened"]

_GAP: Final = "  "
_LEAST: Final = 14


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[str] = (),
    shorten: str | None = None,
) -> None:
    """Print ``rows`` below ``columns``, which are told in the person's language; ``right`` are columns of numbers.

    On a terminal that is too narrow the cells of ``shorten`` lose their middle; if that is not enough, or without it,
    each row becomes a block that its first cell heads. Elsewhere every value is whole.
    """
    columns, right = [said(column) for column in columns], [said(column) for column in right]
    shorten = said(shorten) if shorten is not None else None
    out = console()
    width = out.width if out.is_terminal else None
    fitting = rows
    if width is not None and shorten is not None and _width(columns, rows) > width:
        fitting = _narrowed(columns, rows, columns.index(shorten), width)
    fits = width is None or _width(columns, fitting) <= width
    lines = _lines(columns, fitting, right) if fits else _blocks(columns, rows)
    for bold, line in lines:
        out.print(line, style="bold" if bold else None, soft_wrap=True)


def shortened(text: str, width: int) -> str:
    """``text`` without its middle when it is wider than ``width`` cells.

    >>> shortened("feishu:oc_0123456789", 11)
    'feish…56789'
    """
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return text
    half = (width - 1) // 2
    end = text
    while cell_len(end) > half:
        end = end[1:]
    return f"{set_cell_size(text, width - 1 - half).rstrip()}…{end}"


def _narrowed(columns: Sequence[str], rows: Sequence[Sequence[str]], column: int, width: int) -> list[list[str]]:
    others = sum(_widths(columns, rows)) - _widths(columns, rows)[column] + len(_GAP) * (len(columns) - 1)
    room = max(width - others, _LEAST)
    return [[shortened(cell, room) if i == column else cell for i, cell in enumerate(row)] for row in rows]


def _lines(columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str]) -> Iterator[tuple[bool, str]]:
    widths = _widths(columns, rows)
    for row in [columns, *rows]:
        cells = (_padded(cell, widths[i], right=columns[i] in right) for i, cell in enumerate(row))
        yield row is columns, _GAP.join(cells).rstrip()


def _blocks(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[tuple[bool, str]]:
    label = max(_widths(columns, rows[:0])[1:])
    for row in rows:
        yield True, row[0]
        for name, cell in zip(columns[1:], row[1:], strict=True):
            yield False, f"{_GAP}{_padded(name, label, right=False)}{_GAP}{cell}".rstrip()


def _padded(text: str, width: int, *, right: bool) -> str:
    from rich.cells import cell_len

    padding = " " * (width - cell_len(text))
    return padding + text if right else text + padding


def _widths(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    from rich.cells import cell_len

    return [max(cell_len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]


def _width(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    return sum(_widths(columns, rows)) + len(_GAP) * (len(columns) - 1)
