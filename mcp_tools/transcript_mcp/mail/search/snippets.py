"""The piece of a text round what was looked for, with marks."""

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import Final

from transcript_mcp.mail.search.query import Term
from transcript_mcp.mail.search.spaced import APART

__all__ = ["LOOKED_AT", "MARK", "Marker"]

MARK: Final = "**"
"""Stands before and after what was found. Asterisks of the text that could be taken for one are left out."""

LOOKED_AT: Final = 20_000
"""Characters of a text in which words are marked. What is found only beyond shows the text's beginning."""

_BEFORE: Final = 60
_LENGTH: Final = 200
_TO_A_WORD: Final = 20
_PAST: Final = 2000
"""Characters behind a piece in which a word that begins in it may end."""

_MOST_TERMS: Final = 16
_MOST_PARTS: Final = 16
_LETTER: Final = rf"[^\W_{APART}]"
_PART: Final = re.compile(rf"[{APART}]|{_LETTER}+")
_ONE_APART: Final = re.compile(f"[{APART}]")
_SPACE: Final = re.compile(r"\s")
_ASTERISKS: Final = re.compile(r"\*{2,}|\A\*|\*\Z")
_NO_TERM: Final = re.compile(r"(?!)")


class _Folding(dict[int, int]):
    """Characters as the index compares them: without case and accents. One for one, so that places stay the same."""

    def __missing__(self, code: int) -> int:
        character = chr(code)
        if _apart(character):  # what looks like an accent makes another letter of kana
            plain = unicodedata.normalize("NFKC", character)
        else:
            plain = "".join(c for c in unicodedata.normalize("NFKD", character) if not unicodedata.combining(c)).lower()
        folded = ord(plain) if len(plain) == 1 else code
        if code < 0x10000:
            self[code] = folded
        return folded


_folding: Final = _Folding()


class Marker:
    """Cuts and marks texts for the words of one query."""

    def __init__(self, terms: Sequence[Term]) -> None:
        patterns = list(filter(None, map(_pattern, terms[:_MOST_TERMS])))
        self._wanted: re.Pattern[str] = re.compile("|".join(patterns)) if patterns else _NO_TERM

    def snippet(self, *texts: str) -> str:
        """The first text that has a word, cut round it; the beginning of the first one when none has."""
        composed = [unicodedata.normalize("NFC", text[:LOOKED_AT]) for text in texts]
        for text in composed:
            folded = _folded(text)
            hit = self._wanted.search(folded)
            if hit is not None:
                return self._cut(text, folded, hit)
        return _shortened(composed[0], 0, min(len(composed[0]), _LENGTH), [])

    def _cut(self, text: str, folded: str, first: re.Match[str]) -> str:
        start = _word_start(text, first.start())
        end = _word_end(text, max(start + _LENGTH, min(first.end(), start + 2 * _LENGTH)))
        found = self._wanted.finditer(folded, first.start(), max(end + _PAST, first.end()))
        hits = takewhile(lambda hit: hit.start() < end, found)
        marks: list[tuple[int, int]] = []
        for hit in hits:
            touching = marks and marks[-1][1] == hit.start()
            begin = marks.pop()[0] if touching else hit.start()
            marks.append((begin, min(hit.end(), end)))
        return _shortened(text, start, end, marks)


def _folded(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_folding)


def _pattern(term: Term) -> str:
    """A pattern for folded texts. Its repetitions are bounded, so that no text makes it slow."""
    parts: list[str] = _PART.findall(_folded(unicodedata.normalize("NFC", term.text)))[:_MOST_PARTS]
    if not parts:
        return ""
    # The word first and then what may not stand before it: patterns that begin with letters are found much faster.
    first = re.escape(parts[0])
    pattern = first + _edge(parts[0], rf"(?<!{_LETTER}{first})")
    for before, part in pairwise(parts):
        glued = _apart(before) or _apart(part)
        pattern += rf"[\W_]{{{0 if glued else 1},20}}" + re.escape(part)
    return pattern + (rf"{_LETTER}{{0,40}}" if term.prefix else _edge(parts[-1], rf"(?!{_LETTER})"))


def _edge(part: str, boundary: str) -> str:
    return "" if _apart(part) else boundary


def _apart(part: str) -> bool:
    return _ONE_APART.fullmatch(part) is not None


def _word_start(text: str, hit: int) -> int:
    start = max(0, hit - _BEFORE)
    if start == 0:
        return 0
    space = _SPACE.search(text, start, min(hit, start + _TO_A_WORD))
    return space.end() if space else start


def _word_end(text: str, end: int) -> int:
    if end >= len(text):
        return len(text)
    space = max(text.rfind(" ", end - _TO_A_WORD, end + 1), text.rfind("\n", end - _TO_A_WORD, end + 1))
    return space if space >= 0 else end


def _shortened(text: str, start: int, end: int, marks: Sequence[tuple[int, int]]) -> str:
    pieces, at = [], start
    for begin, stop in marks:
        pieces += [_harmless(text[at:begin]), MARK, _harmless(text[begin:stop]), MARK]
        at = stop
    pieces.append(_harmless(text[at:end]))
    cut = " ".join("".join(pieces).split())
    return ("…" if start > 0 else "") + cut + ("…" if end < len(text) else "")


def _harmless(piece: str) -> str:
    return _ASTERISKS.sub("", piece)
