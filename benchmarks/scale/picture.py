"""Draws how the cost grows: ``python -m benchmarks.scale.picture ROWS --out FOLDER``.

ROWS is what ``make bench ARGS="scale --json ROWS"`` has written. Two pictures are made, for the English and the Chinese
page, and the tables of both are printed.
"""

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor, log10
from pathlib import Path
from typing import Any, Final, NamedTuple

SIZE: Final = 270
LEFT, TOP, GAP, RIGHT, BOTTOM = 60, 36, 84, 20, 126
FONT: Final = 'font-family="sans-serif" font-size="13"'
GREY, PALE, INK = "#94a3b8", "#e2e8f0", "#334155"
DASHES: Final = {"files": "", "postgres": "6 4", "spools": "2 3"}
COLOURS: Final = ("#2563eb", "#059669", "#d97706", "#dc2626", "#7c3aed")
ONE: Final = {"files": COLOURS[0], "postgres": COLOURS[2], "spools": COLOURS[1]}

Points = Sequence[Mapping[str, Any]]


class Words(NamedTuple):
    """What stands in the picture: the panels, what each line is, and where it was measured."""

    panels: Mapping[str, tuple[str, str]]
    whats: Mapping[str, str]
    wheres: Mapping[str, str]
    more: Mapping[str, str]
    comma: str


WORDS: Final = {
    "": Words(
        {
            "entries": ("entries in one chat", "ms"),
            "chats": ("chats", "ms"),
            "processes": ("processes", "entries per second, together"),
        },
        {
            "append": "append",
            "recent": "get_recent(20)",
            "page": "a page of 100",
            "miss": "search, a miss",
            "anywhere": "search in all chats",
        },
        {"files": "files", "postgres": "PostgreSQL", "spools": "PostgreSQL, by way of spools"},
        {
            "follow": "follow, how late",
            "chats": "list of all chats",
            "start": "start of a program",
            "memory": "memory, MiB",
            "disk": "disk, bytes per entry",
            "rate": "entries per second",
            "append_p99": "append, p99",
        },
        ", ",
    ),
    ".zh": Words(
        {"entries": ("一个群的条数", "毫秒"), "chats": ("群数", "毫秒"), "processes": ("进程数", "合计每秒条数")},
        {
            "append": "写入",
            "recent": "最近 20 条",
            "page": "翻一页（100 条）",
            "miss": "搜索，无结果",
            "anywhere": "搜索所有群",
        },
        {"files": "文件", "postgres": "PostgreSQL", "spools": "PostgreSQL，经暂存区"},
        {
            "follow": "跟随的延迟",
            "chats": "列出所有群",
            "start": "程序启动",
            "memory": "内存（MiB）",
            "disk": "磁盘（每条字节）",
            "rate": "每秒条数",
            "append_p99": "写入，p99",
        },
        "，",
    ),
}
SHOWN: Final = {
    "entries": ("append", "recent", "page", "miss"),
    "chats": ("append", "recent", "anywhere"),
    "processes": ("rate",),
}


