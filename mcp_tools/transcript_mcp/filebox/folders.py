"""Opens the folders of a mailbox, one level at a time from the agent's folder, so that no symbolic link is followed.

::

    docs/mailbox[/agent]/inbox  outbox  done  cancel     mails and nothing else
    docs/mailbox[/agent]/.state                          lock, unread marks, index, what is being written
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, NoReturn

from nanobot_transcript.errors import ConfigError, MailboxUnavailableError
from nanobot_transcript.files.descriptors import enter, root_folder, to_create
from nanobot_transcript.files.os_errors import FULL, LINK
from transcript_mcp.filebox.agent_folders import BELOW, AgentFolder

__all__ = ["STATE", "MailboxFolder", "OpenMailbox"]

STATE: Final = ".state"
_DENIED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_IGNORE_ALL: Final = b"*\n"
_TOO_LARGE: Final = "Mail cannot be that large. Resolve or reject it, or remove the file from the mailbox."


class MailboxFolder:
    """The mailbox of one agent on the disk; holds no open files.

    ``forced``: writes are synced to the disk (fsync) before a call ends.
    """

    __slots__ = ("forced", "key", "place")

    def __init__(self, place: AgentFolder, *, forced: bool = False) -> None:
        self.place: Final = place
        self.forced: Final = forced
        self.key: Final = os.path.join(place.root, *place.below)  # noqa: PTH118 - pathlib takes ten times as long
        """Identifies the mailbox, under whatever name the agent is configured."""

    @property
    def agent(self) -> str:
        """The agent's name."""
        return self.place.agent

    @contextmanager
    def opened(self, *below: str) -> Iterator[int]:
        """A descriptor of a folder in the mailbox, created if missing (private to this user).

        Raises MailboxUnavailableError; ConfigError when the agent's own folder is the problem.
        """
        with self.entered() as mailbox:
            yield mailbox.folder(*below)

    @contextmanager
    def entered(self) -> Iterator["OpenMailbox"]:
        """The mailbox opened once for several of its folders, created if missing. Raises as ``opened`` does."""
        descriptor = self._descend((), create=True)
        assert descriptor is not None
        mailbox = OpenMailbox(self, descriptor)
        try:
            yield mailbox
        finally:
            mailbox.close()

    @contextmanager
    def looked_at(self, *below: str) -> Iterator[int | None]:
        """The same for reading: creates nothing; None when the folder is missing."""
        descriptor = self._descend(below, create=False)
        try:
            yield descriptor
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def failed(self, doing: str, error: OSError) -> NoReturn:
        """Raise our error for an error of the operating system about a folder."""
        reason = error.strerror or str(error)
        if error.errno in _DENIED:
            raise ConfigError(
                f"{self.place.key}: cannot {doing}: {reason}.", hint="Give this user access, or correct the path."
            ) from error
        hint = "Check what is in the agent's folder docs/mailbox."
        if error.errno in FULL:
            hint = "Free some space or raise the quota, then try again."
        raise MailboxUnavailableError(f"Mailbox of {self.agent}: cannot {doing}: {reason}.", hint=hint) from error

    def unreadable(self, file: str, error: OSError) -> NoReturn:
        """Raise our error for an error of the operating system about one mail."""
        raise MailboxUnavailableError(
            f"Mailbox of {self.agent}: {file} cannot be read: {error.strerror}.",
            hint=_TOO_LARGE if error.errno == errno.EFBIG else "Check the permissions of the file.",
        ) from error

    def _descend(self, below: tuple[str, ...], *, create: bool) -> int | None:
        here = self._open_root()
        names = (*self.place.below, *below)
        try:
            for depth, name in enumerate(names):
                found = self.step(here, name, create=create, private=depth >= len(BELOW) - 1)
                os.close(here)
                here = found
        except OSError as error:
            os.close(here)
            if isinstance(error, FileNotFoundError) and not create:
                return None
            self.refused(names, error)
        return here

    def step(self, parent: int, name: str, *, create: bool, private: bool = True) -> int:
        """A descriptor of a subfolder. Raises OSError."""
        try:
            return enter(parent, name)
        except FileNotFoundError:
            if not create:
                raise
        with suppress(FileExistsError):
            os.mkdir(name, 0o700 if private else 0o777, dir_fd=parent)
            self.force(parent)
        found = enter(parent, name)
        if name == STATE:
            _hide_from_git(found)
        return found

    def _open_root(self) -> int:
        try:
            return root_folder(self.place.root)
        except OSError as error:
            raise ConfigError(
                f"{self.place.key} is not a folder that can be opened: {self.place.root}: {error.strerror}.",
                hint="Create the folder, give this user access, or correct the path.",
            ) from error

    def force(self, descriptor: int) -> None:
        """Sync a file or a folder to the disk, if ``forced``. Raises OSError."""
        if self.forced:
            os.fsync(descriptor)

    def refused(self, names: tuple[str, ...], error: OSError) -> NoReturn:
        """Raise our error for a folder that cannot be opened."""
        folder = "/".join(names)
        if error.errno in LINK:
            raise MailboxUnavailableError(
                f"Mailbox of {self.agent}: {folder} is a link or a file, not a folder.",
                hint="Put a real folder there; mailboxes never follow links.",
            ) from error
        self.failed(f"open {folder}", error)


class OpenMailbox:
    """An open mailbox, with descriptors of the folders that were used."""

    __slots__ = ("_folders", "mailbox")

    def __init__(self, mailbox: MailboxFolder, descriptor: int) -> None:
        self.mailbox: Final = mailbox
        self._folders: Final[dict[tuple[str, ...], int]] = {(): descriptor}

    def folder(self, *below: str) -> int:
        """A descriptor of a folder in it, created if missing. Raises MailboxUnavailableError and ConfigError."""
        if below not in self._folders:
            parent = self.folder(*below[:-1])
            try:
                self._folders[below] = self.mailbox.step(parent, below[-1], create=True)
            except OSError as error:
                self.mailbox.refused((*self.mailbox.place.below, *below), error)
        return self._folders[below]

    def close(self) -> None:
        """Close all descriptors."""
        for descriptor in self._folders.values():
            os.close(descriptor)


def _hide_from_git(state: int) -> None:
    """Add a .gitignore: the mailbox may be in a repository, and this state is private to the machine."""
    with suppress(FileExistsError):
        file = to_create(".gitignore", state)
        try:
            os.write(file, _IGNORE_ALL)
        finally:
            os.close(file)
