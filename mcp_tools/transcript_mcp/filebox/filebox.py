"""The front door: who acts, and the mailbox that belongs to it."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from transcript_mcp.filebox.agents import acting
from transcript_mcp.filebox.cache import Views
from transcript_mcp.filebox.config import ConfigSource, Roster
from transcript_mcp.filebox.folders import MailboxFolder
from transcript_mcp.filebox.glances import Glances
from transcript_mcp.filebox.hooks import Hooks, installed_hooks
from transcript_mcp.filebox.mailbox import Mailbox, Shared
from transcript_mcp.filebox.options import FileBoxOptions
from transcript_mcp.filebox.repair import repair

__all__ = ["FileBox"]

_TEND_EVERY: Final = 5.0
_TEND_WAIT: Final = 0.2


class FileBox:
    """All mailboxes of a configuration. One per process; may be used by several threads.

    ``source`` says where the configuration comes from, by default from the working directory. The configuration is
    looked at in every call, so that an agent added to it can be written to at once. ``hooks`` are those of installed
    packages unless given.
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

    def roster(self) -> Roster:
        """Who the agents are, as of now. Raises ConfigError."""
        with self._mutex:
            return self.source.load()

    def mailbox(self, run_as: str = "", *, identity: str = "") -> Mailbox:
        """The mailbox of the agent that acts: ``run_as``, else ``identity``, else the one that lives here.

        ``identity`` is who the caller is known to be from outside: a token's agent, or a setting. Raises
        UnknownAgentError, RunAsRefusedError, NoAgentError and ConfigError.
        """
        roster = self.roster()
        place = acting(roster, self.options, run_as, identity)
        folder = MailboxFolder(place, forced=self.options.fsync == "always")
        self._tend(folder, roster)
        return Mailbox(folder, roster, self._shared)

    def _tend(self, folder: MailboxFolder, roster: Roster) -> None:
        """Now and then finish what a killed process has begun in this mailbox."""
        now = time.monotonic()
        with self._mutex:
            if now - self._tended.get(folder.key, -_TEND_EVERY) < _TEND_EVERY:
                return
            self._tended[folder.key] = now
        repair(folder, roster, self._shared.views, _TEND_WAIT)
