"""Names of agents: validation, protection against lookalikes, and generated names such as GreenCastle."""

import re
import secrets
import unicodedata
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, Final

from nanobot_transcript.entry import well_formed
from nanobot_transcript.errors import ActingRefusedError, InvalidLetterError
from nanobot_transcript.unicode_text import folded
from transcript_mcp.mail.agents.words import ADJECTIVES, NOUNS

__all__ = [
    "ADJECTIVES",
    "HUMAN",
    "NOUNS",
    "checked_name",
    "disguised",
    "folded",
    "is_reserved",
    "normal",
    "pick",
    "reduced",
    "refuse_disguise",
    "skeleton",
]

HUMAN: Final = "human"
"""The sender of mail that a person writes."""
_RESERVED: Final = frozenset({HUMAN, "overseer", "system"})

_LONGEST: Final = 64
_LONGEST_HINT: Final = 48
_MOST_BYTES: Final = 200  # the name is part of folder and file names, which have at most 255 bytes
# Letters, marks and fillers that are displayed as nothing: with them, two names could look the same.
_INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0"
    "\U00016fe4\U0001bc9d\U0001bca0-\U0001bca3\U000e0100-\U000e01ef]"
)
_INSIDE: Final = frozenset("-_. ")
_DRAWS: Final = 40


def is_reserved(name: str) -> bool:
    """True for names that stand for people or the system, in any case, and for lookalikes of them."""
    return folded(name) in _RESERVED or skeleton(name) in _RESERVED


def normal(name: str) -> str:
    """The name as it is stored and looked up: NFC, without spaces around it."""
    return unicodedata.normalize("NFC", well_formed(name).strip())


def checked_name(name: Any) -> str:
    """A chosen name, normalised. Raises InvalidLetterError, and ActingRefusedError for a reserved one.

    Does not check for lookalikes, because existing names may be such; ``refuse_disguise`` checks new ones.
    """
    if not isinstance(name, str) or not name.strip():
        raise InvalidLetterError("An agent's name must be a non-empty text.", hint=_HINT)
    clean = normal(name)
    if len(clean) > _LONGEST or len(clean.encode()) > _MOST_BYTES:
        raise InvalidLetterError(
            f"An agent's name may have at most {_LONGEST} characters ({_MOST_BYTES} bytes).", hint="Shorten the name."
        )
    if not (clean[0].isalnum() and all(_may_stand(char) for char in clean)) or clean.endswith("."):
        shown = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in clean)
        raise InvalidLetterError(f"{shown} cannot be an agent's name: it names a folder, too.", hint=_HINT)
    if is_reserved(clean):
        raise ActingRefusedError(
            f"The name {clean} is reserved: it stands for people or the system.", hint="Choose another name."
        )
    return clean


def refuse_disguise(name: str) -> None:
    """Raise InvalidLetterError for a new name in which a letter of another script looks like a Latin one."""
    letter = disguised(name)
    if letter is not None:
        raise InvalidLetterError(
            f"{name} reads like a name of Latin letters, and {letter} in it is {unicodedata.name(letter)}.",
            hint="Write each word in the letters of one script.",
        )


_HINT: Final = (
    "Start with a letter or digit of any script; after that '-', '_', '.' and spaces in between are allowed, too."
)


def _may_stand(char: str) -> bool:
    """True for letters, digits, combining marks, and separators that may be inside a name."""
    visible = char.isalnum() or char in _INSIDE or unicodedata.category(char).startswith("M")
    return visible and not _INVISIBLE.match(char)


def reduced(hint: str | None) -> str:
    """The letters and digits of a hint; empty if they cannot be a new name.

    >>> reduced("green castle!"), reduced("小 助手"), reduced("Human")
    ('greencastle', '小助手', '')
    """
    text = unicodedata.normalize("NFKC", hint or "")
    kept = "".join(char for char in text if char.isalnum() and _may_stand(char))[:_LONGEST_HINT]
    return "" if is_reserved(kept) or disguised(kept) else kept


def pick(is_taken: Callable[[str], bool], hint: str | None = None) -> str:
    """A free name: the reduced hint, with a number if it is taken, else an adjective and a noun."""
    return next(name for name in _candidates(reduced(hint)) if not is_taken(name))


