"""Acknowledgements that were asked for and have not come for a while: what somebody owes, and what others owe."""

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import msgspec

from nanobot_transcript.errors import InvalidLetterError
from nanobot_transcript.sql.contract import Sql
from transcript_mcp.mail.messages.boxes import bounded, place_in_list
from transcript_mcp.mail.messages.rows import HEADERS, letter
from transcript_mcp.mail.values import Letter, Page

__all__ = ["ENDED", "OVERDUE", "Overdue", "Whose", "overdue", "until"]

OVERDUE: Final = 3600.0
"""Seconds after which an acknowledgement is overdue, where nobody says otherwise: as long as a claim lasts."""

ENDED: Final = "-"
"""In place of what a page tells to read on: the list was shown to its end."""

_END_OF_TIME: Final = 2.0**53

Whose: TypeAlias = Literal["recipient", "sender", "project"]

_MISSING: Final = "missing.message_id = messages.id AND missing.ack_ts IS NULL AND missing.agent_id IS NOT sender_id"
# Who got a message as bcc is known to its sender; to whoever looks at a project it is not told.
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
    """A message, and the names of those who have not acknowledged it."""

    letter: Letter
    waiting_for: tuple[str, ...]


def overdue(db: Sql, whose: Whose, row: int, sent_until: float, limit: Any, before: str | None) -> Page[Overdue]:
    """Messages sent until a time whose acknowledgement is missing, the oldest first.

    Those that the agent of a ``row`` got or sent, or that were sent in the project of a row. ``before`` is what an
    earlier page told. Raises InvalidLetterError for a limit that is no number, and for another ``before``.
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
        return Page(found)
    everything = db.execute(f"SELECT count(*) FROM {tables} WHERE {wanted}", bounds).fetchone()[0]
    return Page(found, everything - len(found), str(listed[-1]["seq"]) if listed else before)


_decoded = msgspec.json.Decoder(list[str]).decode


def until(now: float, older_than: Any) -> float:
    """Up to when what is older than so many seconds was sent; 0 is all, whatever a clock said.

    Raises InvalidLetterError for what is no number of seconds.
    """
    age = _checked_age(older_than)
    return now - age if age else _END_OF_TIME


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
