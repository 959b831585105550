"""Finds mail in an inbox that is about what a group is discussing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.topics.ties import TitledText, fits, spoken
from transcript_mcp.filebox.file_names import real_name
from transcript_mcp.filebox.files import read_beginning
from transcript_mcp.filebox.folders import MailboxFolder
from transcript_mcp.filebox.thread import entries
from transcript_mcp.filebox.values import Mail

__all__ = ["Relevant", "relevant"]

_LOOKED_AT: Final = 200
_READ: Final = 6000
_ID_LENGTH: Final = 8


@dataclass(frozen=True, slots=True)
class Relevant:
    """A mail that is relevant to a discussion, its score (0 to 1), and the reason in a sentence."""

    mail: Mail
    score: float
    reason: str


def relevant(inbox: Sequence[Mail], mailbox: MailboxFolder, recent: Iterable[Entry], limit: int) -> list[Relevant]:
    """The mails of an inbox that are relevant to the recent entries of a group, the most relevant first.

    Only the newest 200 mails are considered, and none that cannot be parsed.
    """
    said = spoken(recent)
    with mailbox.looked_at("inbox") as folder:
        mails = [mail for mail in inbox[:_LOOKED_AT] if folder is not None and said and not mail.problem]
        candidates = [TitledText(mail.title, _newest_text(folder, mail), _mark(mail)) for mail in mails]
    found = [
        Relevant(mail, fit.score, fit.reason)
        for mail, fit in zip(mails, fits(candidates, said), strict=True)
        if fit is not None
    ]
    return sorted(found, key=lambda each: (each.score, each.mail.time_ms), reverse=True)[:limit]


def _mark(mail: Mail) -> str:
    return mail.id[:_ID_LENGTH] if len(mail.id) >= _ID_LENGTH else ""


def _newest_text(folder: int | None, mail: Mail) -> str:
    try:
        taken = read_beginning(folder, real_name(mail.file), _READ) if folder is not None else None
    except OSError:
        return ""  # the title still counts
    written = entries(taken.body.decode("utf-8", "replace")) if taken else []
    return written[0].text if written else ""
