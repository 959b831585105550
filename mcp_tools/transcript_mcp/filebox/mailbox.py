"""One agent's mailbox: the API of the tools, of the agent loop and of programs."""

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import msgspec

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import InvalidMailError, MailNotFoundError, TranscriptError
from transcript_mcp.filebox import delivery, search
from transcript_mcp.filebox.agents import receiver
from transcript_mcp.filebox.box import BoxView, look_at
from transcript_mcp.filebox.cache import Views
from transcript_mcp.filebox.config import BoxAgents
from transcript_mcp.filebox.escapes import unescaped
from transcript_mcp.filebox.file_names import numbered, shown_name
from transcript_mcp.filebox.files import exists, read, write
from transcript_mcp.filebox.folders import MailboxFolder
from transcript_mcp.filebox.hooks import Happening, Hooks, MailEvent
from transcript_mcp.filebox.inbox_watch import Glances
from transcript_mcp.filebox.locks import locked
from transcript_mcp.filebox.mail_copies import copies_of
from transcript_mcp.filebox.message import parsed
from transcript_mcp.filebox.options import FileBoxOptions
from transcript_mcp.filebox.read_marks import ReadMarks
from transcript_mcp.filebox.rules import checked, checked_box, checked_file_name, checked_id
from transcript_mcp.filebox.search import FoundMail, MailQuery
from transcript_mcp.filebox.thread import entries, joined
from transcript_mcp.filebox.values import Box, Draft, Mail, Page, Reading, Sent, ThreadEntry

if TYPE_CHECKING:
    from transcript_mcp.filebox.relevant_mail import Relevant

__all__ = ["BatchAction", "Mailbox", "Outcome", "Shared", "Thread", "move"]

logger = logging.getLogger(__name__)

BatchAction: TypeAlias = Literal["read", "resolve", "reject"]
_MOVES: Final[dict[str, tuple[Box, Happening]]] = {"resolve": ("done", "resolved"), "reject": ("cancel", "rejected")}

_TIDY_WAIT: Final = 0.2


