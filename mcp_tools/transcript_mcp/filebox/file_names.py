"""File names of mails: ``YYYY-MM-DD_HHMM-TYPE-title-id8.md``, in UTC, with the title's letters of any script.

Other programs may use any name. Bytes that cannot be shown on one line or are not UTF-8 are shown as ``\\xHH``, and so
are backslashes; the shown name can be converted back.
"""

import os
import re
import unicodedata
from datetime import UTC, datetime
from typing import Final

__all__ = ["file_name", "id_suffix", "is_file_name", "numbered", "real_name", "shown_name", "slug", "suffix_of_name"]

_WORDLESS: Final = "message"
_GAPS: Final = re.compile(r"[\s-]+")
_NAME: Final = re.compile(r"(?!\.)[^/]+\.md")
_LONGEST_NAME: Final = 255  # bytes
_HIDDEN: Final = re.compile(r"[\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SHOWN: Final = re.compile(rb"\\x([0-9a-f]{2})")
_FIRST_GROUP: Final = re.compile(r"[0-9a-f]{8}(?=-|\Z)")
_SUFFIX: Final = re.compile(r"-[0-9a-f]{8}\.md")
_SUFFIX_LENGTH: Final = 12


def file_name(moment: datetime, msg_type: str, title: str, message_id: str) -> str:
    """The name of a new mail's file, with as much of the title as fits into 255 bytes.

    >>> file_name(datetime(2025, 6, 30, 8, 15, tzinfo=UTC), "BR", "API performance issue", "1b1d8fc0-034e-4fd4")
    '2025-06-30_0815-BR-api-performance-issue-1b1d8fc0.md'
    """
    before, behind = f"{moment.astimezone(UTC):%Y-%m-%d_%H%M}-{msg_type}-", f"-{message_id.partition('-')[0]}.md"
    return f"{before}{slug(title, _LONGEST_NAME - len(before) - len(behind))}{behind}"


def slug(title: str, longest: int) -> str:
    """Letters and digits of the title, joined by dashes, at most ``longest`` bytes.

    >>> slug(" 登录页面  v1.2 - broken!", 80)
    '登录页面-v12-broken'
    """
    text = unicodedata.normalize("NFC", title).lower()
    kept: list[str] = []
    for char in text:
        if _stays(char) and not (_is_mark(char) and not (kept and _is_written(kept[-1]))):
            kept.append(char)
    joined = _GAPS.sub("-", "".join(kept)).strip("-")
    return _cut(joined, longest).rstrip("-") or _WORDLESS


def is_file_name(name: str) -> bool:
    """True for the shown name of a possible mail in a box: not hidden, without slashes, ending in ``.md``."""
    try:
        real = real_name(name)
    except UnicodeEncodeError:
        return False
    return (
        shown_name(real) == name
        and "\0" not in real
        and _NAME.fullmatch(real) is not None
        and (len(os.fsencode(real)) <= _LONGEST_NAME)
    )


def shown_name(name: str) -> str:
    """The operating system's name of a file, on one line and in valid Unicode.

    >>> shown_name("two\\nlines.md")
    'two\\\\x0alines.md'
    """
    return _HIDDEN.sub(lambda char: "".join(f"\\x{byte:02x}" for byte in os.fsencode(char[0])), name)


def real_name(shown: str) -> str:
    """The operating system's name for a shown name. Raises UnicodeEncodeError for lone surrogates."""
    return os.fsdecode(_SHOWN.sub(lambda found: bytes.fromhex(found[1].decode()), shown.encode()))


def id_suffix(message_id: str) -> str | None:
    """The ending of file names of a mail with this id, None for ids that are not UUIDs.

    >>> id_suffix("1b1d8fc0-034e-4fd4-874b-a8d39f95ba68")
    '-1b1d8fc0.md'
    """
    found = _FIRST_GROUP.match(message_id.lower())
    return f"-{found[0]}.md" if found else None


def suffix_of_name(name: str) -> str | None:
    """The ending of the name with the id, None if there is none."""
    end = name[-_SUFFIX_LENGTH:]
    return end if _SUFFIX.fullmatch(end) else None


def numbered(name: str, number: int) -> str:
    """Another name for a mail whose name is taken, with the same ending.

    >>> numbered("2025-06-30_0815-BR-slow-1b1d8fc0.md", 2)
    '2025-06-30_0815-BR-slow-2-1b1d8fc0.md'
    """
    suffix = suffix_of_name(name) or ".md"
    end = f"-{number}{suffix}"
    return _cut(name.removesuffix(suffix), _LONGEST_NAME - len(end)) + end


def _cut(text: str, longest: int) -> str:
    """The beginning of a text, of at most ``longest`` bytes as a file name."""
    encoded = os.fsencode(text)
    return text if len(encoded) <= longest else encoded[:longest].decode(errors="ignore")


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M"


def _is_written(char: str) -> bool:
    """True for a letter or digit, and for a mark on one: another mark may follow."""
    return unicodedata.category(char)[0] in "LNM"


def _stays(char: str) -> bool:
    return char.isspace() or char == "-" or unicodedata.category(char)[0] in "LNM"