class Panel:
    """One of the three, with both scales in powers of ten."""

    def __init__(self, number: int, axis: str, words: Words, points: Points) -> None:
        self._left = LEFT + number * (SIZE + GAP)
        self._words = words
        self._axis = axis
        self._points = [one for one in points if one["axis"] == axis and one["what"] in SHOWN[axis]]
        sizes, values = ([one[name] for one in self._points] for name in ("size", "measured"))
        self._wide = log10(min(sizes)), log10(max(sizes))
        self._high = floor(log10(min(values))), ceil(log10(max(values)))

    def drawn(self) -> Iterable[str]:
        """The frame and every line."""
        title, unit = self._words.panels[self._axis]
        middle = self._left + SIZE / 2
        yield f'<rect x="{self._left}" y="{TOP}" width="{SIZE}" height="{SIZE}" fill="none" stroke="{GREY}"/>'
        yield f'<text x="{self._left}" y="{TOP - 12}" fill="{INK}">{unit}</text>'
        yield f'<text x="{middle}" y="{TOP + SIZE + 40}" text-anchor="middle" fill="{INK}">{title}</text>'
        for power in range(self._high[0], self._high[1] + 1):
            y = self._y(10**power)
            yield f'<path d="M{self._left} {y:.1f} h{SIZE}" stroke="{PALE}"/>'
            yield f'<text x="{self._left - 8}" y="{y + 4:.1f}" text-anchor="end" fill="{INK}">{_power(power)}</text>'
        for size in sorted({one["size"] for one in self._points}):
            x = self._x(size)
            yield f'<path d="M{x:.1f} {TOP + SIZE} v5" stroke="{GREY}"/>'
            yield f'<text x="{x:.1f}" y="{TOP + SIZE + 20}" text-anchor="middle" fill="{INK}">{_short(size)}</text>'
        for where in DASHES:
            for what in SHOWN[self._axis]:
                yield from self._line(where, what)

    def _line(self, where: str, what: str) -> Iterable[str]:
        found = [one for one in self._points if (one["where"], one["what"]) == (where, what)]
        if not found:
            return
        places = [(self._x(one["size"]), self._y(one["measured"])) for one in found]
        colour = ONE[where] if what == "rate" else COLOURS[list(self._words.whats).index(what)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        dashes = f' stroke-dasharray="{DASHES[where]}"' if DASHES[where] else ""
        yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places)

    def _x(self, size: float) -> float:
        low, high = self._wide
        return self._left + SIZE * (log10(size) - low) / (high - low)

    def _y(self, value: float) -> float:
        low, high = self._high
        return TOP + SIZE * (1 - (log10(value) - low) / (high - low))


def _power(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"


def _short(size: int) -> str:
    return f"{size // 1_000_000}M" if size >= 1_000_000 else f"{size // 1000}k" if size >= 1000 else str(size)


def picture(words: Words, points: Points) -> str:
    """The picture as SVG."""
    width, height = LEFT + 3 * SIZE + 2 * GAP + RIGHT, TOP + SIZE + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {FONT}>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for number, axis in enumerate(words.panels):
        parts += Panel(number, axis, words, points).drawn()
    return "\n".join([*parts, *_legend(words), "</svg>"]) + "\n"


def _legend(words: Words) -> Iterable[str]:
    step, y = 176, TOP + SIZE + 76
    for number, (colour, name) in enumerate(zip(COLOURS, words.whats.values(), strict=True)):
        x = LEFT + number * step
        yield f'<path d="M{x} {y} h26" stroke="{colour}" stroke-width="2"/>'
        yield f'<text x="{x + 34}" y="{y + 4}" fill="{INK}">{name}</text>'
    for number, (where, name) in enumerate(words.wheres.items()):
        x = LEFT + number * step
        dashes = f' stroke-dasharray="{DASHES[where]}"' if DASHES[where] else ""
        yield f'<path d="M{x} {y + 28} h26" stroke="{INK}" stroke-width="2"{dashes}/>'
        yield f'<text x="{x + 34}" y="{y + 32}" fill="{INK}">{name}</text>'


LISTED: Final = {
    "entries": ("append", "recent", "page", "miss", "follow", "start", "memory", "disk"),
    "chats": ("append", "recent", "anywhere", "chats", "start", "memory", "disk"),
    "processes": ("rate", "append", "append_p99"),
}


def table(axis: str, words: Words, points: Points) -> str:
    """The table of an axis, in Markdown: a column for each size."""
    found = {(one["where"], one["what"], one["size"]): one["measured"] for one in points if one["axis"] == axis}
    sizes = sorted({size for *_, size in found})
    lines = [["", *(f"{size:,}" for size in sizes)], ["---", *("---:" for _ in sizes)]]
    for what in LISTED[axis]:
        for where in (where for where in DASHES if (where, what, sizes[0]) in found):
            name = {**words.whats, **words.more}[what] + words.comma + words.wheres[where]
            lines.append([name, *(_told(found[where, what, size]) for size in sizes)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _told(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def main() -> None:
    """Write both pictures, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    rows: Any = json.loads(options.rows.read_text(encoding="utf-8"))
    for ending, words in WORDS.items():
        path = options.out / f"scale{ending}.svg"
        path.write_text(picture(words, rows["rows"]), encoding="utf-8")
        print(path, *(table(axis, words, rows["rows"]) for axis in LISTED), sep="\n\n", end="\n\n")


if __name__ == "__main__":
    main()