@dataclass(frozen=True, slots=True)
class Shared:
    """What all mailboxes of a process share."""

    options: FileBoxOptions
    hooks: Hooks
    views: Views
    glances: Glances
    clock: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Thread:
    """A whole conversation, newest entry first, and the box of its newest copy in this mailbox."""

    mail: Mail
    box: Box
    entries: list[ThreadEntry]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result for one mail of a batch. ``text``: the text read, or a sentence. ``error``: why it failed."""

    file: str
    text: str = ""
    error: TranscriptError | None = None


class Mailbox:
    """The mailbox of the acting agent. Calls take milliseconds and may come from any thread.

    All methods also raise MailboxUnavailableError and ConfigError, when a folder cannot be used.
    """

    def __init__(self, folder: MailboxFolder, roster: BoxAgents, shared: Shared) -> None:
        self.folder: Final = folder
        self.roster: Final = roster
        self._shared: Final = shared

    @property
    def agent(self) -> str:
        """The acting agent."""
        return self.folder.agent

    # -- sending

    def send(self, receiver_id: str, msg_type: str, title: str, content: str, original_id: str = "") -> Sent:
        """Deliver a new mail, or with ``original_id`` add a reply to a thread (the title is then ignored).

        Raises UnknownAgentError, InvalidMailError; for a reply also MailNotFoundError and MailboxBusyError. Then
        nothing was delivered.
        """
        options = self._shared.options
        draft = checked(Draft(self.agent, receiver_id, msg_type, title, content, original_id), options)
        draft = self._hooked(draft)
        to = MailboxFolder(receiver(self.roster, draft.receiver), forced=self.folder.forced)
        now_ms = int(self._shared.clock() * 1000)
        if draft.original_id:
            sent, title = delivery.reply(draft, self.folder, to, self._shared.views, options, now_ms)
        else:
            sent, title = delivery.send_new(draft, self.folder, to, now_ms), draft.title
        happening: Happening = "replied" if sent.reply else "delivered"
        self._tell(happening, sent.id, draft.type, title, sent.file, to, sent.sender, sent.receiver)
        return sent

    # -- looking

    def names(self, box: str, limit: int | None = None, offset: int = 0) -> list[str]:
        """The file names of a box, newest first; all of them unless there is a limit. Raises InvalidMailError."""
        mails = self._view(box).mails()
        start, end = _slice(limit, offset)
        return [mail.file for mail in mails[start:end]]

    def page(
        self, box: str, limit: int | None = None, offset: int = 0, *, unread: bool = False, since_ms: int = 0
    ) -> Page:
        """The headers of the mails in a box, newest first; at most ``options.page`` unless a limit is given.

        ``unread``: only unread mail. ``since_ms``: only mail after this time. Raises InvalidMailError.
        """
        mails = self._view(box).mails(certain=True)
        if since_ms:
            mails = [mail for mail in mails if mail.time_ms > since_ms]
        if unread:
            if box != "inbox":
                raise InvalidMailError(
                    "Only mail in the inbox can be unread.", hint="Leave out unread for other boxes."
                )
            mails = self._marks.unread(mails)
        start, end = _slice(self._shared.options.page if limit is None else limit, offset)
        shown = mails[start:end]
        fresh = self._marks.unread(shown) if box == "inbox" else []
        return Page(shown, len(mails), offset, frozenset(mail.file for mail in fresh))

    def read(self, box: str, filename: str, offset: int = 0, max_chars: int | None = None) -> Reading:
        """The original text of a mail, at most ``options.max_read`` characters of it; marks it as read.

        Raises InvalidMailError and MailNotFoundError.
        """
        checked_box(box)
        text, mail = self._text(box, checked_file_name(filename))
        if box == "inbox":
            self._mark_read([mail])
        most = self._shared.options.max_read if max_chars is None else min(max_chars, self._shared.options.max_read)
        start = max(0, offset)
        return Reading(filename, text[start : start + max(1, most)], start, len(text))

    def thread(self, message_id: str, *, mark_read: bool = True) -> Thread:
        """A conversation that this agent takes part in. Raises MailNotFoundError, InvalidMailError.

        Without ``mark_read`` it stays unread, as when a person looks at it instead of the agent.
        """
        message_id = checked_id(message_id)
        copies = copies_of(message_id, [self.folder], self._shared.views)
        if not copies:
            raise MailNotFoundError(
                f"Message {message_id} not found in the mailbox of {self.agent}.",
                hint="Use the Message ID from the message's header.",
            )
        newest = copies[0]
        if newest.box == "inbox" and mark_read:
            self._mark_read([newest.mail])
        text = joined(newest.text, [copy.text for copy in copies[1:]]).encode("utf-8", "surrogateescape")
        return Thread(newest.mail, newest.box, entries(text.decode("utf-8", "replace")))

    def search(self, query: MailQuery, limit: int = 20) -> list[FoundMail]:
        """The newest mails that match. Raises InvalidMailError for an unknown box."""
        for box in query.boxes:
            checked_box(box)
        return search.search(query, self.folder, self._shared.views, limit)

    def relevant(self, recent: Iterable[Entry], limit: int = 10) -> "list[Relevant]":
        """Mail in the inbox that is about what a group is discussing, the most relevant first, with reasons."""
        from transcript_mcp.filebox.relevant_mail import relevant  # slow to import

        return relevant(self._view("inbox").mails(certain=True), self.folder, recent, limit)

    def inbox_edition(self) -> object:
        """Changes when a mail in the inbox is added, removed or overwritten."""
        return self._view("inbox").edition()

    def listen(self, told: Callable[[], object], seen: object = None) -> Callable[[], None]:
        """Call ``told`` in another thread whenever the inbox has changed, at first since the edition ``seen``.

        ``seen`` is an ``inbox_edition``; without one, ``told`` is called soon. Returns a function that ends it.
        """
        return self._shared.glances.listen(self.folder.key, self._view("inbox"), told, seen)

    # -- moving

    def resolve(self, filename: str) -> Mail:
        """Move a mail from the inbox to ``done``. Raises MailNotFoundError, InvalidMailError, MailboxBusyError."""
        return self._move("resolve", filename)

    def reject(self, filename: str) -> Mail:
        """Move a mail from the inbox to ``cancel``. Raises MailNotFoundError, InvalidMailError, MailboxBusyError."""
        return self._move("reject", filename)

    def batch(self, action: str, filenames: Sequence[str], box: str = "inbox") -> list[Outcome]:
        """Read, resolve or reject many, with a result for each. Texts share a limit of ``options.max_read``."""
        if action not in ("read", *_MOVES):
            raise InvalidMailError(f"Unknown action {action!r}. Available actions: read, resolve, reject.")
        left = self._shared.options.max_read
        outcomes: list[Outcome] = []
        for name in filenames:
            try:
                outcome = self._one(action, name, box, left)
            except TranscriptError as error:
                outcome = Outcome(name, error=error)
            left -= len(outcome.text) if action == "read" else 0
            outcomes.append(outcome)
        return outcomes

    def _one(self, action: str, name: str, box: str, left: int) -> Outcome:
        if action != "read":
            moved = self._move(action, name)
            return Outcome(name, f"Message {_MOVES[action][1]}" + (f" as {moved.file}" if moved.file != name else ""))
        if left <= 0:
            raise InvalidMailError("There is no room left in this answer.", hint="Read it with another call.")
        reading = self.read(box, name, max_chars=left)
        rest = reading.total - reading.end
        return Outcome(name, reading.text + (f"\n[{rest} more characters]" if rest else ""))

    def _move(self, action: str, filename: str) -> Mail:
        box, happening = _MOVES[action]
        mail = move(self.folder, checked_file_name(filename), box, self._shared.options.lock_wait)
        self._tidy_marks()
        self._tell(happening, mail.id, mail.type, mail.title, mail.file, self.folder, mail.sender, mail.receiver)
        return mail

    # -- the machinery

    @property
    def _marks(self) -> ReadMarks:
        return self._shared.views.marks(self.folder)

    def _view(self, box: str) -> BoxView:
        return self._shared.views.box(self.folder, checked_box(box))

    def _text(self, box: str, name: str) -> tuple[str, Mail]:
        with self.folder.looked_at(box) as folder:
            try:
                taken = read(folder, name) if folder is not None else None
            except OSError as error:
                self._mark_unreadable(folder, box, name)
                self.folder.unreadable(f"{box}/{shown_name(name)}", error)
        if taken is None:
            raise MailNotFoundError(
                f"Message not found: {shown_name(name)} is not in the {box} of {self.agent}.",
                hint="List the box; perhaps it was resolved, rejected or answered meanwhile.",
            )
        text = taken.body.decode("utf-8", "replace")
        return unescaped(text), parsed(shown_name(name), text, taken.stamp)

    def _mark_unreadable(self, folder: int | None, box: str, name: str) -> None:
        """Mark an unreadable mail as read: the error has told the agent about it, and it is not new any more."""
        if box == "inbox" and folder is not None and (mail := look_at(folder, name)) is not None:
            self._mark_read([mail])

    def _mark_read(self, mails: list[Mail]) -> None:
        try:
            self._marks.mark(mails)
        except TranscriptError as error:
            logger.warning("%s The mail stays unread.", error)
        self._tidy_marks()

    def _tidy_marks(self) -> None:
        """Tidy the read marks now and then: an agent that never resolves anything would collect them forever."""
        if not self._marks.crowded:
            return
        try:
            with locked([self.folder], _TIDY_WAIT):
                self._marks.tidy(self._view("inbox").mails())
        except TranscriptError as error:
            logger.warning("%s The marks of read mail will be tidied later.", error)

    def _hooked(self, draft: Draft) -> Draft:
        """The draft as changed by hooks, or the original if they make it invalid."""
        changed = self._shared.hooks.before_send(draft)
        if changed == draft:
            return draft
        try:
            # Hooks must not change sender, receiver or thread.
            allowed = replace(changed, sender=draft.sender, receiver=draft.receiver, original_id=draft.original_id)
            return checked(allowed, self._shared.options)
        except TranscriptError:
            logger.exception("A hook changed a mail into one that cannot be sent; it goes out unchanged")
            return draft

    def _tell(
        self,
        happening: Happening,
        message_id: str,
        msg_type: str,
        title: str,
        file: str,
        where: MailboxFolder,
        sender: str,
        to: str,
    ) -> None:
        self._shared.hooks.tell(
            MailEvent(happening, self.agent, sender, to, message_id, msg_type, title, file, where.key)
        )


def _slice(limit: int | None, offset: int) -> tuple[int, int | None]:
    start = max(0, offset)
    return start, None if limit is None else start + max(0, limit)


_ENCODING: Final = ("utf-8", "surrogateescape")


class _Joined(NamedTuple):
    text: bytes
    changed: bool
    """True when it differs from the copy in the inbox."""


def move(mailbox: MailboxFolder, name: str, to: Box, lock_wait: float) -> Mail:
    """Move one mail out of the inbox. Returns it with its new name.

    An earlier copy of the same thread at the target is merged with it; a different mail with that name keeps the name.
    Raises MailNotFoundError, MailboxBusyError, MailboxUnavailableError and ConfigError.
    """
    with locked([mailbox], lock_wait), mailbox.entered() as opened:
        inbox = opened.folder("inbox")
        mail = look_at(inbox, name)
        if mail is None:
            raise MailNotFoundError(
                f"Message not found: {shown_name(name)} is not in the inbox of {mailbox.agent}.",
                hint="List the inbox; perhaps it was resolved, rejected or answered already.",
            )
        target = opened.folder(to)
        try:
            return msgspec.structs.replace(mail, file=shown_name(_put(mailbox, inbox, target, name, to)))
        except OSError as error:
            mailbox.failed(f"move {shown_name(name)} to {to}", error)


def _put(mailbox: MailboxFolder, inbox: int, target: int, name: str, to: Box) -> str:
    """Move or merge the file. Returns its name at the target."""
    wanted = name
    if exists(target, name):
        both = _joined(inbox, target, name)
        if both is None:
            wanted = next(other for n in range(2, 10_000) if not exists(target, other := numbered(name, n)))
        elif both.changed:
            write(mailbox, to, name, both.text)
            os.unlink(name, dir_fd=inbox)
            return name
    os.rename(name, wanted, src_dir_fd=inbox, dst_dir_fd=target)
    mailbox.force(target)
    mailbox.force(inbox)
    return wanted


def _joined(inbox: int, target: int, name: str) -> _Joined | None:
    """Two copies of one mail merged; None when they are different mails."""
    here, there = read(inbox, name), read(target, name)
    if here is None or there is None:
        return None
    texts = [taken.body.decode(*_ENCODING) for taken in (here, there)]
    mails = [parsed(name, text, taken.stamp) for text, taken in zip(texts, (here, there), strict=True)]
    if not mails[0].id or mails[0].id != mails[1].id:
        return None
    newest, older = texts if mails[0].time_ms >= mails[1].time_ms else reversed(texts)
    text = joined(newest, [older])
    return _Joined(text.encode(*_ENCODING), text != texts[0])