def _candidates(hint: str) -> Iterator[str]:
    if hint:
        yield hint
        yield from _numbered(hint)
    for _ in range(_DRAWS):
        yield _pair()
    yield from _numbered(_pair())


def _numbered(name: str) -> Iterator[str]:
    for number in range(2, 10):
        yield f"{name}{number}"
    for digits in range(2, 12):  # random numbers of growing length: few tries even for a very popular name
        for _ in range(8):
            yield f"{name}{secrets.randbelow(9 * 10 ** (digits - 1)) + 10 ** (digits - 1)}"


def _pair() -> str:
    return secrets.choice(ADJECTIVES) + secrets.choice(NOUNS)


_LOOKING_LIKE: Final = {
    "2": "\u01a7\u03e8\u14bf\ua644\ua75a",
    "3": "\u01b7\u021c\u0417\u04e0\u2ccc\ua76a\ua7ab",
    "4": "\u13ce",
    "5": "\u01bc",
    "6": "\u13ee\u2cd2",
    "8": "\u0222\u0223",
    "9": "\u2cca\ua76e",
    "A": "\u0391\u0410\u13aa\u15c5\ua4ee",
    "B": "\u0392\u0412\u13f4\u15f7\ua4d0\ua7b4",
    "C": "\u0421\u13df\u2ca4\ua4da",
    "D": "\u13a0\u15de\u15ea\ua4d3",
    "E": "\u0395\u0415\u13ac\u2d39\ua4f0",
    "F": "\u03dc\u15b4\ua4dd\ua798",
    "G": "\u050c\u13c0\u13f3\ua4d6",
    "H": "\u0397\u041d\u13bb\u157c\u2c8e\ua4e7",
    "J": "\u037f\u0408\u13ab\u148d\ua4d9\ua7b2",
    "K": "\u039a\u041a\u13e6\u16d5\u2c94\ua4d7",
    "L": "\u13de\u14aa\u2cd0\ua4e1",
    "M": "\u039c\u03fa\u041c\u13b7\u15f0\u16d6\u2c98\ua4df",
    "N": "\u039d\u2c9a\ua4e0",
    "O": "\u3007\u039f\u041e\u0555\u0b20\u12d0\u2c9e\u2d54\ua4f3",
    "P": "\u03a1\u0420\u13e2\u146d\u2ca2\ua4d1",
    "Q": "\u2d55",
    "R": "\u01a6\u13a1\u13d2\u1587\ua4e3",
    "S": "\u0405\u054f\u13d5\u13da\ua4e2",
    "T": "\u03a4\u0422\u13a2\u2ca6\ua4d4",
    "U": "\u054d\u1200\u144c\ua4f4",
    "V": "\u0474\u13d9\u142f\u2d38\ua4e6\ua6df",
    "W": "\u051c\u13b3\u13d4\ua4ea",
    "X": "\u03a7\u0425\u16b7\u2cac\u2d5d\ua4eb\ua7b3",
    "Y": "\u03a5\u0423\u04ae\u13a9\u13bd\u2ca8\ua4ec",
    "Z": "\u0396\u13c3\ua4dc",
    "a": "\u0251\u03b1\u0430",
    "b": "\u0184\u042c\u13cf\u1472\u15af",
    "c": "\u0441\u2ca5\uabaf",
    "d": "\u0501\u13e7\u146f\ua4d2",
    "e": "\u0435\u04bd\uab32",
    "f": "\u0584\u1e9d\ua799\uab35",
    "g": "\u018d\u0261\u0581\u1d83",
    "h": "\u04bb\u0570\u13c2",
    "i": "\u0131\u0269\u03b9\u0456\u04cf\u13a5\ua647\uab75",
    "j": "\u03f3\u0458",
    "l": "\u0196\u01c0\u0399\u0406\u04c0\u16c1\u2c92\u2d4f\ua4f2",
    "n": "\u0578\u057c",
    "o": "\u03bf\u03c3\u043e\u0585\u0d20\u101d\u10ff\u1d11\u2c9f\uab3d",
    "p": "\u03c1\u0440\u2ca3",
    "q": "\u051b\u0563\u0566",
    "r": "\u0433\u1d26\u2c85\uab47\uab48\uab81",
    "s": "\u01bd\u0455\uabaa",
    "u": "\u028b\u03c5\u057d\ua79f\uab4e\uab52",
    "v": "\u03bd\u0475\uaba9",
    "w": "\u026f\u0461\u051d\u0561\uab83",
    "x": "\u0445\u1541\u157d",
    "y": "\u0263\u03b3\u0443\u04af\u10e7\u1d8c\u1eff\uab5a",
    "z": "\uab93",
}
_FORM_OF_CAPITALS: Final = (
    "\u1d00\u0299\u1d04\u1d05\u1d07\ua730\u0262\u029c\u026a\u1d0a\u1d0b\u029f"
    "\u1d0d\u0274\u1d0f\u1d18\u0280\ua731\u1d1b\u1d1c\u1d20\u1d21\u028f\u1d22"
    "\u03b2\u0432\u03b7\u043d\u03ba\u043a\u043c\u03c4\u0442\u03c7"
)
_FOREIGN: Final = {
    **{ord(letter): latin for latin, letters in _LOOKING_LIKE.items() for letter in letters},
    **str.maketrans(_FORM_OF_CAPITALS, "abcdefghijklmnoprstuvwyzbbnhkkmttx"),
}
_GREEK: Final = str.maketrans("\u0413\u041f\u0424\u043f", "\u0393\u03a0\u03a6\u03c0")
"""Cyrillic letters that look like Greek ones."""
_NO_DOT: Final = re.compile("(?<=[ij])\u0307")
"""A combining dot on a letter that already has one."""
_WITHIN_ASCII: Final = (("L", "L|"), ("I", "l"), ("1", "l"), ("0", "O"), ("rn", "m"))
"""The first pair protects capital L, which looks like none of the others, from becoming l by case folding."""
_COMPARED: Final = ("GREEK", "CYRILLIC")
"""Scripts whose lookalikes of Latin letters are all in the table."""
_WITH_LATIN: Final = frozenset(
    ("LATIN", "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC", "MODIFIER")
)
_APART: Final = re.compile("[-_. ]+")


