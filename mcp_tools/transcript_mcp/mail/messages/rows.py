"""Messages from rows of the database."""

from typing import Any, Final

import msgspec

from nanobot_transcript.sql.contract import Row
from transcript_mcp.mail.values import Letter

__all__ = ["HEADERS", "URGENT", "WHOLE", "RecipientNames", "letter", "recipients_encoder"]

URGENT: Final = ("high", "urgent")

_COMMON: Final = (
    "messages.seq, messages.id, messages.thread_id, messages.subject, messages.from_agent, messages.created_ts,"
    " messages.importance, messages.ack_required, messages.attachments_json, messages.reply_to,"
    " messages.recipients_json, projects.human_key"
)
HEADERS: Final = f"{_COMMON}, NULL AS body_md"
"""What ``letter`` needs, without the body; ``FROM messages JOIN projects``."""
WHOLE: Final = f"{_COMMON}, messages.body_md"


class RecipientNames(msgspec.Struct, frozen=True):
    """The column ``recipients_json``: names in the sender's order."""

    to: tuple[str, ...] = ()
    cc: tuple[str, ...] = ()


recipients_encoder = msgspec.json.Encoder()
_names = msgspec.json.Decoder(RecipientNames)
_attachments = msgspec.json.Decoder(tuple[dict[str, Any], ...])


def letter(row: Row) -> Letter:
    """The message of a row with the columns ``HEADERS`` or ``WHOLE``."""
    names = _names.decode(row["recipients_json"])
    return Letter(
        id=row["id"],
        project=row["human_key"],
        thread_id=row["thread_id"],
        subject=row["subject"],
        body=row["body_md"],
        sender=row["from_agent"],
        to=names.to,
        cc=names.cc,
        created_ts=row["created_ts"],
        importance=row["importance"],
        ack_required=bool(row["ack_required"]),
        attachments=_attachments.decode(row["attachments_json"]),
        reply_to=row["reply_to"],
    )
