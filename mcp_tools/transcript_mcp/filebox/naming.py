"""File names of mails: ``YYYY-MM-DD_HHMM-TYPE-title-id8.md``, in UTC, with the title's letters of any script."""

import re
import unicodedata
from datetime import UTC, datetime
from typing import Final

__all__ = ["file_name", "id_suffix", "is_file_name", "numbered", "slug", "suffix_of_name"]

_LONGEST_SLUG: Final = 80
_WORDLESS: Final = "message"
_GAPS: Final = re.compile(r"[\s-]+")
_NAME: Final = re.compile(r"(?!\.)[^/\\\0\n]+\.md")
_FIRST_GROUP: Final = re.compile(r"[0-9a-f]{8}(?=-|\Z)")
_SUFFIX: Final = re.compile(r"-[0-9a-f]{8}\.md")
_SUFFIX_LENGTH: Final = 12


def file_name(moment: datetime, msg_type: str, title: str, message_id: str) -> str:
    """The name of a new mail's file.

    >>> file_name(datetime(2025, 6, 30, 8, 15, tzinfo=UTC), "BR", "API performance issue", "1b1d8fc0-034e-4fd4")
    '2025-06-30_0815-BR-api-performance-issue-1b1d8fc0.md'
    """
    return f"{moment.astimezone(UTC):%Y-%m-%d_%H%M}-{msg_type}-{slug(title)}-{message_id.partition('-')[0]}.md"


def slug(title: str) -> str:
    """Letters and digits of the title, joined by dashes, at most 80 bytes.

    >>> slug(" 登录页面  v1.2 - broken!")
    '登录页面-v12-broken'
    """
    text = unicodedata.normalize("NFC", title).lower()
    kept = "".join(char for char in text if _stays(char))
    joined = _GAPS.sub("-", kept).strip("-")
    return joined.encode()[:_LONGEST_SLUG].decode(errors="ignore").rstrip("-") or _WORDLESS


def is_file_name(name: str) -> bool:
    """True for what may name a mail in a box: no folder, nothing hidden, one line, ending in ``.md``."""
    return _NAME.fullmatch(name) is not None


def id_suffix(message_id: str) -> str | None:
    """How the names of a mail with this id end, None for ids that are no UUIDs.

    >>> id_suffix("1b1d8fc0-034e-4fd4-874b-a8d39f95ba68")
    '-1b1d8fc0.md'
    """
    found = _FIRST_GROUP.match(message_id.lower())
    return f"-{found[0]}.md" if found else None


def suffix_of_name(name: str) -> str | None:
    """The end of the name that tells the id, None when it tells none."""
    end = name[-_SUFFIX_LENGTH:]
    return end if _SUFFIX.fullmatch(end) else None


def numbered(name: str, number: int) -> str:
    """Another name for a mail whose own is taken; it still ends as the id demands.

    >>> numbered("2025-06-30_0815-BR-slow-1b1d8fc0.md", 2)
    '2025-06-30_0815-BR-slow-2-1b1d8fc0.md'
    """
    suffix = suffix_of_name(name) or ".md"
    return f"{name.removesuffix(suffix)}-{number}{suffix}"


def _stays(char: str) -> bool:
    return char.isspace() or char == "-" or unicodedata.category(char)[0] in "LNM"
