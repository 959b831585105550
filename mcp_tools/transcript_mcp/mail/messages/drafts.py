"""Checks a draft before it is sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast, get_args

import msgspec

from nanobot_transcript.entry import well_formed
from nanobot_transcript.errors import InvalidLetterError
from transcript_mcp.mail.one_line import line
from transcript_mcp.mail.values import IMPORTANCES, Draft, Importance, Kind, MailOptions

__all__ = ["LONGEST_SUBJECT", "CleanDraft", "check_count", "checked"]

LONGEST_SUBJECT: Final = 500
_LONGEST_ID: Final = 200
_KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class CleanDraft:
    """A checked draft. ``names`` are the recipients' names by kind, as they were given.
    ``compared_body`` is the body that an idempotency key compares; ``attachments_json`` is a JSON array.
    """

    subject: str
    body: str
    compared_body: str
    names: Mapping[Kind, Sequence[str]]
    importance: Importance
    ack_required: bool
    thread_id: str | None
    idempotency_key: str | None
    attachments_json: str
    present: Sequence[str]
    reply_all: bool = False


def checked(draft: Draft, options: MailOptions, *, is_reply: bool) -> CleanDraft:
    """Check and clean a draft. Only a reply may lack subject and recipients. Raises InvalidLetterError."""
    names: dict[Kind, list[str]] = {kind: _names(kind, getattr(draft, kind)) for kind in _KINDS}
    count = sum(map(len, names.values()))
    if not count and not is_reply:
        raise InvalidLetterError("The message has no recipient.", hint="Name at least one agent in `to`.")
    check_count(count, options)
    if not isinstance(draft.ack_required, bool):
        raise InvalidLetterError(f"ack_required must be true or false, not {str(draft.ack_required)[:40]!r}.")
    body = _body(draft.body, options.max_body)
    return CleanDraft(
        subject=line("subject", draft.subject or "", LONGEST_SUBJECT, empty=is_reply),
        body=body,
        compared_body=body if draft.original_body is None else well_formed(draft.original_body),
        names=names,
        importance=_importance(draft.importance),
        ack_required=draft.ack_required,
        thread_id=None if draft.thread_id is None else line("thread_id", draft.thread_id, _LONGEST_ID),
        idempotency_key=_key(draft.idempotency_key),
        attachments_json=_attachments(draft.attachments),
        present=draft.present,
        reply_all=draft.reply_all,
    )


def check_count(recipients: int, options: MailOptions) -> None:
    """Raises InvalidLetterError when there are too many recipients."""
    if recipients > options.max_recipients:
        raise InvalidLetterError(
            f"The message has {recipients:,} recipients; {options.max_recipients:,} are allowed.",
            hint="Send it to fewer, or in several messages.",
        )


def _names(kind: Kind, given: Any) -> list[str]:
    """The names as a list; a single name may be given as a string."""
    if given is None:
        return []
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Sequence):
        raise InvalidLetterError(f"`{kind}` must be a list of agents' names, not {str(given)[:40]!r}.")
    return list(cast("Sequence[str]", given))


def _body(body: Any, longest: int) -> str:
    if not isinstance(body, str):
        raise InvalidLetterError(f"The body must be a text, not {str(body)[:40]!r}.", hint="Give it as Markdown.")
    clean = well_formed(body)
    size = len(clean.encode())
    if size > longest:
        raise InvalidLetterError(
            f"The body has {size:,} bytes; {longest:,} are allowed.",
            hint="Put the long part into a file and say where it is.",
        )
    if "\0" in clean:
        raise InvalidLetterError(
            "The body contains a NUL character.", hint="Send text; name binary files by their path."
        )
    return clean


def _importance(given: Any) -> Importance:
    if given not in IMPORTANCES:
        raise InvalidLetterError(
            f"{str(given)[:40]!r} is not an importance.", hint=f"Use one of {', '.join(IMPORTANCES)}."
        )
    return given


def _key(given: Any) -> str | None:
    return None if given is None else line("idempotency_key", given, _LONGEST_ID)


def _attachments(given: Sequence[Mapping[str, Any]]) -> str:
    try:
        return msgspec.json.encode(list(given)).decode()
    except (TypeError, UnicodeEncodeError) as error:
        raise InvalidLetterError(f"The attachments cannot be written as JSON: {error}.") from error