def skeleton(name: str) -> str:
    """What the name looks like, only for comparisons. Names that differ only in case may have different skeletons.

    >>> skeleton("GreenC\\u0430st1e") == skeleton("GreenCastle"), skeleton("hurnan"), skeleton("JOS\\u00c9")
    (True, 'human', 'jos\u00e9')
    """
    seen = name
    if not name.isascii():
        decomposed = unicodedata.normalize("NFKD", name).translate(_FOREIGN).translate(_GREEK)
        seen = unicodedata.normalize("NFC", _NO_DOT.sub("", decomposed))
    for letters, like in _WITHIN_ASCII:  # a table for str.translate would take five times as long
        seen = seen.replace(letters, like)
    return " ".join(seen.casefold().split())


def disguised(name: str) -> str | None:
    """The first letter or digit of another script in a word that looks as if it were all Latin; None without one.

    Greek and Cyrillic letters count if they look like Latin ones and the word has no others of those scripts; a letter
    of another script counts if it is alone among Latin letters. Chinese, Japanese and Korean may be mixed with Latin.

    >>> disguised("hum\\u0430n"), disguised("\\u0431\\u043e\\u0442GPT"), disguised("GPT\u52a9\u624b")
    ('\u0430', None, None)
    """
    if name.isascii():
        return None
    for word in _APART.split(unicodedata.normalize("NFKC", name)):
        runs = [(script, list(run)) for script, run in groupby(filter(str.isalnum, word), _script)]
        foreign = [run for script, run in runs if script not in _WITH_LATIN]
        looks_latin = all(len(run) == 1 or all(ord(char) in _FOREIGN for char in run) for run in foreign)
        known = all(ord(char) in _FOREIGN for script, run in runs if script in _COMPARED for char in run)
        if foreign and looks_latin and known and any(script == "LATIN" for script, _ in runs):
            return foreign[0][0]
    return None


def _script(char: str) -> str:
    """The script: the first word of the character's Unicode name."""
    return "LATIN" if char.isascii() else unicodedata.name(char, "").partition(" ")[0]
