"""Sends messages: one transaction adds a message to every inbox, the search index and the archive's queue."""

import hashlib
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from nanobot_transcript.entry import well_formed
from nanobot_transcript.errors import InvalidLetterError, LetterNotFoundError
from nanobot_transcript.sql.contract import Row, Sql
from transcript_mcp.mail.agents import projects, registry
from transcript_mcp.mail.agents import registry as agents
from transcript_mcp.mail.agents.addresses import resolve
from transcript_mcp.mail.archive import jobs
from transcript_mcp.mail.messages import frontmatter
from transcript_mcp.mail.messages.drafts import LONGEST_SUBJECT, CleanDraft
from transcript_mcp.mail.store import Archive, index_messages
from transcript_mcp.mail.values import Agent, Kind, Letter, Project, Sent, to_the_millisecond

__all__ = [
    "HEADERS",
    "URGENT",
    "WHOLE",
    "Addressed",
    "RecipientNames",
    "addressed",
    "addressed_reply",
    "letter",
    "put",
    "recipients_encoder",
]

_LATEST_AHEAD: Final = 3600.0
_STEP: Final = 0.001
_SUMMARY_NAMES: Final = 5


@dataclass(frozen=True, slots=True)
class Addressed:
    """A draft whose recipients are resolved. ``reply_to`` is the id of the message it answers."""

    project: Project
    draft: CleanDraft
    people: Sequence[tuple[Kind, Agent]]
    reply_to: str | None = None

    def names(self, kind: Kind) -> tuple[str, ...]:
        """The recipients' names of one kind, in the sender's order."""
        return tuple(agent.name for each, agent in self.people if each == kind)


def addressed(db: Sql, key: str, draft: CleanDraft) -> Addressed:
    """The draft with its project and recipients. Raises UnknownProjectError and UnregisteredAgentError."""
    project = projects.get(db, key)
    return Addressed(project, draft, _people(db, project, draft))


def addressed_reply(db: Sql, sender: Agent, message_id: str, draft: CleanDraft) -> Addressed:
    """A reply completed from its original: project, thread, and whatever the draft leaves out.

    Raises LetterNotFoundError and UnregisteredAgentError.
    """
    original = db.execute(
        "SELECT messages.*, projects.human_key FROM messages JOIN projects ON projects.id = project_id"
        " WHERE messages.id = ?",
        (well_formed(message_id),),
    ).fetchone()
    if original is None:
        raise LetterNotFoundError(
            f"There is no message {str(message_id)[:80]}.", hint="The inbox shows each message's id."
        )
    project = projects.get(db, original["human_key"])
    people = _people(db, project, draft)
    if draft.reply_all:
        people = _once([*people, *_named_in(db, original, sender)])
    if not any(kind == "to" for kind, _ in people):
        people = _once([*(("to", agent) for agent in _reply_recipients(db, original, sender)), *people])
    completed = replace(
        draft,
        subject=draft.subject or _reply_subject(original["subject"]),
        thread_id=draft.thread_id or original["thread_id"] or original["id"],
    )
    return Addressed(project, completed, people, original["id"])


def _eight_digits() -> str:
    return secrets.token_hex(4)


def put(
    db: Sql,
    known: Addressed,
    sender: Agent,
    archive: Archive,
    now: float,
    *,
    draw: Callable[[], str] = _eight_digits,
) -> Sent:
    """Accept a message; it is sent once the transaction commits.
    For an idempotency key that the sender has used before, the earlier message is returned. Raises InvalidLetterError
    when that was a different one. ``draw`` makes the end of the id, and is called again while the id is taken.
    """
    digest = _digest(known)
    before = _sent_before(db, sender, known, digest)
    if before is not None:
        return before
    accepted = _insert(db, known, sender, digest, _moment(db, now), draw)
    # Guests of a project are visible to all, so a recipient in bcc must not become one: only its inbox copy names it.
    people = (sender, *(agent for kind, agent in known.people if kind != "bcc"))
    profiles = registry.welcome(db, known.project.id, known.project.key, people)
    agents.touch(db, sender.id, now)
    files = _files(accepted, known, archive) | profiles
    job = jobs.enqueue(
        db, known.project.id, _summary(accepted), files, now=accepted.created_ts, present=known.draft.present
    )
    return Sent(
        id=accepted.id,
        project=accepted.project,
        thread_id=accepted.thread_id,
        subject=accepted.subject,
        created_ts=accepted.created_ts,
        recipients={"to": accepted.to, "cc": accepted.cc, "bcc": known.names("bcc")},
        attachments=accepted.attachments,
        job=job,
    )


