"""Words of a text that do not depend on spaces: runs of letters, and pairs of characters in scripts without spaces.

Chinese, Japanese and Korean text is cut into overlapping pairs; everything else into words. Everything here is linear
in the length of the text, and reads at most ``TEXT_LIMIT`` characters of it.
"""

import re
from operator import add
from typing import Final

from nanobot_transcript.unicode_text import COMMON, DENSE, DENSE_CHARACTER, TEXT_LIMIT

__all__ = ["breadth", "clipped", "is_dense", "is_question", "terms", "words"]

_MARKS: Final = "\u2e80-\u303f"
_NO_MARKS: Final = "\u2e80-\u2fff"  # a smaller character class is faster than one with exceptions
_NICK_MARKS: Final = r"\-\[\]\\`^{}|"
_WORD: Final = re.compile(rf"(?:[^\W{DENSE}]|[{_NICK_MARKS}])+")
_TERM: Final = re.compile(rf"[^\W_{DENSE}](?:[^\W{DENSE}]|[./+-](?=[^\W_{DENSE}])){{2,40}}")
_DENSE_RUN: Final = re.compile(rf"[{DENSE.replace(_MARKS, _NO_MARKS)}]{{2,}}")
_QUESTION: Final = re.compile(r"\?(?![A-Za-z0-9_=&%])|[？؟՞]|[吗嗎呢么][。.!！~～…\s]{0,9}$")


def clipped(text: str, limit: int) -> str:
    """At most ``limit`` characters of a text: a longer one keeps its beginning and, for a third, its end.

    People who paste a log and then ask about it name the bot at the end.

    >>> clipped("0123456789", 7)
    '0123\\n89'
    """
    if len(text) <= limit:
        return text
    end = limit // 3
    return f"{text[: limit - end - 1]}\n{text[-end:]}"


def words(text: str) -> list[str]:
    """The words of a text as a name may be written in it: letters, digits and the marks of nicknames, case folded.

    >>> words("Alpha你好, bob_|away: ok")
    ['alpha', 'bob_|away', 'ok']
    """
    return _WORD.findall(text[:TEXT_LIMIT].casefold())


def terms(text: str) -> frozenset[str]:
    """What a text is about: its words and the pairs of its dense characters, without those common to all texts.

    >>> sorted(terms("重启 the server at 10.0.0.1"))
    ['10.0.0.1', 'server', '重启']
    """
    text = text[:TEXT_LIMIT].casefold()
    found = set(_TERM.findall(text))
    if not text.isascii():
        for run in _DENSE_RUN.findall(text):
            found.update(map(add, run, run[1:]))
    return frozenset(found - COMMON)


def breadth(text: str) -> int:
    """How much a text says: its length, with a dense character counted as three.

    >>> breadth("ok, 好")
    7
    """
    text = text[:TEXT_LIMIT]
    return len(text) if text.isascii() else len(text) + 2 * len(DENSE_CHARACTER.findall(text))


def is_dense(text: str) -> bool:
    """True when the text has characters of a script without spaces between words."""
    return DENSE_CHARACTER.search(text) is not None


def is_question(text: str) -> bool:
    """True when the text asks something: a question mark anywhere, or a Chinese question particle at its end."""
    return _QUESTION.search(text[:TEXT_LIMIT]) is not None
