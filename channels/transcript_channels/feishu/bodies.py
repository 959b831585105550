"""Builds the bodies of messages to send: texts, posts and cards, in parts that the platform accepts.

What an agent wrote cannot mention anybody by itself: an ``<at>`` in it becomes plain text, and ``@Name`` a mention only
for the members that are given; ``Mentionable`` knows whom an app can mention. A long text is cut at paragraphs, lines,
sentences or spaces, never inside a character. Sizes are in bytes as the text stands in a request: JSON inside JSON,
UTF-8.
"""

import json
import re
import unicodedata
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from nanobot_transcript.conversation.ports import Arrival
from nanobot_transcript.entry import well_formed
from nanobot_transcript.store.members import MemberDirectory
from nanobot_transcript.unicode_text import DENSE

__all__ = [
    "CARD_BYTES",
    "TEXT_BYTES",
    "At",
    "Mentionable",
    "card_content",
    "encoded_size",
    "plain",
    "post_contents",
    "split_markdown",
    "split_text",
    "text_contents",
]

TEXT_BYTES: Final = 150 * 1024
"""Bytes that a request with a text may have."""
CARD_BYTES: Final = 30 * 1024
"""Bytes that a request with a post or a card may have."""

_Size = Callable[[str], int]
_Node = dict[str, Any]