def _people(db: Sql, project: Project, draft: CleanDraft) -> list[tuple[Kind, Agent]]:
    """Each recipient once, under the first kind that names it."""
    return _once((kind, resolve(db, project, name, kind)) for kind, names in draft.names.items() for name in names)


def _once(people: Iterable[tuple[Kind, Agent]]) -> list[tuple[Kind, Agent]]:
    found: dict[int, tuple[Kind, Agent]] = {}
    for kind, agent in people:
        found.setdefault(agent.id, (kind, agent))
    return list(found.values())


def _named_in(db: Sql, original: Row, sender: Agent) -> list[tuple[Kind, Agent]]:
    """Everyone a message names except ``sender``: its author, then its recipients, but not those in bcc."""
    known = db.execute(
        "SELECT agent_name, agent_id FROM message_recipients WHERE message_id = ? AND kind <> 'bcc'", (original["id"],)
    )
    ids = {row["agent_name"]: row["agent_id"] for row in known}
    read = letter(original)
    named: dict[Kind, list[int | None]] = {
        "to": [original["sender_id"], *map(ids.get, read.to)],
        "cc": [*map(ids.get, read.cc)],
    }
    return [
        (kind, agents.by_id(db, row))
        for kind, rows in named.items()
        for row in rows
        if row is not None and row != sender.id
    ]


def _reply_recipients(db: Sql, original: Row, sender: Agent) -> list[Agent]:
    """Recipients of a reply: the original's author or, when the author replies to itself, the original's recipients."""
    if original["sender_id"] is not None and original["sender_id"] != sender.id:
        return [agents.by_id(db, original["sender_id"])]
    to = "SELECT agent_id FROM message_recipients WHERE message_id = ? AND kind = 'to'"
    rows = db.execute(f"{agents.ROWS} WHERE agents.id IN ({to}) ORDER BY agents.name", (original["id"],))
    found = [agents.agent(row) for row in rows]
    if not found:
        raise InvalidLetterError("The reply has no recipient.", hint="Name at least one agent in `to`.")
    return found


def _reply_subject(subject: str) -> str:
    """
    >>> _reply_subject("Plan"), _reply_subject("RE: Plan")
    ('Re: Plan', 'RE: Plan')
    """
    return subject if subject.casefold().startswith("re:") else f"Re: {subject}"[:LONGEST_SUBJECT]


def _moment(db: Sql, now: float) -> float:
    """The time of this message: later than every earlier one, even if the clock was set back a little.
    So a client that asks for everything since the newest message it has seen misses nothing.
    """
    row = db.execute("SELECT created_ts FROM messages ORDER BY seq DESC LIMIT 1").fetchone()
    latest = row["created_ts"] if row is not None else now
    after = latest + _STEP if row is not None and now < latest + _STEP <= now + _LATEST_AHEAD else now
    return to_the_millisecond(after)


def _digest(known: Addressed) -> str:
    draft = known.draft
    content = [
        known.project.key,
        known.reply_to,
        draft.thread_id,
        draft.subject,
        draft.compared_body,
        [[kind, agent.name] for kind, agent in known.people],
        draft.importance,
        draft.ack_required,
    ]
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()


def _sent_before(db: Sql, sender: Agent, known: Addressed, digest: str) -> Sent | None:
    key = known.draft.idempotency_key
    if key is None:
        return None
    row = db.execute(
        "SELECT messages.*, projects.human_key FROM messages JOIN projects ON projects.id = project_id"
        " WHERE sender_id = ? AND idempotency_key = ?",
        (sender.id, key),
    ).fetchone()
    if row is None:
        return None
    # A database rebuilt from the archive has no digests: in the archive they would let others guess the bcc recipients.
    is_same = _is_same(db, row, known) if row["digest"] is None else row["digest"] == digest
    if not is_same:
        raise InvalidLetterError(
            f"{sender.name} has used this idempotency_key for another message, {row['id']}.",
            hint="Use a new key for a new message.",
        )
    blind = db.execute("SELECT agent_name FROM message_recipients WHERE message_id = ? AND kind = 'bcc'", (row["id"],))
    # A project's jobs are done in order: once the latest waiting job is done, so is that of the message.
    job = db.execute(
        "SELECT max(seq) AS seq FROM archive_jobs WHERE project_id = ? AND done_ts IS NULL", (row["project_id"],)
    ).fetchone()["seq"]
    kept = letter(row)
    return Sent(
        id=kept.id,
        project=kept.project,
        thread_id=kept.thread_id,
        subject=kept.subject,
        created_ts=kept.created_ts,
        recipients={"to": kept.to, "cc": kept.cc, "bcc": tuple(each["agent_name"] for each in blind)},
        attachments=kept.attachments,
        job=job or 0,
        repeated=True,
    )


