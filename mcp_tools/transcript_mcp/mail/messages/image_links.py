"""Finds the images that a Markdown text refers to, outside its code.

Every pattern is possessive (never backtracks): the work grows linearly with the length of any text.
"""

import html
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

__all__ = ["ImageLink", "has_images", "image_links"]

_FENCE: Final = re.compile(r"[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)?+(?P<mark>`{3,}+|~{3,}+)(?P<rest>[^\n]*+)")
_BLANK: Final = re.compile(r"[ \t>]*+\n?")
_TICKS: Final = re.compile(r"`++")
_IMAGE: Final = re.compile(
    r"(?<!\\)!\[(?:[^\[\]\\]++|\\.|\[[^\[\]]*+\])*+\]\(\s*+"
    r"(?:<(?P<angle>[^<>\n\0]*+)>|(?P<bare>(?:[^\s()<>\\\0]++|\\.|\((?:[^\s()\\\0]++|\\.)*+\))++))"
    r"""(?:\s++(?:"(?:[^"\\]++|\\.)*+"|'(?:[^'\\]++|\\.)*+'|\((?:[^()\\]++|\\.)*+\)))?+\s*+\)""",
    re.DOTALL,
)
_ESCAPED: Final = re.compile(r"\\([!-/:-@\[-`{-~])")


@dataclass(frozen=True, slots=True)
class ImageLink:
    """An image's ``target``, unescaped, and where the text has it: from ``start`` to ``end``.
    With ``is_bare`` a replacement needs quotation marks.
    """

    start: int
    end: int
    target: str
    is_bare: bool = False


def has_images(text: str) -> bool:
    """False when the text certainly has no images; True when it may have some."""
    return "![" in text or "<img" in text.lower()


def image_links(text: str) -> list[ImageLink]:
    """All ``![alt](target "title")`` and ``<img src="target">``, and the lines ``[label]: target`` that
    ``![alt][label]`` uses, in order."""
    if not has_images(text):
        return []
    masked = _without_code(text)
    links: list[ImageLink] = []
    begins: set[int] = set()
    for found in _IMAGE.finditer(masked):
        begins.add(found.start())
        group = "angle" if found["bare"] is None else "bare"
        start, end = found.span(group)
        links.append(ImageLink(start, end, _ESCAPED.sub(r"\1", text[start:end])))
    links += [
        ImageLink(place.start, place.end, _ESCAPED.sub(r"\1", target))
        for place, target in _references(masked, text, begins)
    ]
    links += [ImageLink(place.start, place.end, target, place.is_bare) for place, target in _html_images(masked, text)]
    return _apart(links)


def _apart(links: list[ImageLink]) -> list[ImageLink]:
    """The links in order; of two that overlap, the first."""
    apart: list[ImageLink] = []
    for link in sorted(links, key=lambda each: each.start):
        if not apart or link.start >= apart[-1].end:
            apart.append(link)
    return apart


def _without_code(text: str) -> str:
    """The text with every character of code replaced by NUL, so that positions stay the same."""
    pieces, at = [], 0
    for start, end in _code(text):
        pieces += [text[at:start], "\0" * (end - start)]
        at = end
    pieces.append(text[at:])
    return "".join(pieces)


def _code(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of fenced blocks and code spans. A span must end in its own paragraph."""
    paragraph = at = 0
    fence, fence_start = "", 0
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark["mark"].startswith(fence) and not mark["rest"].strip():
                yield fence_start, at + len(line)
                fence, paragraph = "", at + len(line)
        elif mark and not (mark["mark"][0] == "`" and "`" in mark["rest"]):
            yield from _spans(text, paragraph, at)
            fence, fence_start = mark["mark"], at
        elif _BLANK.fullmatch(line):
            yield from _spans(text, paragraph, at)
            paragraph = at + len(line)
        at += len(line)
    if fence:
        yield fence_start, len(text)
    else:
        yield from _spans(text, paragraph, at)


def _spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    runs = [run.span() for run in _TICKS.finditer(text, start, end)]
    closing: dict[int, list[int]] = {}
    for place, (begin, stop) in enumerate(runs):
        closing.setdefault(stop - begin, []).append(place)
    place = 0
    while place < len(runs):
        begin, stop = runs[place]
        if begin > start and text[begin - 1] == "\\":
            begin += 1  # the first one is escaped
        same = closing.get(stop - begin, [])
        after = bisect_right(same, place)
        if stop > begin and after < len(same):
            place = same[after]
            yield begin, runs[place][1]
        place += 1


_TAG: Final = re.compile(r"(?<!\\)<img(?=[\s/])", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(
    r"[\s/]*+(?P<name>[^\s\"'<>/=\0]++)"
    r"(?:\s*+=\s*+(?:\"(?P<double>[^\"\0]*+)\"|'(?P<single>[^'\0]*+)'|(?P<bare>[^\s\"'<>=`\0]++)))?+"
)
_TAG_END: Final = re.compile(r"[\s/]*+>")
_DEFINITION: Final = re.compile(
    r"^[ \t>]*+\[(?P<label>(?:[^\[\]\\]++|\\.)++)\]:[ \t]*+(?:\n[ \t>]*+)?+"
    r"(?:<(?P<angle>[^<>\n\0]*+)>|(?P<bare>[^\s<\0][^\s\0]*+))",
    re.MULTILINE | re.DOTALL,
)
_REFERENCE: Final = re.compile(
    r"(?<!\\)!\[(?P<alt>(?:[^\[\]\\]++|\\.|\[[^\[\]]*+\])*+)\](?:\[(?P<label>(?:[^\[\]\\]++|\\.)*+)\])?+", re.DOTALL
)


class _LinkTarget(NamedTuple):
    """The position of a target; an unquoted HTML value (``is_bare``) needs quotation marks when it is replaced."""

    start: int
    end: int
    is_bare: bool = False


def _html_images(masked: str, text: str) -> Iterator[tuple[_LinkTarget, str]]:
    """The ``src`` of each ``<img>`` in a text: its position and its unescaped value."""
    at = 0
    while tag := _TAG.search(masked, at):
        at, source = tag.end(), None
        while attribute := _ATTRIBUTE.match(masked, at):
            at = attribute.end()
            if source is None and attribute["name"].lower() == "src":
                source = attribute
        if source is not None and _TAG_END.match(masked, at):
            group = next((name for name in ("double", "single", "bare") if source[name] is not None), None)
            if group is not None:
                start, end = source.span(group)
                yield _LinkTarget(start, end, group == "bare"), html.unescape(text[start:end])


def _references(masked: str, text: str, images: Collection[int]) -> Iterator[tuple[_LinkTarget, str]]:
    """Targets of ``[label]: target`` lines that images use, as written. ``images``: starts of images with a target."""
    if "]:" not in masked:
        return
    defined: dict[str, re.Match[str]] = {}
    for line in _DEFINITION.finditer(masked):
        defined.setdefault(_plain(text[slice(*line.span("label"))]), line)
    used = {
        _plain(text[slice(*found.span("label" if found["label"] else "alt"))])
        for found in _REFERENCE.finditer(masked)
        if found.start() not in images
    }
    for label, line in defined.items():
        if label in used:
            start, end = line.span("angle" if line["bare"] is None else "bare")
            yield _LinkTarget(start, end), text[start:end]


def _plain(label: str) -> str:
    """
    >>> _plain(" The  Flow ")
    'the flow'
    """
    return " ".join(label.casefold().split())