_ENVELOPE: Final = 1024  # receiver, uuid and the JSON round the content
_LONGEST_TITLE: Final = 200
_AT_ELEMENT: Final = re.compile(r"<at\b[^<>]*>([^<]*)</at\s*>", re.IGNORECASE)
_AT_START: Final = re.compile(r"<(/?at\b)", re.IGNORECASE)
_FENCE_MARK: Final = re.compile(r"^ {0,3}(?:```|~~~)")
_REMEMBERED: Final = 2000
_DENSE_END: Final = re.compile(f"[{DENSE}]$")
_GOES_ON: Final = re.compile(rf"[-.'’]?[^\W{DENSE}]")
_BREAKS: Final = tuple(
    re.compile(pattern) for pattern in (r"\n{2,}", r"\n", r"[。！？!?…]+|[.;](?=\s)|；", r"[,，、\s]")
)
_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n`]*)$", re.MULTILINE)
_FENCE_ROOM: Final = 80
_STRIDE: Final = 256
_JOINER: Final = "\u200d"
_SKIN: Final = range(0x1F3FB, 0x1F400)
_FLAGS: Final = range(0x1F1E6, 0x1F200)


@dataclass(frozen=True, slots=True)
class At:
    """A member to mention: the open id as the sending app sees it (``all`` = everybody) and the name in the text."""

    open_id: str
    name: str


@dataclass(slots=True, eq=False)
class Mentionable:
    """The members whose open id this app knows: bots from the members file, people from what they wrote."""

    app_id: str
    members: MemberDirectory | None
    _people: OrderedDict[str, str] = field(default_factory=OrderedDict, init=False)

    def saw(self, arrival: Arrival, name: str | None) -> None:
        """Remember the open ids in a message: of its sender, who is called ``name``, and of whoever it mentions."""
        if not arrival.from_bot:
            self._remember(arrival.sender_ids.get("open_id"), name)
        for mention in arrival.mentions:
            if mention.kind != "bot":
                self._remember(mention.ids.get("open_id"), mention.name)

    def named_in(self, text: str) -> list[At]:
        """Everybody whose ``@Name`` stands in the text, each once.

        At each ``@`` the longest name wins. A name that several have means the bot, else the person who wrote last.
        """
        if "@" not in text:
            return []
        known = dict(self._people)
        for bot in self.members.bots() if self.members is not None else ():
            open_id = bot.open_ids.get(self.app_id)
            if open_id and bot.account != self.app_id:
                known.update({name: open_id for name in (*bot.aliases, bot.name) if name.strip()})
        return [At(known[name], name) for name in _names_in(text, known)]

    def _remember(self, open_id: str | None, name: str | None) -> None:
        if not open_id or not name or not name.strip():
            return
        self._people[name.strip()] = open_id
        self._people.move_to_end(name.strip())
        while len(self._people) > _REMEMBERED:
            self._people.popitem(last=False)


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


def plain(text: str) -> str:
    """A text that mentions nobody, whatever it holds."""
    text = _AT_ELEMENT.sub(r"@\1", well_formed(text))
    return _AT_START.sub("<\u200b\\1", text)


def encoded_size(text: str) -> int:
    """Bytes that a text takes inside a request.

    >>> encoded_size('好"')
    7
    """
    inner = json.dumps(text, ensure_ascii=False)[1:-1]
    return len(json.dumps(inner, ensure_ascii=False).encode("utf-8", "replace")) - 2


def split_text(text: str, limit: int, size: _Size = encoded_size) -> list[str]:
    """The parts of a text, each of at most ``limit`` bytes by ``size``; a text that fits is one part.

    >>> split_text("One. Two. Three.", 11)
    ['One. Two.', 'Three.']
    """
    parts: list[str] = []
    while len(text) > limit or size(text) > limit:
        end = _end(text, limit, size)
        parts.append(text[:end].rstrip())
        # keep the indentation of a line of code
        text = text[end:].lstrip("\n") if text[end - 1] == "\n" else text[end:].lstrip(" ")
    return [part for part in [*parts, text] if part.strip()] or [text]


def split_markdown(text: str, limit: int, size: _Size = encoded_size) -> list[str]:
    """Like ``split_text``; a block of code that is cut ends in its part and begins again in the next."""
    if len(text) <= limit and size(text) <= limit:
        return [text]
    parts: list[str] = []
    opening = ""
    for part in split_text(text, limit - _FENCE_ROOM, size):
        whole = f"{opening}\n{part}" if opening else part
        opening = _open_fence(whole)
        parts.append(f"{whole}\n{_marks(opening)}" if opening else whole)
    return parts


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
        fenced ^= bool(_FENCE_MARK.match(line))
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


def _json(value: Mapping[str, Any] | Sequence[Any]) -> str:
    return well_formed(json.dumps(value, ensure_ascii=False))


def _names_in(text: str, names: Collection[str]) -> list[str]:
    """Which names stand behind an ``@``, in the order of the text."""
    lengths = sorted({len(name) for name in names}, reverse=True)
    found: dict[str, None] = {}
    at = text.find("@")
    while at >= 0:
        begin = at + 1
        candidates = (text[begin : begin + length] for length in lengths)
        name = next((one for one in candidates if one in names and _is_whole(one, text, begin + len(one))), "")
        if name:
            found[name] = None
        at = text.find("@", begin + len(name))
    return list(found)


def _is_whole(name: str, text: str, end: int) -> bool:
    """True when no longer word begins with the name; scripts without spaces go on right behind it."""
    return bool(_DENSE_END.search(name)) or _GOES_ON.match(text, end) is None


def _end(text: str, limit: int, size: _Size) -> int:
    """How many characters make up the next part, at least one."""
    head = text[:limit]
    fits, most = 0, min(_STRIDE, len(head))
    while most < len(head) and size(head[:most]) <= limit:
        fits, most = most, min(most * 2, len(head))
    longest = max(bisect_right(range(1, most + 1), limit, lo=fits, key=lambda end: size(head[:end])), 1)
    for pattern in _BREAKS:
        ends = [match.end() for match in pattern.finditer(head, longest // 3, longest)]
        if ends:
            return ends[-1]
    end = longest
    while end > 1 and _joined(text, end):
        end -= 1
    return end if end > 1 else longest


def _joined(text: str, at: int) -> bool:
    """True when a cut before ``at`` would tear apart what people see as one character."""
    if at >= len(text):
        return False
    before, after = text[at - 1], text[at]
    if unicodedata.combining(after) or unicodedata.category(after) in ("Mn", "Me", "Cf") or ord(after) in _SKIN:
        return True
    if before == _JOINER:
        return True
    flags = 0
    while flags < at and ord(text[at - 1 - flags]) in _FLAGS:
        flags += 1
    return ord(after) in _FLAGS and flags % 2 == 1


def _open_fence(text: str) -> str:
    """The line that opens a block of code which is not closed, else the empty string."""
    opening = ""
    for match in _FENCE.finditer(text):
        if not opening:
            opening = match[0].strip()
        elif match[1].startswith(_marks(opening)) and not match[2].strip():
            opening = ""
    return opening if len(opening) <= _FENCE_ROOM // 4 else _marks(opening)


def _marks(opening: str) -> str:
    return opening[: len(opening) - len(opening.lstrip(opening[:1]))] if opening else ""
