"""A part of a transcript as quoted Markdown: people's words stay text, whatever markup they contain."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

from nanobot_transcript.entry import Entry

__all__ = ["quote"]

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~$!&@])")
_LIST: Final = re.compile(r"^(\s{0,3})([-+=]|\d{1,9}[.)])(?=\s|$|[-=])")
_LINK: Final = re.compile(r"(?i)\b(https?|ftp|mailto|www)(?=[:.])")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_LINE_ENDS: Final = re.compile(r"\r\n|[\r\n\x0b\x0c\x85\u2028\u2029]")
_NAME_LIMIT: Final = 80
_ELLIPSIS: Final = "…"


def quote(
    entries: Iterable[Entry],
    *,
    names: Mapping[str, str] | None = None,
    max_chars: int = 4000,
    max_entry_chars: int = 600,
    timezone: tzinfo = UTC,
) -> str:
    """The entries, oldest first, each as ``> **Name** (2025-11-20 09:15): text``; empty when there are none.

    ``names`` maps senders to names. The newest entries that fit into ``max_chars`` are shown; a line says when older
    ones were left out. A text is cut at ``max_entry_chars``. Never raises for odd entries.
    """
    names = names or {}
    blocks: list[str] = []
    left = max_chars
    known = [entry for entry in entries if isinstance(entry, dict) and not entry.get("op")]
    for entry in reversed(known):
        block = _block(entry, names, max_entry_chars, timezone)
        if len(block) + 3 > left:
            break
        left -= len(block) + 3
        blocks.append(block)
    omitted = len(known) - len(blocks)
    if omitted and len(note := f"> {_ELLIPSIS} ({omitted})") + 3 <= left:
        blocks.append(note)
    return "\n>\n".join(reversed(blocks))


def _block(entry: Entry, names: Mapping[str, str], limit: int, timezone: tzinfo) -> str:
    content = entry.get("content")
    text = content if isinstance(content, str) else ""
    if len(text) > limit:
        text = text[:limit] + _ELLIPSIS
    first, *more = [_plain(line) for line in _LINE_ENDS.split(text)]
    when = _time(entry.get("ts"), timezone)
    head = f"> **{_name(entry, names)}**{f' ({when})' if when else ''}: {first}"
    return "\n".join([head.rstrip(), *(f"> {line}".rstrip() for line in more)])


def _name(entry: Entry, names: Mapping[str, str]) -> str:
    sender = entry.get("sender")
    known = names.get(sender) if isinstance(sender, str) else None
    candidates: tuple[Any, ...] = (known, entry.get("sender_name"), entry.get("agent"), sender, entry.get("role"))
    name = next((one for one in candidates if isinstance(one, str) and one.strip()), "?")
    return _plain(" ".join(name.split())[:_NAME_LIMIT])


def _plain(text: str) -> str:
    """The text escaped for Markdown: no markup, link, mention, HTML or list begins in it."""
    text = _CONTROL.sub("", text).replace("\t", " ")
    text = _SPECIAL.sub(r"\\\1", text)
    text = _LINK.sub(lambda match: match[0] + "\N{ZERO WIDTH SPACE}", text)
    return _LIST.sub(lambda match: f"{match[1]}{match[2][:-1]}\\{match[2][-1]}", text.strip())


def _time(ts: Any, timezone: tzinfo) -> str:
    try:
        return f"{datetime.fromtimestamp(ts / 1000, timezone):%Y-%m-%d %H:%M}" if ts else ""
    except (TypeError, ValueError, OverflowError, OSError):
        return ""
