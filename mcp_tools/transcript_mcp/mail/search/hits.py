"""Finding messages of a project by their words, the newest first."""

from dataclasses import dataclass
from typing import Final, TypedDict

from nanobot_transcript.sql.contract import Database, Row, Sql
from transcript_mcp.mail.messages.boxes import COUNTED, LAST, number_of
from transcript_mcp.mail.search.embedded import without_embedded
from transcript_mcp.mail.search.query import Query, parse
from transcript_mcp.mail.search.snippets import LOOKED_AT, Marker
from transcript_mcp.mail.values import Page

__all__ = ["MOST_FOUND", "Found", "Hit", "search"]

MOST_FOUND: Final = 100
"""Messages of one answer, whatever limit was asked for."""

# The index gives its rows in the order of their numbers, the newest first, and stops at the limit: nothing is sorted.
_FIND: Final = (
    "SELECT id, messages.seq, thread_id, messages.subject AS subject, from_agent, created_ts, importance,"
    " CASE WHEN instr(messages.body_md, ';base64,') > 0 THEN messages.body_md"
    f" ELSE substr(messages.body_md, 1, {LOOKED_AT}) END AS body"
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
"""A message that was found. ``snippet`` is the body round the first word that was found, or the subject when only that
has it, with the words between ``**``; ``created_ts`` is in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Found:
    """The messages, the newest first, and sentences about what of the query was understood otherwise."""

    hits: Page[Hit]
    notes: tuple[str, ...]


def search(database: Database, project_id: int, query: str, limit: int = 20, before: str | None = None) -> Found:
    """The newest messages of a project that fit the query (see ``query``), at most ``limit``.

    ``before`` is the id of a message: only what was accepted before it. How many ``more`` there are is counted up to
    1,000. No query is an error: one that has no word finds nothing, and a note says why. Raises LetterNotFoundError
    for an id that no message has, and StoreError kinds.
    """
    understood = parse(query)
    expression = understood.match(project_id)
    if expression is None:
        return Found(Page(), understood.notes)
    bound = max(1, min(limit, MOST_FOUND))

    def work(db: Sql) -> Page[Hit]:
        below = number_of(db, before) if before else LAST
        rows = db.execute(_FIND, (expression, below, bound)).fetchall()
        hits = _hits(understood, rows)
        if len(rows) < bound:
            return Page(hits)
        return Page(hits, db.execute(_COUNT, (expression, rows[-1]["seq"])).fetchone()[0], hits[-1]["id"])

    return Found(database.read(work, Page()), understood.notes)


def _hits(query: Query, rows: list[Row]) -> list[Hit]:
    marker = Marker(query.terms())
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
