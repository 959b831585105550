"""How scripts differ where names and words are looked for: spaces between words, composed characters."""

import re
import unicodedata
from typing import Final

__all__ = ["DENSE", "TEXT_LIMIT", "appearance", "folded", "on_one_line"]

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

_BLANK: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U000e0000-\U000e0fff]"
)
"""Letters, marks and symbols that show nothing, most of them variation selectors."""

_DOUBLES: Final = {
    "a": "АаΑα",
    "b": "ВвЬьΒβ",
    "c": "СсϹϲ",
    "d": "Ԁԁ",
    "e": "ЕеΕε",
    "g": "Ԍԍ",
    "h": "НнҺһΗη",
    "i": "ІіΙι",
    "j": "ЈјͿϳ",
    "k": "КкΚκ",
    "l": "Ӏӏ",
    "m": "МмΜμ",
    "n": "Ν",
    "o": "ОоΟο",
    "p": "РрΡρ",
    "q": "Ԛԛ",
    "s": "Ѕѕ",
    "t": "ТтΤτ",
    "v": "Ѵѵν",
    "w": "Ԝԝ",
    "x": "ХхΧχ",
    "y": "УуҮүΥυ",
    "z": "Ζζ",
}
"""Cyrillic and Greek letters of which the capital or the small one can be read as a Latin letter. Both count, so that
case makes no difference; only the Greek nu looks like two Latin letters (N and v). The list ends with these two
scripts, which look like Latin in nearly every font. Others (Armenian, Cherokee) seldom do, and letters of one script
that resemble each other (I and l, rn and m) are in too many honest names.
"""
_LATIN: Final = str.maketrans({double: latin for latin, doubles in _DOUBLES.items() for double in doubles})


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
    text = text[:TEXT_LIMIT]
    if not text.isprintable():
        text = "".join(filter(_is_seen, (" " if each.isspace() else each for each in text)))
    return " ".join(text.split())[:longest].strip(f" {_JOINER}")


def appearance(name: str) -> str:
    """What a name looks like, for comparing alone: folded, in Latin letters where others look the same, and without
    what nobody sees.

    >>> appearance("A\\u00adda\\ufe0f"), appearance("Ада") == appearance("ada"), appearance("陈晨")
    ('ada', False, '陈晨')
    """
    if name.isascii() and name.isprintable():
        return " ".join(name[:TEXT_LIMIT].casefold().split())
    apart = _BLANK.sub("", unicodedata.normalize("NFKD", name[:TEXT_LIMIT]))  # marks by themselves, letters without
    return folded(on_one_line(apart, TEXT_LIMIT).replace(_JOINER, "").translate(_LATIN))


def _is_seen(character: str) -> bool:
    return character == _JOINER or unicodedata.category(character) not in _UNSEEN
