"""Pictures of a Markdown text that are not written as ``![alt](target)``: ``<img src>``, and references.

Where a reference says ``![alt][label]``, the target stands in a line of its own, ``[label]: target``. The texts that
come in have NUL in place of code. Every pattern is possessive, and nothing is looked at twice.
"""

import html
import re
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

__all__ = ["Place", "html_images", "references"]

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


class Place(NamedTuple):
    """Where a target is written; a bare value of HTML needs quotation marks when it changes."""

    start: int
    end: int
    is_bare: bool = False


def html_images(masked: str, text: str) -> Iterator[tuple[Place, str]]:
    """The ``src`` of each ``<img>`` in a text: its place, and what is meant."""
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
                yield Place(start, end, group == "bare"), html.unescape(text[start:end])


def references(masked: str, text: str, images: Collection[int]) -> Iterator[tuple[Place, str]]:
    """The targets of lines that images refer to, as they are written; ``images`` is where those with a target begin."""
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
            yield Place(start, end), text[start:end]


def _plain(label: str) -> str:
    """
    >>> _plain(" The  Flow ")
    'the flow'
    """
    return " ".join(label.casefold().split())
