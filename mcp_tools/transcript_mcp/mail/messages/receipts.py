"""Read receipts and acknowledgements, and the acknowledgements that are overdue."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import msgspec

from nanobot_transcript.entry import well_formed
from nanobot_transcript.errors import InvalidLetterError, LetterNotFoundError
from nanobot_transcript.sql.contract import Sql
from transcript_mcp.mail.agents import registry as agents
from transcript_mcp.mail.archive import jobs, json_files
from transcript_mcp.mail.messages.boxes import bounded, place_in_list
from transcript_mcp.mail.messages.letters import HEADERS, letter
from transcript_mcp.mail.store import Archive
from transcript_mcp.mail.values import END_OF_TIME, Agent, Letter, LetterPage, ReadReceipt

__all__ = ["ENDED", "OVERDUE", "Overdue", "Whose", "note", "overdue", "until"]


def note(db: Sql, agent: Agent, message_ids: Sequence[str], now: float, *, ack: bool) -> list[ReadReceipt]:
    """Mark these messages as read, with ``ack`` also as acknowledged; the first time counts.
    Raises LetterNotFoundError for one that is not in the agent's inbox; then none is marked.
    """
    agents.touch(db, agent.id, now)
    return [_note(db, agent, message_id, now, ack=ack) for message_id in dict.fromkeys(map(well_formed, message_ids))]


def _note(db: Sql, agent: Agent, message_id: str, now: float, *, ack: bool) -> ReadReceipt:
    row = db.execute(
        "SELECT kind, read_ts, ack_ts, project_id FROM message_recipients"
        " JOIN messages ON messages.seq = message_recipients.seq WHERE message_id = ? AND agent_id = ?",
        (message_id, agent.id),
    ).fetchone()
    if row is None:
        raise LetterNotFoundError(
            f"{agent.name} has no message {str(message_id)[:80]} in its inbox.",
            hint="check_my_messages shows the ids of what was received.",
        )
    read_ts = now if row["read_ts"] is None else row["read_ts"]
    ack_ts = now if ack and row["ack_ts"] is None else row["ack_ts"]
    if (read_ts, ack_ts) == (row["read_ts"], row["ack_ts"]):
        return ReadReceipt(message_id, agent.name, read_ts, ack_ts, None, changed=False)
    db.execute(
        "UPDATE message_recipients SET read_ts = ?, ack_ts = ? WHERE message_id = ? AND agent_id = ?",
        (read_ts, ack_ts, message_id, agent.id),
    )
    if row["kind"] == "bcc":  # a receipt in the archive would show others that it got the message
        return ReadReceipt(message_id, agent.name, read_ts, ack_ts, None)
    files = {Archive.receipt(agent.name, message_id): json_files.receipt(message_id, agent.name, read_ts, ack_ts)}
    done = "acknowledged" if ack_ts is not None else "read"
    job = jobs.enqueue(db, row["project_id"], f"{done}: {message_id} by {agent.name}", files, now=now)
    return ReadReceipt(message_id, agent.name, read_ts, ack_ts, job)


OVERDUE: Final = 3600.0
"""Default for the seconds after which an acknowledgement is overdue; the same as a claim's default lifetime."""

ENDED: Final = "-"
"""Instead of a position to continue from: the list was shown to its end."""

Whose: TypeAlias = Literal["recipient", "sender", "project"]

_MISSING: Final = "missing.message_id = messages.id AND missing.ack_ts IS NULL AND missing.agent_id IS NOT sender_id"
# A message's sender may see its bcc recipients; whoever views the project may not.
_SOURCES: Final[dict[Whose, tuple[str, str, str]]] = {
    "recipient": (
        "message_recipients AS own INDEXED BY recipients_inbox CROSS JOIN messages ON messages.seq = own.seq",
        "own.agent_id = :id AND own.ack_ts IS NULL",
        "missing.message_id = messages.id AND missing.agent_id = :id",
    ),
    "sender": ("messages INDEXED BY messages_by_sender", "sender_id = :id", _MISSING),
    "project": ("messages", "messages.project_id = :id", f"{_MISSING} AND missing.kind <> 'bcc'"),
}


@dataclass(frozen=True, slots=True)
class Overdue:
    """A message, and the names of the agents that have not acknowledged it."""

    letter: Letter
    waiting_for: tuple[str, ...]


def overdue(db: Sql, whose: Whose, row: int, sent_until: float, limit: Any, before: str | None) -> LetterPage[Overdue]:
    """Messages sent until a time that lack an acknowledgement, the oldest first.
    ``row`` is the row of the agent that received or sent them, or of their project. ``before`` comes from an earlier
    page. Raises InvalidLetterError for a ``limit`` or ``before`` that is not valid.
    """
    tables, owned, missing = _SOURCES[whose]
    wanted = (
        f"{owned} AND messages.ack_required = 1 AND messages.created_ts <= :until AND messages.seq > :after"
        f" AND EXISTS (SELECT 1 FROM message_recipients AS missing WHERE {missing})"
    )
    names = f"(SELECT json_group_array(agent_name) FROM message_recipients AS missing WHERE {missing})"
    bounds = {"id": row, "until": sent_until, "limit": bounded(limit), "after": _after(before)}
    rows = db.execute(
        f"SELECT {HEADERS}, {names} AS names FROM {tables} CROSS JOIN projects ON projects.id = messages.project_id"
        f" WHERE {wanted} ORDER BY messages.seq LIMIT :limit",
        bounds,
    )
    listed = rows.fetchall()
    found = [Overdue(letter(each), tuple(sorted(_decoded(each["names"])))) for each in listed]
    if len(found) < bounds["limit"]:
        return LetterPage(found)
    everything = db.execute(f"SELECT count(*) FROM {tables} WHERE {wanted}", bounds).fetchone()[0]
    return LetterPage(found, everything - len(found), str(listed[-1]["seq"]) if listed else before)


_decoded = msgspec.json.Decoder(list[str]).decode


def until(now: float, older_than: Any) -> float:
    """The latest time of messages that are older than so many seconds; for 0 that of all, even if a clock was ahead.
    Raises InvalidLetterError for an invalid number of seconds.
    """
    age = _checked_age(older_than)
    return now - age if age else END_OF_TIME


def _after(before: str | None) -> int:
    if before is None:
        return 0
    return 2**63 - 1 if before == ENDED else place_in_list(before)


def _checked_age(seconds: Any) -> float:
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 <= seconds < 2**40:
        raise InvalidLetterError(
            f"older_than must be a number of seconds, not {str(seconds)[:40]!r}.",
            hint=f"Such as {OVERDUE:.0f}, an hour.",
        )
    return float(seconds)
