"""Text as the full-text index wants it: characters of scripts without spaces stand apart, however they were typed."""

import re
import unicodedata
from typing import Final

from nanobot_transcript.scripts import DENSE
from transcript_mcp.mail.search.embedded import without_embedded

__all__ = ["APART", "spaced"]

APART: Final = DENSE + "\U00020000-\U0003ffff"
"""What stands apart, as a character class: the scripts without spaces, and the rarer Chinese characters."""

_APART: Final = re.compile(f"([{APART}])")


def spaced(text: str) -> str:
    """The text with a space round each character of a script that sets none, so that each is a word of the index.

    SQLite's own tokenizers either take a whole run of Chinese for one word (``unicode61``) or cannot find anything
    shorter than three characters (``trigram``). Full-width and composed forms become the plain ones (NFKC), because
    a Chinese keyboard writes ``ｖ２`` as readily as ``v2``. The data of pictures is left out.

    >>> spaced("发布 ｖ２窗口")
    ' 发  布  v2 窗  口 '
    """
    text = without_embedded(text)
    return text if text.isascii() else _APART.sub(r" \1 ", unicodedata.normalize("NFKC", text))
