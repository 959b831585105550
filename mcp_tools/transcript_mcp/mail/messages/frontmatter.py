"""A message as a file: a JSON header between ``---json`` and ``---``, then the body exactly as it was sent.

Read and write these files without translating line ends: they are part of the body.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from nanobot_transcript.errors import ArchiveError
from transcript_mcp.mail.values import Importance, Letter, iso

__all__ = ["MessageFile", "parse", "render", "render_blind"]

_OPENING: Final = "---json\n"
_CLOSING: Final = "\n---\n"


class _Header(msgspec.Struct):
    """The keys in the file. Unknown ones are skipped; ``created`` is for people and not read."""

    id: str
    project: str
    sender: str = msgspec.field(name="from")
    to: list[str]
    created_ts: float
    subject: str
    cc: list[str] = []
    thread_id: str | None = None
    importance: Importance = "normal"
    ack_required: bool = False
    attachments: list[dict[str, Any]] = []
    reply_to: str | None = None
    bcc: list[str] = []
    bcc_project: str | None = None
    idempotency_key: str | None = None


_decoder = msgspec.json.Decoder(_Header)
_encoder = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class MessageFile:
    """The content of a message's file. ``bcc`` names the file's owner if it received the message as ``bcc``.
    ``bcc_project`` is the owner's home project, if that is not the message's.
    """

    letter: Letter
    bcc: tuple[str, ...] = ()
    idempotency_key: str | None = None
    bcc_project: str | None = None


def render_blind(letter: Letter, name: str, home: str, idempotency_key: str | None) -> str:
    """The copy of a recipient in ``bcc`` whose home project is ``home``.
    Nothing else in the archive names that recipient, so this copy has to.
    """
    where = home if home != letter.project else None
    return render(letter, bcc=[name], bcc_project=where, idempotency_key=idempotency_key)


def render(
    letter: Letter,
    *,
    bcc: Sequence[str] = (),
    idempotency_key: str | None = None,
    bcc_project: str | None = None,
) -> str:
    """The text of a message's file. ``bcc`` and ``bcc_project`` are only for that recipient's own copy."""
    header: dict[str, Any] = {
        "id": letter.id,
        "thread_id": letter.thread_id,
        "project": letter.project,
        "from": letter.sender,
        "to": letter.to,
        "cc": letter.cc,
        "created": iso(letter.created_ts),
        "importance": letter.importance,
        "ack_required": letter.ack_required,
        "attachments": letter.attachments,
        "subject": letter.subject,
        "reply_to": letter.reply_to,
        "created_ts": letter.created_ts,
    }
    if bcc:
        header["bcc"] = list(bcc)
    if bcc_project is not None:
        header["bcc_project"] = bcc_project
    if idempotency_key is not None:
        header["idempotency_key"] = idempotency_key
    return f"{_OPENING}{_json(header)}{_CLOSING}{letter.body or ''}"


def parse(text: str) -> MessageFile:
    """Parse a file; ``render`` makes the same text of the result. Raises ArchiveError."""
    end = text.find(_CLOSING)  # JSON escapes line ends in strings, so the header cannot contain this
    if not text.startswith(_OPENING) or end < 0:
        raise ArchiveError(
            "This is not a message: it does not start with a header between ---json and ---.", hint=_HINT
        )
    try:
        header = _decoder.decode(text[len(_OPENING) : end])
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ArchiveError(f"The header of a message cannot be read: {error}.", hint=_HINT) from error
    letter = Letter(
        id=header.id,
        project=header.project,
        thread_id=header.thread_id,
        subject=header.subject,
        body=text[end + len(_CLOSING) :],
        sender=header.sender,
        to=tuple(header.to),
        cc=tuple(header.cc),
        created_ts=header.created_ts,
        importance=header.importance,
        ack_required=header.ack_required,
        attachments=tuple(header.attachments),
        reply_to=header.reply_to,
    )
    return MessageFile(letter, tuple(header.bcc), header.idempotency_key, header.bcc_project)


_HINT: Final = "`git log -- FILE` in the archive shows who changed it, and what it was before."


def _json(header: Mapping[str, Any]) -> str:
    return msgspec.json.format(_encoder.encode(header), indent=2).decode()
