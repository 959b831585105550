"""Text as the full-text index wants it: characters of scripts without spaces stand apart."""

import re
from typing import Final

from nanobot_transcript.scripts import DENSE

__all__ = ["spaced"]

_DENSE_CHARACTER: Final = re.compile(f"([{DENSE}])")


def spaced(text: str) -> str:
    """The text with a space round each character of a script that sets none, so that each is a word of the index.

    SQLite's own tokenizers either take a whole run of Chinese for one word (``unicode61``) or cannot find anything
    shorter than three characters (``trigram``).

    >>> spaced("发布 v2窗口")
    ' 发  布  v2 窗  口 '
    """
    return text if text.isascii() else _DENSE_CHARACTER.sub(r" \1 ", text)
