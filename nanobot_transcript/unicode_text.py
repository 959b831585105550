"""Text in any script: names and words to compare, and the tokens of a text."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

__all__ = ["COMMON", "DENSE", "DENSE_CHARACTER", "TEXT_LIMIT", "appearance", "folded", "on_one_line", "tokens"]

TEXT_LIMIT: Final = 4000
"""Only so many characters of a text are read."""

DENSE: Final = (
    "\u0e00-\u0eff\u1100-\u11ff\u2e80-\u303f\u3040-\u30ff\u3100-\u31ff\u3400-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f"
)
"""Scripts without spaces between words, or with endings attached to names, as a character class."""

DENSE_CHARACTER: Final = re.compile(f"[{DENSE}]")

_UNSEEN: Final = frozenset({"Cc", "Cf", "Co"})
_JOINER: Final = "\u200d"
"""Joins several emoji into one, and so has a visible effect."""

_BLANK: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U000e0000-\U000e0fff]"
)
"""Letters, marks and symbols that are invisible, most of them variation selectors."""

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
    """A text or name in the form in which names are compared: without case, and independent of how its characters were
    composed.

    >>> folded("Jose\\u0301") == folded("JOSÉ"), folded("Ａlpha")
    (True, 'alpha')
    """
    return unicodedata.normalize("NFKC", text[:TEXT_LIMIT]).casefold()[:TEXT_LIMIT]


def on_one_line(text: str, longest: int) -> str:
    """A name as it is read: runs of spaces and line breaks become one space, and invisible characters are removed.

    >>> on_one_line(" Release\\n\\u202eteam\\u200b ", 20)
    'Release team'
    """
    text = text[:TEXT_LIMIT]
    if not text.isprintable():
        text = "".join(filter(_is_seen, (" " if each.isspace() else each for each in text)))
    return " ".join(text.split())[:longest].strip(f" {_JOINER}")


def appearance(name: str) -> str:
    """What a name looks like, only for comparing: folded, in Latin letters where others look the same, and without
    invisible characters.

    >>> appearance("A\\u00adda\\ufe0f"), appearance("Ада") == appearance("ada"), appearance("陈晨")
    ('ada', False, '陈晨')
    """
    if name.isascii() and name.isprintable():
        return " ".join(name[:TEXT_LIMIT].casefold().split())
    apart = _BLANK.sub("", unicodedata.normalize("NFKD", name[:TEXT_LIMIT]))  # marks by themselves, letters without
    return folded(on_one_line(apart, TEXT_LIMIT).replace(_JOINER, "").translate(_LATIN))


def _is_seen(character: str) -> bool:
    return character == _JOINER or unicodedata.category(character) not in _UNSEEN


_TOKEN: Final = re.compile(rf"[^\W{DENSE}]+|(?:(?![\u3000-\u303f])[{DENSE}])+")


def tokens(text: str) -> list[str]:
    """The words of a text, and the overlapping pairs of its dense characters (a single one stands for itself).

    >>> tokens("Beta的发布 v2")
    ['beta', '的发', '发布', 'v2']
    """
    return list(_tokens(text[:TEXT_LIMIT].casefold()))


def _tokens(text: str) -> Iterator[str]:
    for run in _TOKEN.findall(text):
        if DENSE_CHARACTER.match(run) and len(run) > 1:
            yield from (run[at : at + 2] for at in range(len(run) - 1))
        else:
            yield run


_ENGLISH: Final = """
a about after again all also am an and any anybody anyone anything are as at back be because been before being but by
can cannot come could did do does doing done down each else even ever every everyone few for from get gets give go
goes going gone good got had has have having he her here hers him his hope how i if in into is it its just keep know
last let lets like little look looked looking looks made make makes many may maybe me mean might more most much must
my need needs never new next no nobody none nor not nothing now of off ok okay old on once one only or other our ours
out over own please put quite rather really right said same saw say says see seem seems seen shall she should since so
some somebody someone something soon still such sure take takes tell than thank thanks that the their them then there
these they thing things think this those though through till to today together told too tried try under until up us
use very want wants was way we well went were what when where whether which while who whole whom whose why will with
within without would yes yesterday yet you your yours
"""


_CHINESE: Final = """
一下 一个 一些 一样 一起 不是 不要 不能 不过 什么 他们 任何 但是 你们 你好 其他 再看 出来 出现
到了 可以 可能 因为 如果 就是 已经 帮我 应该 怎么 怎样 我们 我看 所以 所有 是不 是否 时候 有没
有点 有些 没有 然后 现在 的话 看看 知道 能不 自己 觉得 起来 这个 这些 这样 这里 还是 还有 还没
进行 通过 那个 那些 那么 那里 都是 需要
"""


COMMON: Final = frozenset(f"{_ENGLISH} {_CHINESE}".split())
"""Tokens so common that they say nothing about the topic of a text."""
