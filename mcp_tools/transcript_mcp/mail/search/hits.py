"""Searches a project's messages, the newest first, and marks the matches."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Final, TypedDict

from nanobot_transcript.sql.contract import Database, Row, Sql
from transcript_mcp.mail.messages.boxes import COUNTED, LAST, MOST_FOUND, number_of
from transcript_mcp.mail.search.index_text import APART, without_embedded
from transcript_mcp.mail.search.query import LetterQuery, Term, parse
from transcript_mcp.mail.values import LetterPage

__all__ = ["MARK", "Hit", "Hits", "search"]

MARK: Final = "**"
"""Stands before and after a match. Asterisks of the text that could be mistaken for it are left out."""

_LOOKED_AT: Final = 20_000
"""Characters of a text in which matches are marked. For matches further on, the text's beginning is shown."""

_BEFORE: Final = 60
_LENGTH: Final = 200
_TO_A_WORD: Final = 20
_PAST: Final = 2000
"""Characters after a snippet in which a word that begins in it may end."""

_MOST_TERMS: Final = 16
_MOST_PARTS: Final = 16
_LETTER: Final = rf"[^\W_{APART}]"
_PART: Final = re.compile(rf"[{APART}]|{_LETTER}+")
_ONE_APART: Final = re.compile(f"[{APART}]")
_SPACE: Final = re.compile(r"\s")
_ASTERISKS: Final = re.compile(r"\*{2,}|\A\*|\*\Z")
_NO_TERM: Final = re.compile(r"(?!)")

# FTS5 returns rows ordered by rowid, here the newest first, without sorting, and stops at the limit.
_FIND: Final = (
    "SELECT id, messages.seq, thread_id, messages.subject AS subject, from_agent, created_ts, importance,"
    " CASE WHEN instr(messages.body_md, ';base64,') > 0 THEN messages.body_md"
    f" ELSE substr(messages.body_md, 1, {_LOOKED_AT}) END AS body"
    " FROM fts_messages CROSS JOIN messages ON messages.seq = fts_messages.rowid"
    " WHERE fts_messages MATCH ? AND fts_messages.rowid < ? ORDER BY fts_messages.rowid DESC LIMIT ?"
)
_COUNT: Final = (
    "SELECT count(*) FROM (SELECT 1 FROM fts_messages"
    f" WHERE fts_messages MATCH ? AND fts_messages.rowid < ? LIMIT {COUNTED}) AS found"
)

Hit = TypedDict(
    "Hit",
    {
        "id": str,
        "thread_id": str | None,
        "subject": str,
        "from": str,
        "created_ts": float,
        "importance": str,
        "snippet": str,
    },
)
"""A message that was found. ``snippet`` is the body around the first match, or the subject if only that matches, with
the matches between ``**``; ``created_ts`` is in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Hits:
    """The messages, the newest first, and notes on parts of the query that were not taken literally."""

    hits: LetterPage[Hit]
    notes: tuple[str, ...]


def search(database: Database, project_id: int, query: str, limit: int = 20, before: str | None = None) -> Hits:
    """The newest messages of a project that match the query (see ``query``), at most ``limit``.
    ``before`` is a message's id: only messages accepted before it. ``more`` is counted up to 1,000. No query is an
    error: one without a word finds nothing, and a note says why. Raises LetterNotFoundError for an unknown id, and
    StoreError kinds.
    """
    understood = parse(query)
    expression = understood.match(project_id)
    if expression is None:
        return Hits(LetterPage(), understood.notes)
    bound = max(1, min(limit, MOST_FOUND))

    def work(db: Sql) -> LetterPage[Hit]:
        below = number_of(db, before) if before else LAST
        rows = db.execute(_FIND, (expression, below, bound)).fetchall()
        hits = _hits(understood, rows)
        if len(rows) < bound:
            return LetterPage(hits)
        return LetterPage(hits, db.execute(_COUNT, (expression, rows[-1]["seq"])).fetchone()[0], hits[-1]["id"])

    return Hits(database.read(work, LetterPage()), understood.notes)


def _hits(query: LetterQuery, rows: list[Row]) -> list[Hit]:
    marker = _Marker(query.terms())
    return [
        {
            "id": row["id"],
            "thread_id": row["thread_id"],
            "subject": row["subject"],
            "from": row["from_agent"],
            "created_ts": row["created_ts"],
            "importance": row["importance"],
            "snippet": marker.snippet(without_embedded(row["body"]), row["subject"]),
        }
        for row in rows
    ]


class _Folding(dict[int, int]):
    """Characters as the index compares them: without case and accents. One for one, so that positions stay the same."""

    def __missing__(self, code: int) -> int:
        character = chr(code)
        if _apart(character):  # in kana, the mark that looks like an accent makes another letter
            plain = unicodedata.normalize("NFKC", character)
        else:
            plain = "".join(c for c in unicodedata.normalize("NFKD", character) if not unicodedata.combining(c)).lower()
        folded = ord(plain) if len(plain) == 1 else code
        if code < 0x10000:
            self[code] = folded
        return folded


_folding: Final = _Folding()


class _Marker:
    """Makes snippets of texts, with the words of one query marked."""

    def __init__(self, terms: Sequence[Term]) -> None:
        patterns = list(filter(None, map(_pattern, terms[:_MOST_TERMS])))
        self._wanted: re.Pattern[str] = re.compile("|".join(patterns)) if patterns else _NO_TERM

    def snippet(self, *texts: str) -> str:
        """The first text with a match, cut around it; the beginning of the first text when none has one."""
        composed = [unicodedata.normalize("NFC", text[:_LOOKED_AT]) for text in texts]
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
    """A pattern for folded texts. Its repetitions are bounded, so that no text can make it slow."""
    parts: list[str] = _PART.findall(_folded(unicodedata.normalize("NFC", term.text)))[:_MOST_PARTS]
    if not parts:
        return ""
    # The word first, and then what may not precede it: `re` finds patterns that begin with letters much faster.
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
