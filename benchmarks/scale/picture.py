"""Draws how the cost grows: ``python -m benchmarks.scale.picture ROWS --out FOLDER``.

ROWS is what ``make bench ARGS="scale --json ROWS"`` has written, or the English page with the tables that were made of
it. Two pictures are made, for the English and the Chinese page, and the tables of both are printed.
"""

import argparse
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor, log10
from pathlib import Path
from typing import Any, Final, NamedTuple

SIZE: Final = 270
LEFT, TOP, GAP, RIGHT, BOTTOM = 62, 62, 84, 20, 126
DASHES: Final = {"files": "", "postgres": "6 4", "spools": "2 3"}
STYLE: Final = """<style>
  text { font-family: ui-sans-serif, system-ui, "Noto Sans", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei",
    sans-serif; font-size: 13px; fill: #334155; }
  .title { font-size: 15px; font-weight: 600; }
  .page { fill: #ffffff; }
  .frame { fill: none; stroke: #94a3b8; }
  .grid { stroke: #e2e8f0; }
  .line { fill: none; stroke-width: 2; stroke: var(--ink); }
  .dot, .end { fill: var(--ink); }
  .append { --ink: #2563eb; }
  .recent { --ink: #059669; }
  .page100 { --ink: #b45309; }
  .miss { --ink: #dc2626; }
  .anywhere { --ink: #7c3aed; }
  .plain { --ink: #334155; }
  @media (prefers-color-scheme: dark) {
    text { fill: #cbd5e1; }
    .page { fill: #0d1117; }
    .frame { stroke: #64748b; }
    .grid { stroke: #262f3c; }
    .append { --ink: #60a5fa; }
    .recent { --ink: #34d399; }
    .page100 { --ink: #fbbf24; }
    .miss { --ink: #f87171; }
    .anywhere { --ink: #a78bfa; }
    .plain { --ink: #cbd5e1; }
  }
</style>"""
CLASSES: Final = {
    "append": "append",
    "recent": "recent",
    "page": "page100",
    "miss": "miss",
    "anywhere": "anywhere",
    "rate": "append",
}
"""What has which colour; entries per second are appends."""

Points = Sequence[Mapping[str, Any]]


class Words(NamedTuple):
    """What stands in the picture: what it shows, each panel with its title and what its axes are, what each line is,
    and where it was measured.
    """

    title: str
    panels: Mapping[str, tuple[str, str, str]]
    whats: Mapping[str, str]
    wheres: Mapping[str, str]
    more: Mapping[str, str]
    comma: str


