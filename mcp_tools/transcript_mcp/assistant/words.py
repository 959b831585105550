"""What people look for in the history, in words of the full-text index."""

import re
import unicodedata
from typing import Final

from nanobot_transcript.scripts import DENSE

__all__ = ["expression", "scope_word", "spaced"]

_APART: Final = re.compile(f"([{DENSE}\U00020000-\U0003ffff])")
_WORD: Final = re.compile(r"[^\W_]+")
_LONGEST: Final = 200
_MOST: Final = 16


def spaced(text: str) -> str:
    """The text with a space round each character of a script that sets none, so that each is a word of the index.

    >>> spaced("发布 ｖ２")
    ' 发  布  v2'
    """
    return text if text.isascii() else _APART.sub(r" \1 ", unicodedata.normalize("NFKC", text))


def scope_word(scope: str) -> str:
    """A scope as one word of the index, so that a search looks at its own records only."""
    return f"s{scope.encode().hex()}"


def expression(text: str, scopes: tuple[str, ...]) -> str | None:
    """The right side of MATCH: all words of the text, each run of Chinese as a phrase. None without a word.

    Each word is quoted, so nothing that a person types reaches SQLite's parser.
    """
    phrases = []
    for piece in text[:_LONGEST].split()[:_MOST]:
        words = _WORD.findall(spaced(piece))
        if words:
            phrases.append(f'"{" ".join(words)}"')
    where = " OR ".join(f'"{scope_word(scope)}"' for scope in scopes)
    return f"scope:({where}) AND {{text answer}}:({' AND '.join(phrases)})" if phrases and scopes else None
