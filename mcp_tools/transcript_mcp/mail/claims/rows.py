"""Claims from rows of the database, and the files that the archive has of them."""

from typing import Final

from nanobot_transcript.sql.contract import Row
from transcript_mcp.mail.archive import records
from transcript_mcp.mail.claims.values import Claim
from transcript_mcp.mail.store import Archive

__all__ = ["ROWS", "claim", "claim_file"]

ROWS: Final = (
    "SELECT claims.*, here.human_key AS project, there.human_key AS home FROM claims"
    " JOIN projects AS here ON here.id = claims.project_id"
    " JOIN agents ON agents.id = claims.agent_id JOIN projects AS there ON there.id = agents.project_id"
)
"""What ``claim`` and ``claim_file`` need."""


def claim(row: Row) -> Claim:
    """The claim of a row."""
    return Claim(
        id=row["id"],
        project=row["project"],
        agent=row["agent_name"],
        home=row["home"],
        path=row["path"],
        exclusive=bool(row["exclusive"]),
        reason=row["reason"],
        created_ts=row["created_ts"],
        expires_ts=row["expires_ts"],
        released_ts=row["released_ts"],
    )


def claim_file(row: Row) -> tuple[str, str]:
    """Path and text of the file that says how the claim of a row stands. Several claims may have the same path."""
    return Archive.claim(row["path"], row["agent_name"] if row["beside"] else None), records.claim(claim(row))