WORDS: Final = {
    "": Words(
        "What calls cost with more entries and more chats, and how much several processes write",
        {
            "entries": ("One chat becomes long", "entries in the chat (log scale)", "ms (log scale)"),
            "chats": ("More and more chats", "chats of ten entries (log scale)", "ms (log scale)"),
            "processes": (
                "More and more processes",
                "processes (log scale)",
                "entries per second, all together (log scale)",
            ),
        },
        {
            "append": "append",
            "recent": "get_recent(20)",
            "page": "a page of 100",
            "miss": "search, a miss",
            "anywhere": "search in all chats",
        },
        {"files": "files", "postgres": "PostgreSQL", "spools": "PostgreSQL, through the spool"},
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
        "条数、群数增加时各种调用的用时，以及多个进程的写入速度",
        {
            "entries": ("一个群越来越长", "群里的条数（对数刻度）", "毫秒（对数刻度）"),
            "chats": ("群越来越多", "群数，每个群十条（对数刻度）", "毫秒（对数刻度）"),
            "processes": ("进程越来越多", "进程数（对数刻度）", "合计每秒条数（对数刻度）"),
        },
        {
            "append": "写入",
            "recent": "最近 20 条",
            "page": "翻一页（100 条）",
            "miss": "搜索，无结果",
            "anywhere": "搜索所有群",
        },
        {"files": "文件", "postgres": "PostgreSQL", "spools": "PostgreSQL，经暂存区"},
        {
            "follow": "跟踪的延迟",
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
        title, across, up = self._words.panels[self._axis]
        middle = self._left + SIZE / 2
        yield f'<rect class="frame" x="{self._left}" y="{TOP}" width="{SIZE}" height="{SIZE}"/>'
        yield f'<text class="title" x="{self._left}" y="{TOP - 34}">{title}</text>'
        yield f'<text x="{self._left}" y="{TOP - 12}">{up}</text>'
        yield f'<text x="{middle}" y="{TOP + SIZE + 40}" text-anchor="middle">{across}</text>'
        for power in range(self._high[0], self._high[1] + 1):
            y = self._y(10**power)
            yield f'<path class="grid" d="M{self._left} {y:.1f} h{SIZE}"/>'
            yield f'<text x="{self._left - 8}" y="{y + 4:.1f}" text-anchor="end">{_power(power)}</text>'
        for size in sorted({one["size"] for one in self._points}):
            x = self._x(size)
            yield f'<path class="frame" d="M{x:.1f} {TOP + SIZE} v5"/>'
            yield f'<text x="{x:.1f}" y="{TOP + SIZE + 20}" text-anchor="middle">{_short(size)}</text>'
        for where in DASHES:
            for what in SHOWN[self._axis]:
                yield from self._line(where, what)

    def _line(self, where: str, what: str) -> Iterable[str]:
        found = [one for one in self._points if (one["where"], one["what"]) == (where, what)]
        if not found:
            return
        places = [(self._x(one["size"]), self._y(one["measured"])) for one in found]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield f'<g class="{CLASSES[what]}"><polyline class="line" points="{line}"{_dashed(where)}/>'
        yield from (f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in places)
        if what == "rate":  # one for each place, so that they can be named where they are
            above = min(y for _, y in places) - 10
            x = self._left + SIZE - 8
            yield f'<text class="end" x="{x}" y="{above:.1f}" text-anchor="end">{self._words.wheres[where]}</text>'
        yield "</g>"

    def _x(self, size: float) -> float:
        low, high = self._wide
        return self._left + SIZE * (log10(size) - low) / (high - low)

    def _y(self, value: float) -> float:
        low, high = self._high
        return TOP + SIZE * (1 - (log10(value) - low) / (high - low))


def _power(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"


def _dashed(where: str) -> str:
    return f' stroke-dasharray="{DASHES[where]}"' if DASHES[where] else ""


def _short(size: int) -> str:
    return f"{size // 1_000_000}M" if size >= 1_000_000 else f"{size // 1000}k" if size >= 1000 else str(size)


def picture(words: Words, points: Points) -> str:
    """The picture as SVG."""
    width, height = LEFT + 3 * SIZE + 2 * GAP + RIGHT, TOP + SIZE + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="title">',
        f'<title id="title">{words.title}</title>',
        STYLE,
        f'<rect class="page" width="{width}" height="{height}"/>',
    ]
    for number, axis in enumerate(words.panels):
        parts += Panel(number, axis, words, points).drawn()
    return "\n".join([*parts, *_legend(words), "</svg>"]) + "\n"


def _legend(words: Words) -> Iterable[str]:
    """Colours say what is done, dashes say where."""
    step, y = 176, TOP + SIZE + 76
    for number, (what, name) in enumerate(words.whats.items()):
        x = LEFT + number * step
        yield f'<path class="line {CLASSES[what]}" d="M{x} {y} h26"/><text x="{x + 34}" y="{y + 4}">{name}</text>'
    for number, (where, name) in enumerate(words.wheres.items()):
        x = LEFT + number * step
        yield f'<path class="line plain" d="M{x} {y + 28} h26"{_dashed(where)}/>'
        yield f'<text x="{x + 34}" y="{y + 32}">{name}</text>'


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


def rows_of(page: str) -> Points:
    """What the tables of an English page say, of those that ``table`` has made."""
    names = {
        f"{what}{WORDS[''].comma}{where}": (key, place)
        for key, what in {**WORDS[""].whats, **WORDS[""].more}.items()
        for place, where in WORDS[""].wheres.items()
    }
    found = [found for found in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE) if "---:" in found]
    return [
        {"axis": axis, "where": names[cells[0]][1], "what": names[cells[0]][0], "size": int(size), "measured": value}
        for axis, rows in zip(LISTED, map(_rows, found), strict=True)
        for cells in rows[2:]
        for size, value in zip(rows[0][1:], map(float, cells[1:]), strict=True)
    ]


def _rows(table: str) -> list[list[str]]:
    """The cells of a table in Markdown, without the commas of its numbers."""
    lines = (re.sub(r"(?<=\d),(?=\d)", "", line).strip("|") for line in table.splitlines())
    return [[cell.strip() for cell in line.split("|")] for line in lines]


def main() -> None:
    """Write both pictures, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    told = options.rows.read_text(encoding="utf-8")
    rows: Points = rows_of(told) if options.rows.suffix == ".md" else json.loads(told)["rows"]
    for ending, words in WORDS.items():
        path = options.out / f"scale{ending}.svg"
        path.write_text(picture(words, rows), encoding="utf-8")
        print(path, *(table(axis, words, rows) for axis in LISTED), sep="\n\n", end="\n\n")


if __name__ == "__main__":
    main()
