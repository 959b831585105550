"""Agent Mail as a process serves it: mail and claims, with the archiver, images, and notices in the group chat."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nanobot_transcript.errors import TranscriptError
from nanobot_transcript.sql.contract import Sql
from transcript_mcp.mail.archive.archiver import PAUSE, PAUSE_REMOTE, ArchiverProcess, wait_for
from transcript_mcp.mail.claims.ledger import Claims
from transcript_mcp.mail.mail import AgentMail
from transcript_mcp.mail.messages import letters
from transcript_mcp.mail.messages.drafts import CleanDraft, checked
from transcript_mcp.mail.messages.image_links import has_images
from transcript_mcp.mail.values import Agent, Draft, ImagePolicy, Project, Sent

if TYPE_CHECKING:
    from transcript_mcp.mail.messages.images import Problem

__all__ = ["Announce", "ImageWish", "MailService", "Posted", "ServiceOptions"]

logger = logging.getLogger(__name__)

_COMMIT_WAIT: Final = 10.0
# A subject is another agent's words: in a group it must not mention people, as <at id="all"> does.
_UNCALLED: Final = str.maketrans("<>@", "‹›\N{FULLWIDTH COMMERCIAL AT}")

Announce = Callable[[str, str], object]
"""Posts a text in a group chat: (text, idempotency key)."""


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """``archiving``: whether this process archives mail in git; ``sync``: whether senders wait for the commit.
    ``image_policy`` and ``inline_max_bytes`` are defaults for messages. ``hub`` is the address of the hub that serves
    the mail, for guards that cannot read the database themselves.
    """

    archiving: bool = True
    sync: bool = False
    image_policy: ImagePolicy = "auto"
    inline_max_bytes: int = 64 * 1024
    hub: str = ""


@dataclass(frozen=True, slots=True)
class ImageWish:
    """How to handle the images of a message; None means the settings' default."""

    convert: bool = True
    policy: ImagePolicy | None = None
    inline_max_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Posted:
    """A message that was accepted, the images that were not stored, and its commit if the sender waits for one."""

    sent: Sent
    problems: Sequence["Problem"] = ()
    commit: str | None = None


class MailService:
    """Mail, claims and archiver for tools and commands. Safe for any thread; ``close`` ends the archiver."""

    def __init__(
        self, mail: AgentMail, options: ServiceOptions | None = None, *, announce: Announce | None = None
    ) -> None:
        self.mail: AgentMail = mail
        self.claims: Claims = Claims(mail.database, mail.now)
        self.options: ServiceOptions = options or ServiceOptions()
        self._announce: Announce | None = announce
        self._archiver: ArchiverProcess | None = ArchiverProcess(mail.places) if self.options.archiving else None
        if mail.database.identity() is not None:
            self._archive()  # finishes what an earlier process left

    def send(self, project: str, sender: Agent, draft: Draft, images: ImageWish) -> Posted:
        """Send a message. Raises what ``AgentMail.send`` raises."""
        known = self.mail.project(project)
        drawn, problems = draft, ()
        if _has_pictures(draft, images):
            self._look(draft, lambda db, clean: letters.addressed(db, known.key, clean), is_reply=False)
            drawn, problems = self._with_images(known, draft, images)
        return self._posted(self.mail.send(known.key, sender, drawn), drawn, sender, problems)

    def reply(self, sender: Agent, message_id: str, draft: Draft, images: ImageWish) -> Posted:
        """Answer a message. Raises what ``AgentMail.reply`` raises."""
        drawn, problems = draft, ()
        if _has_pictures(draft, images):
            self._look(draft, lambda db, clean: letters.addressed_reply(db, sender, message_id, clean), is_reply=True)
            known = self.mail.project(self.mail.message(message_id).project)
            drawn, problems = self._with_images(known, draft, images)
        return self._posted(self.mail.reply(sender, message_id, drawn), drawn, sender, problems)

    def archived(self, job: int | None) -> str | None:
        """Wake the archiver for a job. Returns its commit if callers wait for it, else None."""
        if job is None:
            return None
        self._archive()
        if not self.options.sync or self._archiver is None or not job:
            return None
        pause = PAUSE_REMOTE if self.mail.places.tables.is_remote else PAUSE
        return wait_for(self.mail.reader, job, _COMMIT_WAIT, pause_at_most=pause) or None

    def close(self) -> None:
        """End the archiver, which first finishes waiting jobs, and close the database."""
        if self._archiver is not None:
            self._archiver.close()
        self.mail.close()

    def _archive(self) -> None:
        if self._archiver is not None:
            self._archiver.start()

    def _look(self, draft: Draft, find: Callable[[Sql, CleanDraft], object], *, is_reply: bool) -> None:
        """Check a message before its pictures are written, so that a refused message leaves no files."""
        clean = checked(replace(draft, body=""), self.mail.options, is_reply=is_reply)
        self.mail.reader.read(lambda db: find(db, clean), None)

    def _with_images(self, project: Project, draft: Draft, images: ImageWish) -> tuple[Draft, Sequence["Problem"]]:
        from transcript_mcp.mail.messages.images import convert

        folder = Path(project.key) if project.key.startswith("/") else None
        repo, policy = self.mail.places.repo(project.slug), images.policy or self.options.image_policy
        most = self.options.inline_max_bytes if images.inline_max_bytes is None else images.inline_max_bytes
        converted = convert(draft.body, folder, repo, policy, most)
        if len(converted.body_md.encode("utf-8", "surrogatepass")) > self.mail.options.max_body:
            converted = convert(draft.body, folder, repo, "file")  # many small pictures made it too long
        drawn = replace(
            draft,
            body=converted.body_md,
            original_body=draft.body if draft.original_body is None else draft.original_body,
            attachments=converted.attachments,
            present=converted.files,
        )
        return drawn, converted.problems

    def _posted(self, sent: Sent, draft: Draft, sender: Agent, problems: Sequence["Problem"]) -> Posted:
        commit = self.archived(sent.job)
        if self._announce is not None and not sent.repeated and (draft.importance == "urgent" or draft.ack_required):
            self._tell(self._announce, sent, draft, sender)
        # A repeated message returns its first result, whose problems are not known any more.
        return Posted(sent, () if sent.repeated else problems, commit)

    def _tell(self, announce: Announce, sent: Sent, draft: Draft, sender: Agent) -> None:
        names = ", ".join(name for kind in ("to", "cc") for name in sent.recipients.get(kind, ()))
        marks = ", ".join(
            word for word, holds in (("urgent", draft.importance == "urgent"), ("ack", draft.ack_required)) if holds
        )
        people = f"{sender.name} → {names}" if names else sender.name
        text = f"✉ {people} [{marks}]: {sent.subject.translate(_UNCALLED)} ({sent.id})"
        try:
            announce(text, f"agent mail {sent.id}")
        except TranscriptError as error:  # the mail itself is delivered
            logger.warning("Message %s could not be announced in the group: %s %s", sent.id, error, error.hint)


def _has_pictures(draft: Draft, images: ImageWish) -> bool:
    return images.convert and isinstance(draft.body, str) and has_images(draft.body)
