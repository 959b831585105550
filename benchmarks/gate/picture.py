"""Draws how often scores were right: ``python -m benchmarks.gate.picture LOGS SCENES --out FOLDER``.

LOGS and SCENES are what ``gate eval --json`` said of logs and of scenes. Two pictures are written, for the English and
the Chinese page.
"""

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from math import log10
from pathlib import Path
from typing import Any, Final, NamedTuple

SIZE: Final = 360
LEFT, TOP, RIGHT, BOTTOM = 64, 20, 150, 56
COLOURS: Final = ("#2563eb", "#059669", "#d97706")
FONT: Final = 'font-family="sans-serif" font-size="13"'
GREY, INK = "#94a3b8", "#334155"


class Words(NamedTuple):
    """What stands in the picture."""

    score: str
    meant: str
    series: tuple[str, str, str]
    right: str


WORDS: Final = {
    "": Words("score", "share that was meant", ("logs", "scenes, Chinese", "scenes, English"), "as it should be"),
    ".zh": Words("得分", "确实是说给它的比例", ("日志", "中文场景", "英文场景"), "理想情形"),
}


def merged(rows: Iterable[Sequence[Mapping[str, float]]]) -> list[tuple[float, float, float]]:
    """The bins of several tables together that are not empty: mean score, share that was meant, decisions."""
    made = []
    for bins in zip(*rows, strict=True):
        count = sum(one["decisions"] for one in bins)
        if not count:
            continue
        score, meant = (sum(one[name] * one["decisions"] for one in bins) / count for name in ("score", "meant"))
        made.append((score, meant, count))
    return made


def picture(words: Words, series: Sequence[Sequence[tuple[float, float, float]]]) -> str:
    """The picture as SVG."""
    width, height = LEFT + SIZE + RIGHT, TOP + SIZE + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {FONT}>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *_axes(words),
        f'<path d="M{_x(0)} {_y(0)} L{_x(1)} {_y(1)}" stroke="{GREY}" stroke-dasharray="5 4"/>',
    ]
    for number, (name, points) in enumerate(zip(words.series, series, strict=True)):
        colour = COLOURS[number]
        line = " ".join(f"{_x(score):.1f},{_y(meant):.1f}" for score, meant, _ in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5" opacity="0.6"/>')
        parts += [
            f'<circle cx="{_x(score):.1f}" cy="{_y(meant):.1f}" r="{1.5 + 1.5 * log10(count):.1f}" fill="{colour}"/>'
            for score, meant, count in points
        ]
        parts += _legend(number, colour, name)
    parts.append(f'<path d="M{LEFT + SIZE + 14} {TOP + 96} h18" stroke="{GREY}" stroke-dasharray="5 4"/>')
    parts.append(f'<text x="{LEFT + SIZE + 38}" y="{TOP + 100}" fill="{INK}">{words.right}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _axes(words: Words) -> Iterable[str]:
    yield f'<rect x="{LEFT}" y="{TOP}" width="{SIZE}" height="{SIZE}" fill="none" stroke="{GREY}"/>'
    for step in range(0, 11, 2):
        at = step / 10
        yield f'<path d="M{_x(at)} {_y(0)} v5 M{_x(0)} {_y(at)} h-5" stroke="{GREY}"/>'
        yield f'<text x="{_x(at)}" y="{_y(0) + 20}" text-anchor="middle" fill="{INK}">{at:.1f}</text>'
        yield f'<text x="{_x(0) - 10}" y="{_y(at) + 4}" text-anchor="end" fill="{INK}">{at:.1f}</text>'
    middle = LEFT + SIZE / 2
    yield f'<text x="{middle}" y="{TOP + SIZE + 44}" text-anchor="middle" fill="{INK}">{words.score}</text>'
    side = TOP + SIZE / 2
    yield (
        f'<text x="16" y="{side}" text-anchor="middle" fill="{INK}" transform="rotate(-90 16 {side})">'
        f"{words.meant}</text>"
    )


def _legend(number: int, colour: str, name: str) -> Iterable[str]:
    y = TOP + 16 + 26 * number
    yield f'<circle cx="{LEFT + SIZE + 23}" cy="{y}" r="5" fill="{colour}"/>'
    yield f'<text x="{LEFT + SIZE + 38}" y="{y + 4}" fill="{INK}">{name}</text>'


def _x(share: float) -> float:
    return LEFT + SIZE * share


def _y(share: float) -> float:
    return TOP + SIZE * (1 - share)


def main() -> None:
    """Write both pictures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("logs", type=Path)
    parser.add_argument("scenes", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    logs: Any = json.loads(options.logs.read_text(encoding="utf-8"))
    scenes: Any = json.loads(options.scenes.read_text(encoding="utf-8"))
    by_language = [
        merged(one["reliability"] for one in scenes if one["language"] == language) for language in ("zh", "en")
    ]
    series = [merged([logs["reliability"]]), *by_language]
    for ending, words in WORDS.items():
        path = options.out / f"calibration{ending}.svg"
        path.write_text(picture(words, series), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
