"""Prepares text for the full-text index: puts spaces around the characters of scripts that are written without them."""

import re
import unicodedata
from typing import Final

from nanobot_transcript.unicode_text import DENSE

__all__ = ["APART", "spaced", "without_embedded"]

APART: Final = DENSE + "\U00020000-\U0003ffff"
"""Characters to separate, as a character class: scripts without spaces, and the rarer Chinese characters."""

_APART: Final = re.compile(f"([{APART}])")


def spaced(text: str) -> str:
    """The text with spaces around each character of a script without spaces, so that each is a word of the index.
    FTS5's own tokenizers either take a whole run of Chinese for one word (``unicode61``) or cannot find anything
    shorter than three characters (``trigram``). Full-width and composed forms become the plain ones (NFKC), because
    a Chinese keyboard writes ``ｖ２`` as readily as ``v2``. The data of embedded pictures is left out.

    >>> spaced("发布 ｖ２窗口")
    ' 发  布  v2 窗  口 '
    """
    text = without_embedded(text)
    return text if text.isascii() else _APART.sub(r" \1 ", unicodedata.normalize("NFKC", text))


_MARK: Final = ";base64,"
_DATA: Final = re.compile(
    r"\bdata:[\w./+-]{1,80}(?:;[\w-]{1,40}=[\w.+-]{0,40}){0,4};base64,[A-Za-z0-9+/=%_-]*+", re.IGNORECASE
)


def without_embedded(text: str) -> str:
    """The text with each data URI replaced by a dash.

    >>> without_embedded("![flow](data:image/webp;base64,UklGRg==) as said")
    '![flow](-) as said'
    """
    return _DATA.sub("-", text) if _MARK in text else text
