"""How scripts differ where names and words are looked for: spaces between words, composed characters."""

import unicodedata
from typing import Final

__all__ = ["DENSE", "TEXT_LIMIT", "folded", "on_one_line"]

TEXT_LIMIT: Final = 4000
"""Characters of a text that are looked at."""

DENSE: Final = (
    "\u0e00-\u0eff\u1100-\u11ff\u2e80-\u303f\u3040-\u30ff\u3100-\u31ff\u3400-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f"
)
"""Scripts whose words are not told apart by spaces, or that glue endings to a name, as a character class."""

_UNSEEN: Final = frozenset({"Cc", "Cf", "Co"})
_JOINER: Final = "\u200d"
"""Makes one picture of several, and is seen by that."""


def folded(text: str) -> str:
    """A text or a name as names are compared: without case, and however its characters were composed.

    >>> folded("Jose\\u0301") == folded("JOSÉ"), folded("Ａlpha")
    (True, 'alpha')
    """
    return unicodedata.normalize("NFKC", text[:TEXT_LIMIT]).casefold()[:TEXT_LIMIT]


def on_one_line(text: str, longest: int) -> str:
    """A name as it is read: one space where there were several or line breaks, and nothing that nobody sees.

    >>> on_one_line(" Release\\n\\u202eteam\\u200b ", 20)
    'Release team'
    """
    spaced = "".join(" " if each.isspace() else each for each in text[:TEXT_LIMIT])
    seen = "".join(each for each in spaced if each == _JOINER or unicodedata.category(each) not in _UNSEEN)
    return " ".join(seen.split())[:longest].strip(f" {_JOINER}")
