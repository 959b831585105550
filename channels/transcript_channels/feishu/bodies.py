"""The contents of messages to send: texts and posts with real mentions. Pure functions.

What an agent wrote can name nobody by itself: an ``<at>`` in it becomes plain text, and ``@Name`` a mention only for
the members that are given.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from nanobot_transcript.entry import well_formed
from transcript_channels.feishu.splitting import encoded_size, split_markdown, split_text

__all__ = ["CARD_BYTES", "TEXT_BYTES", "At", "card_content", "plain", "post_contents", "text_contents"]

TEXT_BYTES: Final = 150 * 1024
"""What a request with a text may have."""
CARD_BYTES: Final = 30 * 1024
"""What a request with a post or a card may have."""

_ENVELOPE: Final = 1024  # receiver, uuid and the JSON round the content
_LONGEST_TITLE: Final = 200
_AT_ELEMENT: Final = re.compile(r"<at\b[^<>]*>([^<]*)</at\s*>", re.IGNORECASE)
_AT_START: Final = re.compile(r"<(/?at\b)", re.IGNORECASE)
_FENCE: Final = re.compile(r"^ {0,3}(?:```|~~~)")

_Node = dict[str, Any]


@dataclass(frozen=True, slots=True)
class At:
    """A member to mention: the open id as the sending app sees it (``all`` = everybody) and the name in the text."""

    open_id: str
    name: str


def text_contents(text: str, mentions: Iterable[At] = ()) -> list[str]:
    """The ``content`` of one or more text messages."""
    named = _Named(mentions)

    def content(part: str) -> str:
        return _json({"text": named.replace(part, _at_element)})

    parts = split_text(named.opening(plain(text)), TEXT_BYTES - _ENVELOPE, lambda part: encoded_size(content(part)))
    return [content(part) for part in parts]


def post_contents(text: str, mentions: Iterable[At] = (), title: str = "") -> list[str]:
    """The ``content`` of one or more posts from Markdown; the title stands on the first.

    A line with a mention is shown as it is written: the platform takes mentions only outside its Markdown.
    """
    named = _Named(mentions)
    title = well_formed(title)[:_LONGEST_TITLE]

    def content(part: str, head: str = title) -> str:
        return _json({"zh_cn": {"title": head, "content": _rows(part, named)}})

    whole = named.opening(plain(text))
    parts = split_markdown(whole, CARD_BYTES - _ENVELOPE, lambda part: encoded_size(content(part)))
    return [content(parts[0]), *(content(part, "") for part in parts[1:])]


def card_content(card: Mapping[str, Any]) -> str:
    """The ``content`` of a card."""
    return _json(card)


class _Named:
    """The members that may be mentioned, by what stands for them in the text."""

    def __init__(self, mentions: Iterable[At]) -> None:
        self._by_name: dict[str, At] = {at.name.strip(): at for at in mentions if at.name.strip() and at.open_id}
        names = sorted(self._by_name, key=len, reverse=True)
        ends = [re.escape(name) + (r"(?![A-Za-z0-9_])" if name[-1].isascii() else "") for name in names]
        self._pattern: re.Pattern[str] | None = re.compile("@(" + "|".join(ends) + ")") if ends else None

    def opening(self, text: str) -> str:
        """The text, with those who are to be mentioned and are not in it at its beginning."""
        present = {match[1] for match in self._pattern.finditer(text)} if self._pattern else set()
        absent = [f"@{name}" for name in self._by_name if name not in present]
        return " ".join([*absent, text])

    def replace(self, text: str, element: Callable[[At], str]) -> str:
        """The text with ``element(at)`` for each mention."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: element(self._by_name[match[1]]), text)

    def nodes(self, line: str) -> list[_Node] | None:
        """The line as text and mentions; None when nobody is mentioned."""
        if self._pattern is None or not self._pattern.search(line):
            return None
        pieces = self._pattern.split(line)
        nodes: list[_Node] = []
        for number, piece in enumerate(pieces):
            if number % 2:
                nodes.append({"tag": "at", "user_id": self._by_name[piece].open_id})
            elif piece:
                nodes.append({"tag": "text", "text": piece})
        return nodes


def _at_element(at: At) -> str:
    return f'<at user_id="{at.open_id}">{at.name}</at>'


def _rows(markdown: str, named: _Named) -> list[list[_Node]]:
    """Paragraphs of a post: Markdown as one node, and each line with mentions as a row of its own."""
    rows: list[list[_Node]] = []
    pending: list[str] = []
    fenced = False
    for line in markdown.split("\n"):
        fenced ^= bool(_FENCE.match(line))
        nodes = None if fenced else named.nodes(line)
        if nodes is None:
            pending.append(line)
            continue
        _flush(pending, rows)
        rows.append(nodes)
    _flush(pending, rows)
    return rows


def _flush(pending: list[str], rows: list[list[_Node]]) -> None:
    text = "\n".join(pending).strip("\n")
    if text:
        rows.append([{"tag": "md", "text": text}])
    pending.clear()


def plain(text: str) -> str:
    """A text that mentions nobody, whatever it holds."""
    text = _AT_ELEMENT.sub(r"@\1", well_formed(text))
    return _AT_START.sub("<\u200b\\1", text)


def _json(value: Mapping[str, Any] | Sequence[Any]) -> str:
    return well_formed(json.dumps(value, ensure_ascii=False))