def _is_same(db: Sql, row: Row, known: Addressed) -> bool:
    """Whether a stored message equals a draft, as far as its row shows. Quotes may follow what the sender wrote."""
    draft, body = known.draft, row["body_md"]
    people = db.execute("SELECT agent_id, kind FROM message_recipients WHERE message_id = ?", (row["id"],))
    asked = (known.project.key, known.reply_to, draft.thread_id, draft.subject, draft.importance, draft.ack_required)
    kept = tuple(row[name] for name in ("human_key", "reply_to", "thread_id", "subject", "importance"))
    return (
        asked == (*kept, bool(row["ack_required"]))
        and {(each["agent_id"], each["kind"]) for each in people} == {(who.id, kind) for kind, who in known.people}
        and (body in (draft.body, draft.compared_body) or body.startswith(f"{draft.compared_body.rstrip()}\n\n"))
    )


def _insert(
    db: Sql,
    known: Addressed,
    sender: Agent,
    digest: str,
    created_ts: float,
    draw: Callable[[], str],
) -> Letter:
    draft = known.draft
    names = RecipientNames(known.names("to"), known.names("cc"))
    row = None
    while row is None:
        message_id = f"msg_{datetime.fromtimestamp(created_ts, UTC):%Y%m%d}_{draw()}"
        row = db.execute(
            "INSERT INTO messages (id, project_id, thread_id, subject, from_agent, created_ts, importance,"
            " ack_required, attachments_json, sender_id, reply_to, idempotency_key, digest, recipients_json, body_md)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
            " RETURNING *, ? AS human_key",
            (
                message_id,
                known.project.id,
                draft.thread_id,
                draft.subject,
                sender.name,
                created_ts,
                draft.importance,
                draft.ack_required,
                draft.attachments_json,
                sender.id,
                known.reply_to,
                draft.idempotency_key,
                digest,
                recipients_encoder.encode(names).decode(),
                draft.body,
                known.project.key,
            ),
        ).fetchone()
    index_messages(db, row["seq"] - 1)
    urgent = draft.importance in URGENT
    db.executemany(
        "INSERT INTO message_recipients (message_id, agent_name, kind, agent_id, seq, urgent)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [(row["id"], agent.name, kind, agent.id, row["seq"], urgent) for kind, agent in known.people],
    )
    return letter(row)


def _files(accepted: Letter, known: Addressed, archive: Archive) -> dict[str, str]:
    """The canonical copy, the sender's, and one for each recipient; a ``bcc`` recipient is named only in its own."""
    key, at = known.draft.idempotency_key, (accepted.id, accepted.created_ts)
    text = frontmatter.render(accepted, idempotency_key=key)
    files = {archive.message(*at): text, archive.outbox(accepted.sender, *at): text}
    for kind, agent in known.people:
        own = text if kind != "bcc" else frontmatter.render_blind(accepted, agent.name, agent.project, key)
        files[archive.inbox(agent.name, *at)] = own
    return files


def _summary(accepted: Letter) -> str:
    """The line in the commit's message, without ``bcc`` recipients because all can read it."""
    names = [*accepted.to, *accepted.cc]
    more = f" and {len(names) - _SUMMARY_NAMES} more" if len(names) > _SUMMARY_NAMES else ""
    shown = f" -> {', '.join(names[:_SUMMARY_NAMES])}{more}" if names else ""
    return f"mail {accepted.id}: {accepted.sender}{shown}: {accepted.subject}"


URGENT: Final = ("high", "urgent")

_COMMON: Final = (
    "messages.seq, messages.id, messages.thread_id, messages.subject, messages.from_agent, messages.created_ts,"
    " messages.importance, messages.ack_required, messages.attachments_json, messages.reply_to,"
    " messages.recipients_json, projects.human_key"
)
HEADERS: Final = f"{_COMMON}, NULL AS body_md"
"""The columns that ``letter`` needs, without the body, of ``messages JOIN projects``."""
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
