"""The entry point: finds the acting agent and opens its mailbox."""

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from nanobot_transcript.errors import TranscriptError
from transcript_mcp.filebox.agents import acting
from transcript_mcp.filebox.cache import Views
from transcript_mcp.filebox.config import BoxAgents, ConfigSource
from transcript_mcp.filebox.delivery import remove
from transcript_mcp.filebox.delivery_journal import Intent, abandoned
from transcript_mcp.filebox.files import WORKSHOP, names, write
from transcript_mcp.filebox.folders import MailboxFolder
from transcript_mcp.filebox.hooks import Hooks, installed_hooks
from transcript_mcp.filebox.inbox_watch import Glances
from transcript_mcp.filebox.locks import locked
from transcript_mcp.filebox.mail_copies import Copy, copies_of
from transcript_mcp.filebox.mailbox import Mailbox, Shared
from transcript_mcp.filebox.options import FileBoxOptions
from transcript_mcp.filebox.thread import joined

__all__ = ["FileBox", "repair"]

logger = logging.getLogger(__name__)

_TEND_EVERY: Final = 5.0
_TEND_WAIT: Final = 0.2


class FileBox:
    """All mailboxes of a configuration. One per process; thread-safe.

    ``source``: where the configuration comes from, by default the working directory. It is checked in every call, so
    that mail can be sent to a newly added agent at once. ``hooks``: by default those of installed packages.
    """

    def __init__(
        self,
        source: ConfigSource | None = None,
        options: FileBoxOptions | None = None,
        *,
        hooks: Hooks | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.source: Final = source or ConfigSource(cwd=Path.cwd())
        self.options: Final = options or FileBoxOptions()
        self._shared: Final = Shared(self.options, hooks or installed_hooks(), Views(), Glances(), clock)
        self._tended: dict[str, float] = {}
        self._mutex: Final = threading.Lock()

    def roster(self) -> BoxAgents:
        """The agents in the current configuration. Raises ConfigError."""
        with self._mutex:
            return self.source.load()

    def mailbox(self, run_as: str = "", *, identity: str = "") -> Mailbox:
        """The mailbox of the acting agent: ``run_as``, else ``identity``, else the agent of the working directory.

        ``identity``: the agent that the caller is known to be, by a token or a setting. Raises UnknownAgentError,
        RunAsRefusedError, NoAgentError and ConfigError.
        """
        roster = self.roster()
        place = acting(roster, self.options, run_as, identity)
        folder = MailboxFolder(place, forced=self.options.fsync == "always")
        self._tend(folder, roster)
        return Mailbox(folder, roster, self._shared)

    def _tend(self, folder: MailboxFolder, roster: BoxAgents) -> None:
        """Now and then finish deliveries that a killed process left unfinished in this mailbox."""
        now = time.monotonic()
        with self._mutex:
            if now - self._tended.get(folder.key, -_TEND_EVERY) < _TEND_EVERY:
                return
            self._tended[folder.key] = now
        repair(folder, roster, self._shared.views, _TEND_WAIT)


_STALE: Final = 3600.0


def repair(sender: MailboxFolder, roster: BoxAgents, views: Views, lock_wait: float) -> None:
    """Finish abandoned deliveries of a mailbox and remove temporary files of killed writers. Raises nothing."""
    try:
        for note in abandoned(sender):
            receiver = roster.agents.get(note.intent.receiver)
            if receiver is None or receiver.problem:
                note.keep = True
                continue
            note.keep = True  # so that it is tried again if this attempt fails
            mailbox = MailboxFolder(receiver, forced=sender.forced)
            with locked([sender, mailbox], lock_wait):
                _settle(note.intent, sender, mailbox, views)
            note.keep = False
        _sweep(sender)
    except (TranscriptError, OSError) as error:
        logger.warning("The mailbox of %s cannot be repaired now: %s", sender.agent, error)


def _settle(intent: Intent, sender: MailboxFolder, receiver: MailboxFolder, views: Views) -> None:
    copies = copies_of(intent.id, [receiver, sender], views)
    arrived = next((copy for copy in copies if _is_arrival(copy, intent, receiver)), None)
    if arrived is None:
        return  # it was not delivered, and the sender was never told so
    if not any(_is_sent_copy(copy, intent, sender, receiver) for copy in copies):
        replaced = [copy for copy in copies if _lies_at(copy, sender, "outbox", arrived.name)]
        text = joined(arrived.text, [copy.text for copy in replaced])
        write(sender, "outbox", arrived.name, text.encode("utf-8", "surrogateescape"))
        copies = [copy for copy in copies if copy not in replaced]
        logger.info("Restored the missing copy of %s in the outbox of %s", arrived.name, sender.agent)
    if sender.key != receiver.key:
        remove(_covered(intent, arrived, copies))


def _is_arrival(copy: Copy, intent: Intent, receiver: MailboxFolder) -> bool:
    own = copy.mailbox.key == receiver.key and copy.box != "outbox"
    return own and copy.mail.time_ms == intent.time_ms


def _is_sent_copy(copy: Copy, intent: Intent, sender: MailboxFolder, receiver: MailboxFolder) -> bool:
    own = copy.mailbox.key == sender.key and copy.mail.time_ms >= intent.time_ms
    return own and (sender.key != receiver.key or copy.box == "outbox")


def _lies_at(copy: Copy, mailbox: MailboxFolder, box: str, name: str) -> bool:
    return (copy.mailbox.key, copy.box, copy.name) == (mailbox.key, box, name)


def _covered(intent: Intent, arrived: Copy, copies: Sequence[Copy]) -> list[Copy]:
    """Older copies without any entry that the newer one lacks."""
    older = [copy for copy in copies if copy.mail.time_ms < intent.time_ms]
    return [copy for copy in older if joined(arrived.text, [copy.text]) == arrived.text]


def _sweep(mailbox: MailboxFolder) -> None:
    """Remove old temporary files of killed writers."""
    with mailbox.looked_at(*WORKSHOP) as folder:
        for name in names(folder):
            assert folder is not None
            with suppress(FileNotFoundError):
                if os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime < time.time() - _STALE:
                    os.unlink(name, dir_fd=folder)
